"""Taking a task out: only what the evidence shows is a reason, and how well an agent did is none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.study.pilot.ledger.journal import Screen, add_removal, read_journal
from proctor.study.pilot.plan.frozen_plan import Plan, freeze, journal_log
from proctor.study.pilot.plan.power_analysis import analyse, question_of, record
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import randomise, to_csv
from proctor.study.pilot.running.pilot_state import PilotState, read_pilot_state
from proctor.study.pilot.running.task_removal import (
    AGENT,
    NEEDS,
    NOTHING,
    REASONS,
    SOLUTION,
    Case,
    Exhibit,
    Request,
    actor,
    remove,
)
from tests.english import english
from tests.sample_reports import SAMPLE, sample_attempt, sample_check, sample_report
from tests.study.pilot.pilot_cases import SPOILT, arms, checked

ALL_SPOILT = tuple(checked(arms(), noop=SPOILT, reference=SPOILT))[:2]


def exhibit(actor: str, status: str, *outcomes: str, run: str = "r1", patch: str = "p", **fields: Any) -> Exhibit:
    """A run with one check, whose attempts came to ``outcomes``."""
    attempts = tuple(map(sample_attempt, outcomes))
    check = sample_check(outcome=outcomes[-1] if outcomes else "undecided", attempts=attempts)
    size = replace(SAMPLE.patch, sha256=patch)
    asked = {"status": status, "attribution": "agent", "checks": (check,), "patch": size, **fields}
    return Exhibit(run, "sha256:seal", actor, sample_report(**asked))


HARNESS: dict[str, Any] = {"attribution": "harness", "problems": ("no disk",)}
SHOWN: dict[str, tuple[str, list[Exhibit]]] = {
    "a no-op that is a success": ("broken-oracle", [exhibit(NOTHING, "success", "pass")]),
    "a solution that fails": ("broken-oracle", [exhibit(SOLUTION, "failure", "fail")]),
    "a solution that ends in an error": ("broken-oracle", [exhibit(SOLUTION, "acceptance-error", "error")]),
    "a check that cannot start": (
        "broken-oracle",
        [exhibit(AGENT, "acceptance-error", "error", attribution="harness")],
    ),
    "attempts of a no-op that differ": ("flaky", [exhibit(NOTHING, "failure", "pass", "fail")]),
    "attempts of a solution that differ": ("flaky", [exhibit(SOLUTION, "success", "fail", "pass")]),
    "no change judged differently": (
        "flaky",
        [exhibit(NOTHING, "failure", "pass"), exhibit(NOTHING, "failure", "fail", run="r2")],
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
    "attempts at an agent's patch that differ": [exhibit(AGENT, "failure", "pass", "fail")],
    "an agent's patch judged differently": [
        exhibit(AGENT, "success", "pass"),
        exhibit(AGENT, "failure", "fail", run="r2"),
    ],
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
    assert "r1" in str(REASONS[reason](Case(tuple(exhibits), checks=ALL_SPOILT)))
    for other in set(REASONS) - {reason}:
        assert REASONS[other](Case(tuple(exhibits), checks=ALL_SPOILT)) is None, f"and shows no {other}"


@pytest.mark.parametrize("case", NOT_SHOWN)
@pytest.mark.parametrize("reason", REASONS)
def test_no_reason_is_shown_by(case: str, reason: str) -> None:
    assert REASONS[reason](Case(tuple(NOT_SHOWN[case]), checks=ALL_SPOILT)) is None


def test_one_check_with_a_verdict_shows_that_the_environment_works() -> None:
    exhibits = (exhibit(NOTHING, "invalid", **HARNESS),)
    good = tuple(checked(arms(), noop=SPOILT))[:2]
    assert [run.spoilt for run in good] == [True, False]
    assert "r1" in str(REASONS["broken-environment"](Case(exhibits, checks=good[:1])))
    assert REASONS["broken-environment"](Case(exhibits, checks=good)) is None
    assert REASONS["broken-environment"](Case(exhibits)) is None, "and a task that was never checked shows nothing"


@pytest.mark.parametrize(
    ("agent", "who"),
    [
        ({"kind": "noop", "name": "noop", "digest": "n"}, NOTHING),
        ({"kind": "patch", "name": "reference", "digest": "r"}, SOLUTION),
        ({"kind": "patch", "name": "patch:fix", "digest": "frozen"}, SOLUTION),
        ({"kind": "patch", "name": "patch:fix", "digest": "wrong"}, AGENT),
        ({"kind": "command", "name": "reference", "digest": "frozen"}, AGENT),
    ],
)
def test_a_known_solution_is_what_was_frozen_and_not_what_is_called_so(agent: dict[str, Any], who: str) -> None:
    assert actor(agent, "frozen") == who


def test_where_no_patch_of_a_person_was_frozen_none_is_a_solution() -> None:
    assert actor({"kind": "patch", "name": "patch:fix", "digest": ""}, "") == AGENT


def test_a_screen_shows_flakes_beyond_the_tolerance_only() -> None:
    screen = Screen("a", "sha256:a", 100, 2, 100, "tests", "journal.jsonl#0")
    assert "2 of 100" in english(REASONS["flaky"](Case((), screen, Fraction("0.01"))))
    assert REASONS["flaky"](Case((), screen, Fraction("0.02"))) is None


def test_every_reason_says_what_it_needs() -> None:
    assert set(NEEDS) == set(REASONS)


@pytest.fixture
def here(tmp_path: Path) -> PilotState:
    wanted = arms()
    power = canonical(record(analyse(question_of(wanted), 50)))
    order = to_csv(randomise(design_of(wanted)))
    plan = freeze(tmp_path / "plan", wanted, lambda: {"randomisation.csv": order, "power.json": power})
    return stands(plan, tmp_path)


def stands(plan: Plan, place: Path) -> PilotState:
    from proctor.execute.proctor_home import Home

    return read_pilot_state(plan, Home(place / "home"))


def removal(task: str) -> dict[str, Any]:
    words = {"reason": "flaky", "found": "x", "why": "because", "by": "somebody", "at": "then"}
    return {"task": task, "contract": f"sha256:{task}", "evidence": [], "after_runs": 3, **words}


def test_a_removed_task_has_no_places_and_less_power_and_is_told(here: PilotState, tmp_path: Path) -> None:
    add_removal(here.plan, removal("a"))
    after = stands(here.plan, tmp_path)
    assert after.journal.removed == {"a"}
    assert {slot.task for slot in after.ledger.wanted()} == {"b", "d", "e"}
    assert after.power["answer"].values["removed"] is True
    assert "a was removed after 3 runs and not replaced (flaky): x. because" in english(
        after.journal.removals[0].deviation
    )


@pytest.mark.parametrize(
    ("task", "why", "words"),
    [("z", "because", "the pilot has no task 'z'"), ("a", " ", "between 1 and"), ("a", "so", "does not show")],
)
def test_a_removal_is_refused_with_a_message(here: PilotState, task: str, why: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        remove(here, Request(task, "flaky", why, "somebody", "then", ()))
    assert read_journal(here.plan).removals == ()


def test_no_task_is_removed_twice_and_the_last_one_stays(here: PilotState, tmp_path: Path) -> None:
    for task in "abd":
        add_removal(here.plan, removal(task))
    after = stands(here.plan, tmp_path)
    with pytest.raises(UsageFault, match="removed already"):
        remove(after, Request("a", "flaky", "so", "somebody", "then", ()))
    with pytest.raises(UsageFault, match="the last task"):
        remove(after, Request("e", "flaky", "so", "somebody", "then", ()))


@pytest.mark.parametrize("record", [{"kind": "other"}, {"kind": "proctor.pilot-removal"}, {}])
def test_a_record_of_another_kind_breaks_the_journal(here: PilotState, record: dict[str, Any]) -> None:
    journal_log(here.plan).append(record)
    with pytest.raises(BrokenSeal):
        read_journal(here.plan)


def test_a_journal_belongs_to_its_pilot(here: PilotState, tmp_path: Path) -> None:
    add_removal(here.plan, removal("a"))
    other = Plan(here.plan.folder, here.plan.current, "sha256:" + "1" * 64, here.plan.protocol, here.plan.slots)
    with pytest.raises(BrokenSeal):
        read_journal(other)
