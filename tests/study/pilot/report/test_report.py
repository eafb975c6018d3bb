"""When a pilot may be decided: with its plan complete or ended by a rule, and not on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.present.sentences.pilot_progress import progress
from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.report.pilot_findings import caveats_of, compared_in, progress_of, tally, unfinished
from proctor.study.pilot.running.pilot_state import stages_of
from proctor.study.statements import statement
from tests.study.pilot.pilot_cases import SHOWN, TOO_FEW, arms
from tests.study.pilot.report.test_status import stands


@pytest.mark.parametrize("filled", [8, 9, 20, 40, 47])
def test_a_pilot_that_is_not_complete_decides_nothing(filled: int) -> None:
    here = stands(filled)
    whole = filled - filled % 4
    assert unfinished(here) == statement("pilot-incomplete", counted=whole, planned=48)


def test_a_complete_pilot_is_decided() -> None:
    assert unfinished(stands(None)) is None


@pytest.mark.parametrize(
    ("filled", "parts"),
    [
        (8, {"budgets": {"pilot_usd": "23.99", "task_usd": None, "run_usd": None}}),
        (40, {"budgets": {"pilot_usd": "30.00", "task_usd": None, "run_usd": None}}),
    ],
)
def test_a_pilot_that_a_rule_ended_is_decided(filled: int, parts: dict[str, Any]) -> None:
    assert unfinished(stands(filled, **parts)) is None


@pytest.mark.parametrize(
    ("against", "names"), [("y", ["x", "y"]), ("noop", ["x", "y", "noop"]), ("reference", ["x", "y", "reference"])]
)
def test_a_baseline_is_compared_where_the_question_names_it(against: str, names: list[str]) -> None:
    assert compared_in(arms(comparison={"candidate": "x", "against": against})) == names
    assert compared_in(arms(comparison=None)) == ["x", "y"]


def test_progress_counts_the_runs_and_names_the_stage_that_holds_the_pilot_up() -> None:
    now = progress_of(stands(9))
    assert (now["planned"], now["counted"], now["complete"], now["removed"]) == (48, 8, False, [])
    assert progress(now) == "8 of 48 planned runs count. Stage two is not over."
    whole = progress_of(stands(None))
    assert (whole["counted"], whole["complete"], progress(whole)) == (48, True, "48 of 48 planned runs count.")


def test_progress_says_which_rule_stopped_a_stage() -> None:
    now = progress_of(stands(8, budgets={"pilot_usd": "23.99", "task_usd": None, "run_usd": None}))
    assert now["complete"] is False
    assert "was stopped by the rule for budget: " in progress(now)


def test_progress_says_what_refused_a_stage() -> None:
    here = stands(32)
    weak = replace(here, power=TOO_FEW)
    last = list(stages_of(weak))[-1]
    assert last.verdict == "refused"
    held = progress_of(weak)["held_up"]
    assert (held["code"], held["stage"]) == ("stage-refused", last.name)
    assert [one["code"] for one in held["unmet"]] == [one.id for one in last.unmet] == ["power"]


def test_progress_names_the_tasks_that_were_removed() -> None:
    here = stands(None)
    task = here.plan.slots[0].task
    gone = Removal(task, "", "flaky", (), SHOWN, "", "", "", 0, "")
    now = progress_of(replace(here, journal=Journal(here.journal.screens, (gone,))))
    assert now["removed"] == [task]
    assert (now["counted"], now["planned"]) == (36, 36)
    assert progress(now) == f"36 of 36 planned runs count (12 more were planned for {task}, removed since)."


def test_places_of_a_removed_task_are_no_runs_that_are_still_to_come() -> None:
    here = stands(20)
    gone = Removal("a", "", "flaky", (), SHOWN, "", "", "", 0, "")
    after = replace(here, journal=Journal(here.journal.screens, (gone,)))
    counted = sum(slot.task != "a" for slot in here.plan.slots[:20])
    assert unfinished(after) == statement("pilot-incomplete", counted=counted, planned=36)
    assert tally(after) == (counted, 36, 12)
    assert tally(here) == (20, 48, 0)


def test_a_plan_without_the_power_that_was_wanted_says_so_before_every_other_caveat() -> None:
    stages = {"one": {"tasks": 2, "runs": 1}, "two": {"tasks": 4, "runs": 2}, "three": {"tasks": 4, "runs": 2}}
    parts: dict[str, Any] = {"stages": stages, "runs_per_task": 2}
    here = replace(stands(None, lambda slot: {"changed": False}, **parts), power=TOO_FEW)
    assert unfinished(here) is None, "no stage three refuses it"
    first, *others = caveats_of(here)
    assert others and first == statement("power-not-reached", power=TOO_FEW["answer"])
    assert first not in caveats_of(stands(None, **parts))
    assert first not in caveats_of(replace(stands(32), power=TOO_FEW)), "stage three is refused, and nothing is decided"
