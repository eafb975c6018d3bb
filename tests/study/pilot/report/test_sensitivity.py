"""Runs that were stopped until one came out well, and tasks that were taken out, are held against the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.ledger.pilot_runs import CUT, RUNNING
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report.sensitivity_analysis import choices, made_again
from proctor.study.pilot.running.pilot_state import PilotState
from proctor.study.statements import statement
from tests.english import english
from tests.study.pilot.pilot_cases import POWERED, SHOWN, SPOILT, STOPPED, ledger, run_of, screens
from tests.study.pilot.report.test_status import stands
from tests.study.pilot.report.test_uneven import head
from tests.study.pilot.running.test_stopping_rules import looking


def stopped_before(here: PilotState) -> PilotState:
    """The same, where the first place of x took four runs and that of y two; the no-op was cut off too."""
    slots = {name: next(slot for slot in here.plan.slots if slot.method == name) for name in ("x", "y", "noop")}
    early = [
        run_of(slots["x"], 1, state=CUT, status="", success=False, scorable=False),
        run_of(slots["x"], 2, **STOPPED),
        run_of(slots["x"], 3, **SPOILT),
        run_of(slots["y"], 1, **STOPPED),
        run_of(slots["noop"], 1, **STOPPED),
    ]
    return replace(here, runs=(*early, *here.runs))


def test_runs_that_were_made_again_are_counted_by_method() -> None:
    here = stopped_before(stands(None))
    tasks = {name: next(slot.task for slot in here.plan.slots if slot.method == name) for name in ("x", "y")}
    assert made_again(here) == (("x", tasks["x"], 3), ("y", tasks["y"], 1))
    assert list(choices(here)) == [statement("runs-made-again", runs={"x": 3, "y": 1})]
    assert (made_again(stands(None)), list(choices(stands(None)))) == ((), [])


def test_runs_of_a_baseline_that_is_compared_count_too() -> None:
    here = stopped_before(stands(None, comparison={"candidate": "x", "against": "noop"}))
    assert [(method, count) for method, _, count in made_again(here)] == [("noop", 1), ("x", 3), ("y", 1)]
    assert list(choices(here)) == [statement("runs-made-again", runs={"x": 3, "noop": 1})]


def test_a_run_that_goes_on_beside_a_filled_place_was_not_made_again() -> None:
    here = stands(None)
    live = run_of(here.plan.slots[0], 1, state=RUNNING)
    assert made_again(replace(here, runs=(live, *here.runs))) == ()


def test_removed_tasks_are_counted_beside_the_answer() -> None:
    here = stands(None, lambda slot: {"success": (slot.method == "x") != (slot.task in ("a", "d"))})
    gone = tuple(Removal(task, "", "flaky", (), SHOWN, "", "", "", 0, "") for task in ("a", "d"))
    removed = replace(here, journal=replace(here.journal, removals=gone))
    assert english(list(choices(removed))) == [
        "With the runs of removed tasks counted, the difference would be +0.0 points (p = 1.000)."
    ]
    never = replace(removed, runs=tuple(run for run in here.runs if run.task not in ("a", "d")))
    assert list(choices(never)) == [], "nothing was run there"


def test_nobody_is_adopted_who_is_not_with_removed_tasks_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """x loses on five tasks of twenty; there is a reason to remove each of them, and somebody finds it."""
    lost = ("t00", "t05", "t10", "t15", "t19")
    whole = solved_but(lost)
    assert head(whole, monkeypatch)["verdict"] == "undecided"
    gone = tuple(Removal(task, "", "flaky", (), SHOWN, "", "", "", 0, "") for task in lost)
    chosen = replace(whole, journal=replace(whole.journal, removals=gone))
    told = head(chosen, monkeypatch)
    assert told["difference"]["low"] > 0 and told["verdict"] == "undecided"
    assert "with the runs of removed tasks counted it is" in told["reason"]
    everything = tuple(replace(gone[0], task=task["name"]) for task in whole.plan.protocol["tasks"])
    with pytest.raises(UsageFault, match="every task of the pilot was removed"):
        head(replace(whole, journal=replace(whole.journal, removals=everything)), monkeypatch)
    never = replace(chosen, runs=tuple(run for run in whole.runs if run.task not in lost))
    assert head(never, monkeypatch)["verdict"] == "adopt", "nobody could choose by runs that were never made"


def solved_but(lost: tuple[str, ...]) -> PilotState:
    """A complete pilot in which x wins half of twenty tasks, loses ``lost``, and both solve the others."""

    def says(slot: Slot) -> Mapping[str, Any]:
        won = {"noop": False, "reference": True, "x": slot.task not in lost, "y": int(slot.task[1:]) % 2 > 0}
        success = won[slot.method] or (slot.task in lost and slot.method == "y")
        return {"usd": Decimal("0.50"), "success": success, "status": "success" if success else "failure"}

    budgets = {"pilot_usd": "9000.00", "task_usd": None, "run_usd": None}
    wanted = looking([], budgets=budgets, comparison={"candidate": "x", "against": "y"})
    book = ledger(wanted, None, says)
    plan = Plan(Path("/plan"), Path("/plan"), "sha256:p", wanted, book.slots)
    return PilotState(plan, Journal(screens(wanted), ()), book.runs, POWERED)
