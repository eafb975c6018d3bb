"""When a pilot may be decided: with its plan complete or ended by a rule, and not on the way."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.base.frozen import replace
from proctor.study.pilot.journal import Journal, Removal
from proctor.study.pilot.records import stages_of
from proctor.study.pilot.report import compared_in, progress_of, unfinished
from tests.study.pilot.running import arms
from tests.study.pilot.test_status import stands


@pytest.mark.parametrize("filled", [8, 9, 20, 40, 47])
def test_a_pilot_that_is_not_complete_decides_nothing(filled: int) -> None:
    here = stands(filled)
    whole = filled - filled % 4
    assert unfinished(here).startswith(f"the pilot is not complete ({whole} of 48 planned runs count), and to decide")


def test_a_complete_pilot_is_decided() -> None:
    assert unfinished(stands(None)) == ""


@pytest.mark.parametrize(
    ("filled", "parts"),
    [
        (8, {"budgets": {"pilot_usd": "23.99", "task_usd": None, "run_usd": None}}),
        (40, {"budgets": {"pilot_usd": "30.00", "task_usd": None, "run_usd": None}}),
    ],
)
def test_a_pilot_that_a_rule_ended_is_decided(filled: int, parts: dict[str, Any]) -> None:
    assert unfinished(stands(filled, **parts)) == ""


@pytest.mark.parametrize(
    ("against", "names"), [("y", ["x", "y"]), ("noop", ["x", "y", "noop"]), ("reference", ["x", "y", "reference"])]
)
def test_a_baseline_is_compared_where_the_question_names_it(against: str, names: list[str]) -> None:
    assert compared_in(arms(comparison={"candidate": "x", "against": against})) == names
    assert compared_in(arms(comparison=None)) == ["x", "y"]


def test_progress_counts_the_runs_and_names_the_stage_that_holds_the_pilot_up() -> None:
    now = progress_of(stands(9))
    assert (now["planned"], now["counted"], now["complete"], now["removed"]) == (48, 8, False, [])
    assert now["words"] == "8 of 48 planned runs count. Stage two is not over."
    whole = progress_of(stands(None))
    assert (whole["counted"], whole["complete"], whole["words"]) == (48, True, "48 of 48 planned runs count.")


def test_progress_says_which_rule_stopped_a_stage() -> None:
    now = progress_of(stands(8, budgets={"pilot_usd": "23.99", "task_usd": None, "run_usd": None}))
    assert now["complete"] is False
    assert "was stopped by the rule for budget: " in now["words"]


def test_progress_says_what_refused_a_stage() -> None:
    here = stands(32)
    weak = replace(here, power={**here.power, "supported": False, "value": "0.41"})
    last = list(stages_of(weak))[-1]
    assert last.verdict == "refused"
    words = progress_of(weak)["words"]
    assert f"Stage {last.name} was refused, since this does not hold: {last.unmet[0].words} (found: 0.41," in words


def test_progress_names_the_tasks_that_were_removed() -> None:
    here = stands(None)
    task = here.plan.slots[0].task
    gone = Removal(task, "", "flaky", (), "", "", "", "", 0, "")
    now = progress_of(replace(here, journal=Journal(here.journal.screens, (gone,))))
    assert now["removed"] == [task]
    assert now["counted"] == 48 - sum(slot.task == task for slot in here.plan.slots)
