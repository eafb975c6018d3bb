"""Runs that were stopped until one came out well, and tasks that were taken out, are held against the answer."""

from __future__ import annotations

from proctor.base.frozen import replace
from proctor.study.pilot.journal import Removal
from proctor.study.pilot.ledger import CUT, RUNNING
from proctor.study.pilot.records import Standing
from proctor.study.pilot.sensitivity import choices, made_again
from tests.study.pilot.running import SPOILT, STOPPED, run_of
from tests.study.pilot.test_status import stands


def stopped_before(here: Standing) -> Standing:
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
    assert list(choices(here)) == ["Runs that were cut off, stopped or spoilt were made again: 3 of x, 1 of y."]
    assert (made_again(stands(None)), list(choices(stands(None)))) == ((), [])


def test_runs_of_a_baseline_that_is_compared_count_too() -> None:
    here = stopped_before(stands(None, comparison={"candidate": "x", "against": "noop"}))
    assert [(method, count) for method, _, count in made_again(here)] == [("noop", 1), ("x", 3), ("y", 1)]
    assert list(choices(here)) == ["Runs that were cut off, stopped or spoilt were made again: 3 of x, 1 of noop."]


def test_a_run_that_goes_on_beside_a_filled_place_was_not_made_again() -> None:
    here = stands(None)
    live = run_of(here.plan.slots[0], 1, state=RUNNING)
    assert made_again(replace(here, runs=(live, *here.runs))) == ()


def test_removed_tasks_are_counted_beside_the_answer() -> None:
    here = stands(None, lambda slot: {"success": (slot.method == "x") != (slot.task in ("a", "d"))})
    gone = tuple(Removal(task, "", "flaky", (), "", "", "", "", 0, "") for task in ("a", "d"))
    removed = replace(here, journal=replace(here.journal, removals=gone))
    assert list(choices(removed)) == [
        "With the runs of removed tasks counted, the difference would be +0.0 points (p = 1.000)."
    ]
    never = replace(removed, runs=tuple(run for run in here.runs if run.task not in ("a", "d")))
    assert list(choices(never)) == [], "nothing was run there"
