"""What must hold before and after each stage: one table of faults, each of which one criterion notices."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from proctor.present.sentences.pilot_criteria import todo
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.ledger.pilot_runs import Ledger
from proctor.study.pilot.running.cap_criteria import Criterion
from proctor.study.pilot.running.stage_criteria import Facts, entry, exit_
from proctor.study.pilot.running.stopping_rules import Account, Next, Stop
from proctor.study.statements import statement
from tests.study.pilot.pilot_cases import SPOILT, TOO_FEW, UNSAFE, arms, checked, facts, ledger, run_of, screens
from tests.study.pilot.planning import task

Make = Callable[[], Facts]
AFTER_ONE, AFTER_TWO = 2 * 4, 8 * 4
"""The places of two tasks once, and of four tasks twice, by four methods."""


def unmet(criteria: tuple[Criterion, ...]) -> list[str]:
    return [one.id for one in criteria if not one.met]


def usual(filled: int | None) -> Facts:
    wanted = arms()
    return facts(wanted, ledger(wanted, filled))


@pytest.mark.parametrize(("stage", "filled"), [("one", 0), ("two", AFTER_ONE), ("three", AFTER_TWO)])
def test_a_stage_begins_where_all_is_well(stage: str, filled: int) -> None:
    assert unmet(entry(stage, usual(filled))) == []


@pytest.mark.parametrize(("stage", "filled"), [("one", AFTER_ONE), ("two", AFTER_TWO), ("three", None)])
def test_a_stage_is_over_where_all_is_well(stage: str, filled: int | None) -> None:
    assert unmet(exit_(stage, usual(filled))) == []


def with_checks(**changed: dict[str, Any]) -> Facts:
    wanted = arms()
    book = Ledger(ledger(wanted, 0).slots, tuple(checked(wanted, **changed)), 1)
    return facts(wanted, book)


def unscreened() -> Facts:
    wanted = arms()
    found = screens(wanted)
    del found["a"]
    return facts(wanted, ledger(wanted, 0), screens=found)


def screened_too_little() -> Facts:
    wanted, before = arms(), arms(flakes={"tolerance": "0", "runs": 2})
    return facts(wanted, ledger(wanted, 0), screens=screens(before))


def of_another_contract() -> Facts:
    wanted = arms()
    other = {**wanted, "tasks": [{**one, "contract": "sha256:other"} for one in wanted["tasks"]]}
    return facts(wanted, ledger(wanted, 0), screens=screens(other))


def flaky(deviating: int, tolerance: str = "0", runs: int = 5, **parts: Any) -> Facts:
    wanted = arms(flakes={"tolerance": tolerance, "runs": runs}, **parts)
    return facts(wanted, ledger(wanted, 0), screens=screens(wanted, a=deviating))


def budgets(pilot: str, of_task: str | None = None, run: str | None = None) -> Facts:
    wanted = arms(budgets={"pilot_usd": pilot, "task_usd": of_task, "run_usd": run})
    return facts(wanted, ledger(wanted, 0))


BEFORE_ONE: dict[str, tuple[Make, list[str]]] = {
    "a no-op that is a success": (lambda: with_checks(noop={"status": "success"}), ["noop-fails"]),
    "a solution that fails": (lambda: with_checks(reference={"status": "failure"}), ["solution-passes"]),
    "a solution that cannot be judged": (lambda: with_checks(reference=SPOILT), ["solution-passes"]),
    "a task that was never tried": (lambda: facts(arms(), Ledger((), (), 1)), ["noop-fails", "solution-passes"]),
    "a task without a screen": (unscreened, ["flakes"]),
    "too few attempts": (screened_too_little, ["flakes"]),
    "a screen of another contract": (of_another_contract, ["flakes"]),
    "a flaky check": (lambda: flaky(1), ["flakes"]),
    "more flakes than tolerated": (lambda: flaky(3, "0.01", 200), ["flakes"]),
    "a pilot that cannot pay a block": (lambda: budgets("19.99"), ["caps-pilot"]),
    "a task that cannot pay a block": (lambda: budgets("100.00", "19.99"), ["caps-task"]),
}


@pytest.mark.parametrize("fault", BEFORE_ONE)
def test_stage_one_is_refused_for(fault: str) -> None:
    make, wanted = BEFORE_ONE[fault]
    found = entry("one", make())
    assert unmet(found) == wanted
    assert all(todo(plain_data(one.found)) for one in found if not one.met)


def test_flakes_within_the_tolerance_are_let_through() -> None:
    assert unmet(entry("one", flaky(2, "0.01", 200))) == []


def test_a_smaller_cap_lets_a_small_envelope_hold_a_block() -> None:
    assert unmet(entry("one", budgets("19.99", "4.00", "1.00"))) == []


@pytest.mark.parametrize(
    ("rule", "allowed"), [(("majority", 3), True), (("all", 3), False), (("majority", 2), False), (("any", 3), False)]
)
def test_a_flaky_task_is_let_through_where_the_judge_uses_the_rule_of_the_protocol(
    rule: tuple[str, int], allowed: bool
) -> None:
    wanted = arms(adjudication={"rule": "majority", "reruns": 3})
    book = Ledger(ledger(wanted, 0).slots, tuple(checked(wanted, reference={"rules": (rule,)})), 1)
    found = entry("one", facts(wanted, book, screens=screens(wanted, a=2)))
    assert unmet(found) == ([] if allowed else ["flakes"])


def in_first(method: str, **fields: Any) -> Facts:
    """Stage one as it should be, but for the first run of one method."""
    wanted = arms()
    first = next(slot.order for slot in ledger(wanted, 0).slots if slot.method == method)
    book = ledger(wanted, AFTER_ONE, lambda slot: fields if slot.order == first else {})
    return facts(wanted, book)


AT_END_OF_ONE: dict[str, tuple[Make, list[str]]] = {
    "a place without a run": (lambda: usual(AFTER_ONE - 1), ["places", "equal-counts"]),
    "a run that does not say how it ended": (lambda: in_first("x", reason=""), ["endings"]),
    "a run without a cost": (lambda: in_first("y", usd=None), ["costs"]),
}


@pytest.mark.parametrize("fault", AT_END_OF_ONE)
def test_stage_one_is_not_over_with(fault: str) -> None:
    make, wanted = AT_END_OF_ONE[fault]
    assert unmet(exit_("one", make())) == wanted


BEFORE_TWO: dict[str, tuple[Make, list[str]]] = {
    "a stage one that is not over": (lambda: usual(AFTER_ONE - 1), ["stage-one"]),
    "a breach of the boundary": (lambda: in_first("x", violations=("os-risk",)), ["boundary"]),
    "data that was carried out": (lambda: in_first("y", violations=("exfiltration",)), ["boundary"]),
    "an end for safety": (lambda: in_first("x", **UNSAFE), ["boundary"]),
    "a reference that failed": (lambda: in_first("reference", status="failure", success=False), ["baselines"]),
    "a no-op that is a success": (lambda: in_first("noop", status="success", success=True), ["baselines"]),
}


@pytest.mark.parametrize("fault", BEFORE_TWO)
def test_stage_two_is_refused_for(fault: str) -> None:
    make, wanted = BEFORE_TWO[fault]
    assert unmet(entry("two", make())) == wanted


def test_a_patch_that_is_too_large_is_no_breach_of_the_boundary() -> None:
    assert unmet(entry("two", in_first("x", violations=("boundary-violation",)))) == []


def always(method: str, of: str, **fields: Any) -> Facts:
    """Stages one and two as they should be, but for the runs of one method on one task."""
    wanted = arms()
    book = ledger(wanted, AFTER_TWO, lambda slot: fields if (slot.method, slot.task) == (method, of) else {})
    return facts(wanted, book)


def spent(usd: str) -> Facts:
    wanted = arms()
    return facts(wanted, ledger(wanted, AFTER_TWO), account=Account({"sha256:a": Decimal(usd)}))


AT_END_OF_TWO: dict[str, tuple[Make, list[str]]] = {
    "a place without a run": (lambda: usual(AFTER_TWO - 1), ["places", "equal-counts"]),
    "a task without a verdict": (lambda: always("x", "a", scorable=False), ["endpoints"]),
    "a verdict without subscores": (lambda: always("y", "b", scored=False), ["subscores"]),
    "more spent than allowed": (lambda: spent("100.01"), ["spend"]),
}


@pytest.mark.parametrize("fault", AT_END_OF_TWO)
def test_stage_two_is_not_over_with(fault: str) -> None:
    make, wanted = AT_END_OF_TWO[fault]
    assert unmet(exit_("two", make())) == wanted


def test_stage_three_is_blocked_without_power() -> None:
    wanted = arms()
    told = TOO_FEW
    found = entry("three", facts(wanted, ledger(wanted, AFTER_TWO), power=told))
    assert unmet(found) == ["power"]


def test_stage_three_is_blocked_where_the_rest_would_cost_more_than_is_left() -> None:
    wanted = arms()
    book = ledger(wanted, AFTER_TWO)
    rest = Decimal("0.50") * 16
    exact = facts(wanted, book, account=Account({"sha256:a": 100 - rest}))
    assert unmet(entry("three", exact)) == []
    short = facts(wanted, book, account=Account({"sha256:a": 100 - rest + Decimal("0.01")}))
    assert unmet(entry("three", short)) == ["budget"]


def test_stage_three_is_over_when_complete_or_ended_by_a_rule() -> None:
    assert unmet(exit_("three", usual(AFTER_TWO + 4))) == ["end"]
    wanted = arms()
    stop = Stop("safety", statement("method-violates", method="x", runs=3), "3", "3", 9, ("run",))
    ended = facts(wanted, ledger(wanted, AFTER_TWO + 4), ahead=Next(stop=stop))
    assert unmet(exit_("three", ended)) == []
    broken = facts(wanted, ledger(wanted, AFTER_TWO + 5), ahead=Next(stop=stop))
    found = exit_("three", broken)
    assert unmet(found) == ["equal-counts"]
    assert len(found[1].evidence) == 1, "the run that has no counterpart"


def test_removed_tasks_are_asked_for_nothing() -> None:
    wanted = arms()
    book = ledger(wanted, AFTER_ONE, removed=frozenset({"a"}))
    found = facts(wanted, book, screens=screens(wanted, a=5))
    assert unmet(entry("one", found)) == []


def test_a_task_without_any_solution_cannot_be_used() -> None:
    wanted = arms(tasks=[task("a"), task("b")])
    slots = ledger(wanted, 0).slots
    tried = [run for run in checked(wanted) if run.method == "noop"]
    assert unmet(entry("one", facts(wanted, Ledger(slots, tuple(tried), 1)))) == ["solution-passes"]


def test_a_second_try_after_a_fault_of_the_machine_counts() -> None:
    wanted = arms()
    book = ledger(wanted, 0)
    first = [run for run in checked(wanted, noop=SPOILT) if run.method == "noop"]
    again = checked(wanted)
    assert unmet(entry("one", facts(wanted, Ledger(book.slots, (*first, *again), 1)))) == []


def test_every_criterion_is_data() -> None:
    for stage in ("one", "two", "three"):
        for one in (*entry(stage, usual(None)), *exit_(stage, usual(None))):
            told = one.record()
            assert {"id", "found", "met", "evidence"} == set(told)
            assert told["found"]["code"] == told["id"]


def test_spoilt_runs_that_were_repeated_do_not_disturb_a_stage() -> None:
    wanted = arms()
    book = ledger(wanted, AFTER_ONE)
    spoilt = run_of(book.slots[0], -1, **SPOILT)
    more = Ledger(book.slots, (spoilt, *book.runs), 1)
    assert unmet(exit_("one", facts(wanted, more))) == []
