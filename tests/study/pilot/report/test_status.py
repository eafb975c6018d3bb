"""How a pilot is told to stand: counts that add up, how near each rule is, and what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proctor.base.canonical import canonical
from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.ledger.pilot_runs import CUT, RUNNING, in_order
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report.pilot_status import status_of
from proctor.study.pilot.running.pilot_state import (
    PilotState,
    deviations,
    left_out,
    places,
    record_of,
    stage_of,
    stages_of,
)
from proctor.study.statements import statement
from tests.english import english
from tests.study.pilot.pilot_cases import ARMS, POWERED, SHOWN, SPOILT, TOO_FEW, arms, ledger, review, run_of, screens
from tests.study.pilot.planning import method

Says = Callable[[Slot], Mapping[str, Any]]
PEOPLE = {"noop": True, "reference": True, "human": True, "human_minutes": "3"}


def stands(filled: int | None, says: Says = lambda slot: {}, **parts: Any) -> PilotState:
    wanted = arms(**parts)
    book = ledger(wanted, filled, says)
    plan = Plan(Path("/plan"), Path("/plan"), "sha256:p", wanted, book.slots)
    return PilotState(plan, Journal(screens(wanted), ()), book.runs, POWERED)


def test_a_pilot_that_was_not_begun() -> None:
    now = status_of(stands(0), busy=False)
    assert (now["stage"], now["verdict"], now["complete"]) == ("one", "open", False)
    assert [(one["done"], one["left"]) for one in now["methods"]] == [(0, 12)] * 4
    assert now["unmet"] == [] and now["stop"] is None
    assert "rule-safety" in [one["code"] for one in now["rules"]]


def test_done_and_left_are_the_plan() -> None:
    for filled in (3, 8, 20, 48):
        now = status_of(stands(filled), busy=True)
        assert sum(one["done"] for one in now["methods"]) == filled
        assert sum(one["done"] + one["left"] for one in now["methods"]) == 48
        assert now["busy"] is True


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_runs_end_leaves_no_trace(seed: int) -> None:
    """With several jobs runs end in any order; who reads them back later finds them by their clocks."""
    human = {"methods": [*ARMS, method("human", baseline=True)], "baselines": PEOPLE}

    def says(slot: Slot) -> Mapping[str, Any]:
        return SPOILT if slot.order % 7 == 0 else {"reviews": (review(str(slot.order)),)}

    read_back = stands(None, says, **human)
    read_back = replace(read_back, runs=in_order(read_back.runs, ()))
    runs = list(read_back.runs)
    Random(seed).shuffle(runs)
    made = replace(read_back, runs=()).with_runs(tuple(runs[:20])).with_runs(tuple(runs[20:]))
    assert made.charges() == read_back.charges() and len(made.charges()) > 30
    assert deviations(made) == deviations(read_back)
    assert status_of(made, busy=False) == status_of(read_back, busy=False)
    for one in stages_of(read_back):
        assert canonical(record_of(made, stage_of(made, one.name))) == canonical(record_of(read_back, one))


def test_the_journal_tells_the_order_of_runs_of_one_place_where_the_clock_went_back() -> None:
    here = stands(8)
    first = here.plan.slots[0]
    late = replace(run_of(first, 1), begun=0)
    runs = (*here.runs, late)
    noted = {run.run: run.seal for run in runs}
    read_back = replace(here, journal=replace(here.journal, runs=noted), runs=in_order(runs, tuple(noted)))
    made = replace(here, journal=read_back.journal).with_runs((late,))
    assert made.runs == read_back.runs
    assert [run.run for run in made.ledger.attempts(first)] == [run_of(first).run, late.run]


def test_stages_are_told_up_to_the_one_that_is_open() -> None:
    assert [one.verdict for one in stages_of(stands(9))] == ["over", "open"]
    assert [one.verdict for one in stages_of(stands(40))] == ["over", "over", "open"]
    assert [one.verdict for one in stages_of(stands(None))] == ["over"] * 3
    assert status_of(stands(None), busy=False)["complete"] is True


def test_what_was_spent_counts_runs_that_fill_no_place() -> None:
    here = stands(8)
    lost = run_of(here.plan.slots[0], -1, state=CUT, usd=Decimal("1.25"), status="")
    now = status_of(here.with_runs((lost,)), busy=False)
    assert Decimal(now["spent_usd"]) == Decimal("0.50") * 8 + Decimal("1.25")
    assert now["envelopes"][0]["cap_usd"] == "100.00"
    assert {"code": "runs-cut-off", "runs": [lost.values]} in now["deviations"]


def test_the_envelope_of_the_task_with_the_least_left_is_told() -> None:
    budgets = {"pilot_usd": "100.00", "task_usd": "30.00", "run_usd": "1.00"}
    now = status_of(
        stands(8, lambda slot: {"usd": Decimal(2)} if slot.task == "a" else {}, budgets=budgets), busy=False
    )
    told = {one["envelope"]: one["spent_usd"] for one in now["envelopes"]}
    assert len(told) == 2
    assert max(told.values(), key=Decimal) == told["pilot"]


def test_how_near_the_rules_are() -> None:
    def says(slot: Slot) -> Mapping[str, Any]:
        return {"violations": ("stage-violation",)} if slot.method == "x" and slot.order < 9 else {}

    now = status_of(stands(16, says, stopping={"violations": 3, "looks": ["0.5", "1"]}), busy=False)
    rules = {one["code"]: one for one in now["rules"]}
    assert (rules["rule-safety"]["runs"], rules["rule-safety"]["allowed"]) == (2, 3)
    budget = "budget: 92,000.00 units left; the next block may cost 20,000.00 units"
    assert english(rules["rule-budget"]) == budget
    assert (rules["rule-efficacy"]["blocks"], rules["rule-efficacy"]["next"]) == (4, 6)


def test_what_runs_now_is_told() -> None:
    here = stands(8)
    live = run_of(here.plan.slots[8], state=RUNNING, usd=None, status="")
    (told,) = status_of(here.with_runs((live,)), busy=True)["running"]
    assert told["run"] == live.run
    assert told["method"] == here.plan.slots[8].method


def test_a_stage_that_holds_the_pilot_up_says_what_is_not_met() -> None:
    first = next(slot.order for slot in stands(0).plan.slots if slot.method == "y")
    here = stands(8, lambda slot: {"violations": ("os-risk",)} if slot.order == first else {})
    now = status_of(here, busy=False)
    assert (now["stage"], now["verdict"]) == ("two", "refused")
    assert [one["id"] for one in now["unmet"]] == ["boundary"]


def test_stage_one_is_refused_only_when_its_checks_are_done(tmp_path: Path) -> None:
    book = stands(0)
    unscreened = replace(book, journal=Journal({}, ()), runs=())
    checked = replace(unscreened, runs=book.runs)
    wrong = replace(checked, runs=tuple(replace(run, status="success") for run in book.runs))
    (tmp_path / "stage-one.json").write_text("{}")
    refused = replace(checked, plan=replace(checked.plan, folder=tmp_path))
    for here, busy, verdict in (
        (unscreened, False, "not begun"),
        (unscreened, True, "checking"),
        (checked, True, "checking"),
        (checked, False, "checks left"),
        (wrong, False, "refused"),
        (refused, False, "refused"),
    ):
        now = status_of(here, busy)
        assert (now["verdict"], now["stages"][0]["verdict"]) == (verdict, verdict)
        assert next(stages_of(here)).verdict == "refused", "what is on record stays"
        assert now["unmet"]


def test_checks_by_none_of_the_methods_complete_the_sum() -> None:
    both = stands(8)
    assert status_of(both, busy=False)["checks"] == {"runs": 0, "spent_usd": "0.00"}
    only = stands(6, methods=ARMS[:3])
    now = status_of(only, busy=False)
    spent = [Decimal(one["spent_usd"]) for one in (*now["methods"], now["checks"])]
    assert now["checks"]["runs"] == 4 and sum(spent) == Decimal(now["spent_usd"])


def test_a_stage_that_lost_its_tasks_is_told() -> None:
    here = stands(None)
    first = sorted({slot.task for slot in here.plan.slots if slot.stage == "one"})
    assert len(first) == 2
    gone = tuple(Removal(task, "", "flaky", (), SHOWN, "", "", "", 0, "") for task in first)
    told = deviations(replace(here, journal=replace(here.journal, removals=gone)))
    assert statement("stage-without-tasks", stage="one") in told


def test_places_that_do_not_count_are_told_apart() -> None:
    here = stands(10)
    found = list(places(here))
    assert [slot for slot, _, _ in found] == list(here.plan.slots)
    assert [counts for _, _, counts in found[:10]] == [True] * 8 + [False] * 2
    assert len(left_out(here.ledger)) == 2
    assert deviations(here) == [], "the block is still to be completed"


def test_faults_that_were_repeated_are_deviations() -> None:
    here = stands(8)
    spoilt = run_of(here.plan.slots[0], -1, **SPOILT)
    (words,) = deviations(replace(here, runs=(spoilt, *here.runs)))
    assert words.values["run"] == spoilt.run and "no disk" in words.values["problem"]


def test_a_record_of_a_stage_does_not_change_with_later_ones() -> None:
    early, late = stands(8), stands(None)
    assert record_of(early, stage_of(early, "one")) == record_of(late, stage_of(late, "one"))
    middle = stands(32)
    assert record_of(middle, stage_of(middle, "two")) == record_of(late, stage_of(late, "two"))


def test_a_record_has_every_place_with_its_attempts() -> None:
    here = stands(8)
    told = record_of(here, stage_of(here, "one"))
    assert [place["order"] for place in told["places"]] == list(range(1, 9))
    assert all(place["run"] == place["attempts"][-1]["run"] for place in told["places"])
    assert told["counts"] == {"x": 2, "y": 2, "noop": 2, "reference": 2}
    assert told["spent_usd"] == "4.00"


def test_a_plan_without_stage_three_does_not_hide_that_it_lacks_power() -> None:
    stages = {"one": {"tasks": 2, "runs": 1}, "two": {"tasks": 4, "runs": 2}, "three": {"tasks": 4, "runs": 2}}
    here = stands(None, stages=stages, runs_per_task=2)
    assert [one.verdict for one in stages_of(here)] == ["over", "over", "empty"]
    assert deviations(here) == []
    weak = replace(here, power=TOO_FEW)
    assert deviations(weak) == [statement("no-stage-three", power=TOO_FEW["answer"])]
