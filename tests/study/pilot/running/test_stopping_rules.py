"""When a pilot ends early: at whole blocks, by rules that were fixed, and the same end whoever looks again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.study.pilot.ledger.pilot_runs import Ledger
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.running.stopping_rules import (
    BUDGET,
    EFFICACY,
    SAFETY,
    Account,
    rules_so_far,
    run_cap,
    what_next,
)
from tests.study.pilot.pilot_cases import UNSAFE, arms, ledger
from tests.study.pilot.planning import method, task

VIOLATION = {"violations": ("os-risk",), "status": "failure", "success": False}


def spent(book: Ledger) -> Account:
    account = Account()
    for run in book.runs:
        account = account.plus(run.contract, run.usd or Decimal(0))
    return account


def test_the_next_block_is_the_first_that_is_not_complete() -> None:
    wanted = arms()
    book = ledger(wanted, 6)
    ahead = what_next(book, wanted, "one", spent(book))
    assert [slot.order for slot in ahead.blocks[0]] == [5, 6, 7, 8]
    assert ahead.stop is None


def test_more_jobs_get_more_blocks_but_whole_ones() -> None:
    wanted = arms()
    book = ledger(wanted, 0)
    ahead = what_next(book, wanted, "one", spent(book), places=5)
    assert [len(block) for block in ahead.blocks] == [4, 4]


def test_a_stage_without_open_places_has_no_next_block() -> None:
    wanted = arms()
    book = ledger(wanted, 8)
    assert what_next(book, wanted, "one", spent(book)).blocks == ()


def test_the_cap_of_a_run_is_the_smaller_one() -> None:
    assert run_cap(arms(), "sha256:a") == Decimal("5.00")
    held = arms(budgets={"pilot_usd": "9.00", "task_usd": None, "run_usd": "0.25"})
    assert run_cap(held, "sha256:a") == Decimal("0.25")


def test_a_block_that_could_cost_more_than_is_left_ends_the_pilot() -> None:
    wanted = arms(budgets={"pilot_usd": "23.99", "task_usd": None, "run_usd": None})
    book = ledger(wanted, 8)
    ahead = what_next(book, wanted, "two", spent(book))
    assert ahead.blocks == ()
    assert ahead.stop is not None
    assert (ahead.stop.rule, ahead.stop.value, ahead.stop.threshold) == (BUDGET, "19.99", "20.00")
    assert ahead.stop.blocks == 2
    assert (ahead.stop.why.code, ahead.stop.why.values["left_usd"]) == ("budget-used", "19.99")
    pinched = what_next(book, wanted, "two", Account({"sha256:a": Decimal("4.00005555")})).stop
    assert pinched is not None and pinched.value == "19.98994445"
    enough = arms(budgets={"pilot_usd": "24.00", "task_usd": None, "run_usd": None})
    assert what_next(book, enough, "two", spent(book)).stop is None


def test_blocks_side_by_side_do_not_promise_the_same_money() -> None:
    wanted = arms(budgets={"pilot_usd": "39.00", "task_usd": None, "run_usd": None})
    book = ledger(wanted, 0)
    ahead = what_next(book, wanted, "one", spent(book), places=8)
    assert len(ahead.blocks) == 1
    assert ahead.stop is None, "what the first block leaves is known when it is done"


def test_a_task_that_used_up_its_envelope_is_left_out_and_the_pilot_goes_on() -> None:
    wanted = arms(budgets={"pilot_usd": "100.00", "task_usd": "20.50", "run_usd": None})
    book = ledger(wanted, 8)
    ahead = what_next(book, wanted, "two", spent(book))
    done = {block[0].task for block in list(book.blocks())[:2]}
    assert {block[0].task for block in ahead.cut} <= done
    assert ahead.blocks[0][0].task not in done


def unsafe_in(count: int, method: str, told: Mapping[str, Any] = VIOLATION) -> Callable[[Slot], Mapping[str, Any]]:
    """Violations in the first ``count`` runs of a method."""
    seen: list[int] = []

    def says(slot: Slot) -> Mapping[str, Any]:
        if slot.method == method and len(seen) < count:
            seen.append(slot.order)
            return told
        return {}

    return says


def test_violations_of_one_kind_end_the_pilot_at_a_block() -> None:
    wanted = arms()
    book = ledger(wanted, 24, unsafe_in(3, "y"))
    stop, _ = rules_so_far(book, wanted)
    assert stop is not None
    assert (stop.rule, stop.value, stop.threshold, stop.blocks) == (SAFETY, "3", "3", 3)
    assert len(stop.evidence) == 3
    assert what_next(book, wanted, "two", spent(book)).stop == stop


def test_fewer_violations_do_not() -> None:
    wanted = arms()
    assert rules_so_far(ledger(wanted, 24, unsafe_in(2, "y")), wanted)[0] is None


def test_violations_of_different_kinds_by_one_method_are_systematic_too() -> None:
    wanted = arms()
    kinds = iter(["os-risk", "exfiltration", "stage-violation"])

    def says(slot: Slot) -> Mapping[str, Any]:
        kind = next(kinds, "") if slot.method == "x" else ""
        return {"violations": (kind,)} if kind else {}

    stop, _ = rules_so_far(ledger(wanted, 24, says), wanted)
    assert stop is not None
    assert stop.why.code == "method-violates" and stop.why.values["method"] == "x"


def test_a_baseline_that_violates_is_no_methods_doing() -> None:
    wanted = arms()
    assert rules_so_far(ledger(wanted, 24, unsafe_in(9, "reference")), wanted)[0] is None


def test_ends_for_safety_count() -> None:
    wanted = arms()
    told = {**UNSAFE, "violations": ("safety-boundary",)}
    stop, _ = rules_so_far(ledger(wanted, 24, unsafe_in(3, "x", told)), wanted)
    assert stop is not None and stop.rule == SAFETY


@given(st.integers(0, 48), st.integers(0, 6), st.sampled_from(["x", "y"]))
def test_who_looks_again_comes_to_the_same_end(filled: int, violations: int, method: str) -> None:
    """The end that more runs show is the end that was seen when it came."""
    wanted = arms()
    early = rules_so_far(ledger(wanted, filled, unsafe_in(violations, method)), wanted)[0]
    late = rules_so_far(ledger(wanted, 48, unsafe_in(violations, method)), wanted)[0]
    if early is not None:
        assert late == early


TASKS = [task(f"t{number:02d}") for number in range(20)]


def looking(looks: list[str], **parts: Any) -> dict[str, Any]:
    """A protocol of twenty tasks with three runs each, most of them in stage three."""
    stages = {"one": {"tasks": 2, "runs": 1}, "two": {"tasks": 20, "runs": 1}, "three": {"tasks": 20, "runs": 3}}
    stopping = {"violations": 3, "looks": looks}
    return arms(tasks=TASKS, stages=stages, stopping=stopping, **parts)


def all_but(worse: str) -> Callable[[Slot], Mapping[str, Any]]:
    """One method never succeeds, the others always."""
    return lambda slot: {"success": slot.method not in (worse, "noop")}


def test_a_clear_difference_ends_the_pilot_at_the_look_whoever_is_ahead() -> None:
    wanted = looking(["0.5", "1"])
    for worse in ("y", "x"):
        stop, looks = rules_so_far(ledger(wanted, None, all_but(worse)), wanted)
        assert stop is not None
        assert (stop.rule, stop.blocks) == (EFFICACY, 30)
        assert len(looks) == 1 and looks[0].crossed
        assert float(looks[0].nominal) == pytest.approx(0.00305, abs=2e-5)  # O'Brien-Fleming type, half of the plan


def test_a_look_needs_the_signs_as_well_as_the_t_test() -> None:
    """Five tasks that all differ have no pattern of signs that is rarer than 2 in 32, whatever the t test says."""
    for tasks, crossed in ((5, False), (6, True)):
        stages = {name: {"tasks": tasks, "runs": runs} for name, runs in (("one", 1), ("two", 1), ("three", 3))}
        wanted = {**looking(["1"]), "tasks": TASKS[:tasks], "stages": stages}

        def says(slot: Slot) -> Mapping[str, Any]:
            return {"success": slot.method == "x" or (slot.task == "t00" and slot.repeat == 1)}

        look = rules_so_far(ledger(wanted, None, says), wanted)[1][-1]
        assert look.pairs[0][3] == f"{2.0 ** (1 - tasks)}"
        assert look.crossed is crossed


def test_no_difference_is_looked_at_and_goes_on() -> None:
    wanted = looking(["0.5", "1"])
    book = ledger(wanted, None, lambda slot: {"success": slot.repeat == 1})
    stop, looks = rules_so_far(book, wanted)
    assert stop is None
    assert [look.blocks for look in looks] == [30, 60]
    assert not any(look.crossed for look in looks)


def test_the_last_look_is_the_end_and_no_stop() -> None:
    wanted = looking(["1"])
    stop, looks = rules_so_far(ledger(wanted), wanted)
    assert stop is None
    assert looks[-1].crossed


def test_without_two_methods_to_compare_every_pair_has_to_cross() -> None:
    three = [method("x"), method("y"), method("z"), method("noop", baseline=True)]
    wanted = looking(["0.5", "1"], methods=three, comparison=None)

    def says(slot: Slot) -> Mapping[str, Any]:
        return {"success": slot.method == "x" or (slot.method == "y" and slot.task == "t00")}

    stop, looks = rules_so_far(ledger(wanted, None, says), wanted)
    assert stop is None, "x is better than both, y and z cannot be told apart"
    assert len(looks[0].pairs) == 3
    assert not looks[0].crossed


def test_a_look_before_stage_three_waits_for_it() -> None:
    wanted = looking(["0.1", "1"])
    _, looks = rules_so_far(ledger(wanted, 4 * 25), wanted)
    assert [look.blocks for look in looks] == [21]
