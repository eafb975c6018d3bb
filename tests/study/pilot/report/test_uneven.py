"""Nobody is adopted because the budgets of those tasks were used up on which the candidate led."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory
from proctor.study.analysis.question import Extras
from proctor.study.pilot.ledger.journal import Journal
from proctor.study.pilot.ledger.pilot_runs import CUT
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report import pilot_findings
from proctor.study.pilot.report.sensitivity_analysis import common_repeats, cut_tasks
from proctor.study.pilot.running.pilot_state import PilotState, stages_of
from proctor.study.pilot.running.stopping_rules import EFFICACY
from tests.english import english
from tests.study.pilot.pilot_cases import POWERED, ledger, screens
from tests.study.pilot.running.test_stopping_rules import looking

BUDGETS = {"pilot_usd": "9000.00", "task_usd": "25.00", "run_usd": None}
LED = tuple(f"t{number:02d}" for number in range(12))
"""The tasks on which x leads at first."""
WAITING = 25
"""The block that is not complete."""


def stands(led_cost: str, later: int) -> PilotState:
    """x wins the first repeat of twelve tasks and loses that of eight, and wins all that come after it."""

    def says(slot: Slot) -> Mapping[str, Any]:
        ahead = slot.task in LED or slot.repeat > later
        usd = Decimal(led_cost if slot.task in LED else "0.50")
        baseline = {"success": slot.method == "reference"}
        won = baseline if slot.method in ("noop", "reference") else {"success": (slot.method == "x") == ahead}
        return {"usd": usd, **won, "status": "success" if won["success"] else "failure"}

    wanted = looking([], budgets=BUDGETS, comparison={"candidate": "x", "against": "y"})
    book = ledger(wanted, None, says)
    cut = {slot.task for slot in book.slots} & (set(LED) if led_cost != "0.50" else set())
    runs = tuple(run for run in book.runs if run.task not in cut or run.stage == "checks" or run.repeat == 1)
    plan = Plan(Path("/plan"), Path("/plan"), "sha256:p", wanted, book.slots)
    return PilotState(plan, Journal(screens(wanted), ()), runs, POWERED)


def head(here: PilotState, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    runs = {run.path: run for run in here.runs}

    def row(directory: RunDirectory) -> dict[str, Any]:
        run = runs[directory.path]
        told = {"run": run.run, "agent": run.method, "task": run.task, "contract": run.contract, "status": run.status}
        return {**told, "success": int(run.success), "scorable": 1, "human_minutes": None, "comparability": "c"}

    monkeypatch.setattr(pilot_findings, "row_of", row)
    monkeypatch.setattr(pilot_findings, "_extras", lambda here: Extras(kind="pilot", name="a pilot"))
    monkeypatch.setattr(pilot_findings, "promised", lambda *plan: {})
    found: dict[str, Any] = pilot_findings.report_of(here)[0]["headline"]
    return dict(english(found))


def test_an_advantage_that_rests_on_tasks_that_were_cut_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    here = stands("2.00", later=1)
    assert cut_tasks(here) == LED and common_repeats(here) == (1,)
    told = head(here, monkeypatch)
    assert told["difference"]["low"] > 0 and told["verdict"] == "undecided"
    assert "with only the repeats that no budget of a task cut (1) it is" in told["reason"]
    first, second = told["caveats"][:2]
    assert first.startswith("Tasks have unequal numbers of runs: their budgets cut 12 of 20 tasks (t00, ")
    assert second.startswith("With only the repeats that no budget of a task cut (1), the difference is +20.0 points")
    assert second.endswith(": undecided.")


def test_an_advantage_that_equal_numbers_show_as_well_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    told = head(stands("2.00", later=0), monkeypatch)
    assert told["verdict"] == "adopt" and told["caveats"][0].startswith("Tasks have unequal numbers of runs")
    assert told["caveats"][1].endswith(": adopt.")


def test_nothing_is_told_where_no_budget_cut_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    here = stands("0.50", later=1)
    assert cut_tasks(here) == () and common_repeats(here) == (1, 2, 3)
    told = head(here, monkeypatch)
    assert told["verdict"] == "adopt" and "unequal" not in " ".join(told["caveats"])


def ended(**budgets: Any) -> PilotState:
    """A pilot that a look ends at its half, while one run of its block 25 is still to be made again."""

    def says(slot: Slot) -> Mapping[str, Any]:
        cut_off = {"state": CUT, "success": False, "scorable": False} if slot.block == WAITING else {}
        return {"usd": Decimal("0.50"), "success": slot.method in ("x", "reference"), **cut_off}

    parts = {"budgets": {**BUDGETS, **budgets}, "comparison": {"candidate": "x", "against": "y"}}
    wanted = looking(["0.5", "1"], **parts)
    book = ledger(wanted, 4 * 32, says)
    plan = Plan(Path("/plan"), Path("/plan"), "sha256:p", wanted, book.slots)
    here = PilotState(plan, Journal(screens(wanted), ()), book.runs, POWERED)
    stop = list(stages_of(here))[-1].stop
    assert stop is not None and stop.rule == EFFICACY
    return here


@pytest.mark.parametrize("task_usd", [None, "45.00"])
def test_the_end_of_a_pilot_cuts_no_single_task(task_usd: str | None) -> None:
    here = ended(task_usd=task_usd)
    assert cut_tasks(here) == () and common_repeats(here) == (1, 2, 3), "it waits for its run, and has the money"


def test_a_task_that_its_budget_cut_before_the_end_is_told() -> None:
    """The task of the open block has hardly spent more than the caps of that block leave."""
    here = ended(task_usd="20.00")
    (cut,) = {slot.task for slot in here.plan.slots if slot.block == WAITING}
    repeat = next(slot.repeat for slot in here.plan.slots if slot.block == WAITING)
    assert cut_tasks(here) == (cut,)
    assert common_repeats(here) == tuple(sorted({1, 2, 3} - {repeat})), "those behind the end lack nobody"
