"""A journal whose end was cut, or that was put back from an old copy, is told by what the home notes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proctor.base.canonical import parse_canonical
from proctor.base.errors import BrokenSeal
from proctor.execute.proctor_home import Home
from proctor.record import chained_log
from proctor.record.chained_log import ChainedLog
from proctor.study.pilot.ledger.journal import HEADS_NAME, add_runs, note_head, require_head
from proctor.study.pilot.ledger.run_consistency import note
from proctor.study.pilot.plan.frozen_plan import JOURNAL, Plan
from proctor.study.pilot.running.pilot_runner import alone
from tests.study.pilot.ledger.test_departures import FIRST, PLAN
from tests.study.pilot.pilot_cases import run_of


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.create()
    return found


@pytest.fixture
def plan(tmp_path: Path, home: Home) -> Plan:
    """A plan whose journal has three records, all of them noted."""
    return noted(tmp_path / "plan", home, "0", 3)


def noted(folder: Path, home: Home, digit: str, count: int) -> Plan:
    folder.mkdir()
    plan = replace(PLAN, folder=folder, digest="sha256:" + digit * 64)
    for number in range(count):
        add_runs(plan, {f"run-{number}": f"sha256:{number}"})
        note_head(plan, home)
    return plan


def lines(plan: Plan) -> list[bytes]:
    return (plan.folder / JOURNAL).read_bytes().splitlines(keepends=True)


def test_no_run_has_the_journal_checked_anew(plan: Plan, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []

    def counted(line: bytes) -> object:
        checked.append(len(line))
        return parse_canonical(line)

    monkeypatch.setattr(chained_log, "parse_canonical", counted)
    sums = []
    for number in range(3, 43):
        checked.clear()
        sealed = replace(run_of(FIRST), run=f"run-{number:03}", seal="sha256:0")
        note(plan, [sealed])
        note_head(plan, home)
        sums.append(sum(checked))
    longest = max(len(line) for line in lines(plan))
    assert len(lines(plan)) == 43
    assert max(sums) < 4 * longest, "the last record of both logs, however many there are"
    assert sums[-1] < sums[0] + longest


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_journal_that_was_cut_is_refused(left: int, plan: Plan, home: Home) -> None:
    require_head(plan, home)
    (plan.folder / JOURNAL).write_bytes(b"".join(lines(plan)[:left]))
    with pytest.raises(BrokenSeal, match=f"it had 3 records and has {left}") as raised:
        require_head(plan, home)
    assert raised.value.exit_code == 4 and JOURNAL in str(raised.value)
    with pytest.raises(BrokenSeal), alone(home, plan):
        pytest.fail("nobody may go on")


def test_a_journal_that_is_gone_is_refused(plan: Plan, home: Home) -> None:
    (plan.folder / JOURNAL).unlink()
    with pytest.raises(BrokenSeal, match="it had 3 records and has 0"):
        require_head(plan, home)


def test_a_journal_that_was_cut_and_written_on_is_refused(plan: Plan, home: Home) -> None:
    (plan.folder / JOURNAL).write_bytes(b"".join(lines(plan)[:2]))
    add_runs(plan, {"other": "sha256:x"})
    add_runs(plan, {"another": "sha256:y"})
    with pytest.raises(BrokenSeal, match="record 2 of the journal is not the one"):
        require_head(plan, home)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_note_of_another_journal_hides_no_cut(more: int, plan: Plan, home: Home) -> None:
    (plan.folder / JOURNAL).write_bytes(b"".join(lines(plan)[:2]))
    for number in range(more):
        add_runs(plan, {f"other-{number}": "sha256:x"})
    note_head(plan, home)
    with pytest.raises(BrokenSeal, match="it had 3 records and has 2" if not more else "record 2 of the journal"):
        require_head(plan, home)


def test_notes_may_come_in_another_order(plan: Plan, home: Home) -> None:
    path, late = plan.folder / JOURNAL, lines(plan)
    add_runs(plan, {"later": "sha256:z"})
    note_head(plan, home)
    whole = path.read_bytes()
    path.write_bytes(b"".join(late))
    ChainedLog(home.path / HEADS_NAME).append(heads(home)[2])
    with pytest.raises(BrokenSeal, match="it had 4 records and has 3"):
        require_head(plan, home)
    path.write_bytes(whole)
    require_head(plan, home)


@pytest.mark.parametrize("count", ["1", 0, None, True])
def test_a_note_without_a_number_is_told(count: object, plan: Plan, home: Home) -> None:
    ChainedLog(home.path / HEADS_NAME).append({**heads(home)[0], "count": count})
    with pytest.raises(BrokenSeal, match="no count or no hash"):
        require_head(plan, home)


def heads(home: Home) -> list[dict[str, object]]:
    return [dict(entry.record) for entry in ChainedLog(home.path / HEADS_NAME).read()]


def test_what_a_crash_leaves_is_longer_and_is_noted_by_the_next_command(plan: Plan, home: Home) -> None:
    add_runs(plan, {"late": "sha256:z"})
    require_head(plan, home)
    with alone(home, plan):
        pass
    (plan.folder / JOURNAL).write_bytes(b"".join(lines(plan)[:3]))
    with pytest.raises(BrokenSeal, match="it had 4 records and has 3"):
        require_head(plan, home)


def test_pilots_of_one_home_are_told_apart_and_noted_once(plan: Plan, home: Home, tmp_path: Path) -> None:
    other = noted(tmp_path / "other", home, "1", 1)
    before = (home.path / HEADS_NAME).read_bytes()
    for one in (plan, other):
        require_head(one, home)
        note_head(one, home)
    assert (home.path / HEADS_NAME).read_bytes() == before


def test_a_home_that_knows_nothing_of_the_pilot_refuses_nothing(plan: Plan, tmp_path: Path) -> None:
    require_head(plan, Home(tmp_path / "elsewhere"))


def test_a_line_of_the_homes_log_that_was_changed_is_told(plan: Plan, home: Home) -> None:
    path = home.path / HEADS_NAME
    path.write_bytes(path.read_bytes().replace(b'"count":1', b'"count":0'))
    with pytest.raises(BrokenSeal, match="not valid") as raised:
        require_head(plan, home)
    assert str(path) in raised.value.where and "from a copy" in raised.value.hint
