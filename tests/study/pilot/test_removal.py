"""Taking a task out: only what the evidence shows is a reason, and how well an agent did is none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.study.pilot.journal import Screen, add_removal, journal_log, read_journal
from proctor.study.pilot.plan import Plan, freeze
from proctor.study.pilot.protocol import design_of
from proctor.study.pilot.randomise import randomise, to_csv
from proctor.study.pilot.records import Standing, standing
from proctor.study.pilot.removal import AGENT, NEEDS, NOTHING, REASONS, SOLUTION, Exhibit, Request, remove
from tests.study.pilot.running import arms

NONE = Fraction(0)


def exhibit(actor: str, status: str, *outcomes: str, run: str = "r1", patch: str = "p", **fields: Any) -> Exhibit:
    """A run with one check, whose attempts came to ``outcomes``."""
    attempts = [{"tree": "patched", "outcome": outcome} for outcome in outcomes]
    checks = [{"id": "tests", "outcome": outcomes[-1] if outcomes else "undecided", "attempts": attempts}]
    report = {"status": status, "attribution": "agent", "checks": checks, "patch": {"sha256": patch}, "problems": []}
    return Exhibit(run, "sha256:seal", actor, {**report, **fields})


HARNESS: dict[str, Any] = {"attribution": "harness", "problems": ["no disk"]}
SHOWN: dict[str, tuple[str, list[Exhibit]]] = {
    "a no-op that is a success": ("broken-oracle", [exhibit(NOTHING, "success", "pass")]),
    "a solution that fails": ("broken-oracle", [exhibit(SOLUTION, "failure", "fail")]),
    "a solution that ends in an error": ("broken-oracle", [exhibit(SOLUTION, "acceptance-error", "error")]),
    "a check that cannot start": (
        "broken-oracle",
        [exhibit(AGENT, "acceptance-error", "error", attribution="harness")],
    ),
    "attempts that differ": ("flaky", [exhibit(AGENT, "failure", "pass", "fail")]),
    "one patch judged differently": (
        "flaky",
        [exhibit(AGENT, "success", "pass"), exhibit(AGENT, "failure", "fail", run="r2")],
    ),
    "a no-op without a verdict": ("broken-environment", [exhibit(NOTHING, "invalid", **HARNESS)]),
    "a solution without a verdict": ("broken-environment", [exhibit(SOLUTION, "invalid", **HARNESS)]),
}
NOT_SHOWN: dict[str, list[Exhibit]] = {
    "no run": [],
    "a no-op that fails": [exhibit(NOTHING, "failure", "fail")],
    "a solution that passes": [exhibit(SOLUTION, "success", "pass")],
    "an agent that fails": [exhibit(AGENT, "failure", "fail")],
    "an agent that succeeds": [exhibit(AGENT, "success", "pass")],
    "an agent that was ended for safety": [exhibit(AGENT, "invalid")],
    "an agent that broke the checks": [exhibit(AGENT, "acceptance-error", "error")],
    "an agent whose machine failed": [exhibit(AGENT, "invalid", **HARNESS)],
    "two patches judged differently": [
        exhibit(AGENT, "success", "pass"),
        exhibit(AGENT, "failure", "fail", run="r2", patch="q"),
    ],
    "an end without a verdict beside one with": [
        exhibit(AGENT, "success", "pass"),
        exhibit(AGENT, "invalid", run="r2"),
    ],
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_reason_is_shown_by(case: str) -> None:
    reason, exhibits = SHOWN[case]
    assert "r1" in REASONS[reason](exhibits, None, NONE)
    for other in set(REASONS) - {reason}:
        assert REASONS[other](exhibits, None, NONE) == "", f"and shows no {other}"


@pytest.mark.parametrize("case", NOT_SHOWN)
@pytest.mark.parametrize("reason", REASONS)
def test_no_reason_is_shown_by(case: str, reason: str) -> None:
    assert REASONS[reason](NOT_SHOWN[case], None, NONE) == ""


def test_a_screen_shows_flakes_beyond_the_tolerance_only() -> None:
    screen = Screen("a", "sha256:a", 100, 2, 100, "tests", "journal.jsonl#0")
    assert "2 of 100" in REASONS["flaky"]([], screen, Fraction("0.01"))
    assert REASONS["flaky"]([], screen, Fraction("0.02")) == ""


def test_every_reason_says_what_it_needs() -> None:
    assert set(NEEDS) == set(REASONS)


@pytest.fixture
def here(tmp_path: Path) -> Standing:
    wanted = arms()
    power = canonical({"supported": True, "why": "enough"})
    order = to_csv(randomise(design_of(wanted)))
    plan = freeze(tmp_path / "plan", wanted, lambda: {"randomisation.csv": order, "power.json": power})
    return stands(plan, tmp_path)


def stands(plan: Plan, place: Path) -> Standing:
    from proctor.execute.home import Home

    return standing(plan, Home(place / "home"))


def removal(task: str) -> dict[str, Any]:
    words = {"reason": "flaky", "found": "x", "why": "because", "by": "somebody", "at": "then"}
    return {"task": task, "contract": f"sha256:{task}", "evidence": [], "after_runs": 3, **words}


def test_a_removed_task_has_no_places_and_less_power_and_is_told(here: Standing, tmp_path: Path) -> None:
    add_removal(here.plan, removal("a"))
    after = stands(here.plan, tmp_path)
    assert after.journal.removed == {"a"}
    assert {slot.task for slot in after.ledger.wanted()} == {"b", "d", "e"}
    assert after.power["value"].startswith("without the removed tasks")
    assert "a was removed after 3 runs and not replaced (flaky): x. because" in after.journal.removals[0].words


@pytest.mark.parametrize(
    ("task", "why", "words"),
    [("z", "because", "the pilot has no task 'z'"), ("a", " ", "between 1 and"), ("a", "so", "does not show")],
)
def test_a_removal_is_refused_with_a_message(here: Standing, task: str, why: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        remove(here, Request(task, "flaky", why, "somebody", "then", ()))
    assert read_journal(here.plan).removals == ()


def test_no_task_is_removed_twice_and_the_last_one_stays(here: Standing, tmp_path: Path) -> None:
    for task in "abd":
        add_removal(here.plan, removal(task))
    after = stands(here.plan, tmp_path)
    with pytest.raises(UsageFault, match="removed already"):
        remove(after, Request("a", "flaky", "so", "somebody", "then", ()))
    with pytest.raises(UsageFault, match="the last task"):
        remove(after, Request("e", "flaky", "so", "somebody", "then", ()))


@pytest.mark.parametrize("record", [{"kind": "other"}, {"kind": "proctor.pilot-removal"}, {}])
def test_a_record_of_another_kind_breaks_the_journal(here: Standing, record: dict[str, Any]) -> None:
    journal_log(here.plan).append(record)
    with pytest.raises(BrokenSeal):
        read_journal(here.plan)


def test_a_journal_belongs_to_its_pilot(here: Standing, tmp_path: Path) -> None:
    add_removal(here.plan, removal("a"))
    other = Plan(here.plan.folder, here.plan.current, "sha256:" + "1" * 64, here.plan.protocol, here.plan.slots)
    with pytest.raises(BrokenSeal):
        read_journal(other)
