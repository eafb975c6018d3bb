"""What a plan will cost: by hand, within caps, and adding up."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from proctor.execute.monitor.price_table import Price, PriceTable, load_prices
from proctor.study.pilot.plan.cost_projection import BlockCost, Projection, inputs
from proctor.study.pilot.plan.plan_checks import money, monotonicity
from proctor.study.pilot.plan.power_analysis import question_of
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import Slot, randomise
from tests.study.pilot.planning import method, protocol, task

PRICES = load_prices(
    b"action_type,unit,unit_price,model\n"
    b"llm_input,token,0.000003,\n"
    b"llm_output,token,0.000015,\n"
    b"llm_input,token,0.00001,large\n"
    b"execution,hour,0.36,\n"
    b"human_review,minute,1.50,\n"
    b"run,run,0.01,\n"
)
USAGE = {
    "requests": 10,
    "tokens_in": 100_000,
    "tokens_out": 2_000,
    "tool_calls": 5,
    "seconds": 200,
    "judge_seconds": 100,
    "review_minutes": "0.5",
}


def plan(**parts: Any) -> dict[str, Any]:
    assumed = {**protocol()["assumed"], "usage": USAGE, **parts.pop("assumed", {})}
    return protocol(assumed=assumed, prices={"id": PRICES.id, "currency": "usd", "digest": PRICES.id}, **parts)


def expected(made: dict[str, Any], name: str, prices: PriceTable | None = PRICES) -> Decimal:
    return Projection(made, prices).run("a", name, True).usd[1]


def test_a_run_by_hand() -> None:
    """x has no model: 300 s at 0.36 an hour, half a minute of a person at 1.50, and 0.01 for the run."""
    assert expected(plan(), "x") == Decimal("0.03") + Decimal("0.75") + Decimal("0.01")
    # y besides reads 100,000 tokens at the price of its own model and writes 2,000.
    assert expected(plan(), "y") == expected(plan(), "x") + Decimal("1.00") + Decimal("0.03")
    # A baseline does nothing and is judged.
    assert expected(plan(), "noop") == Decimal("0.01") + Decimal("0.01")


def test_cached_input_costs_what_a_table_says_and_without_a_price_what_input_costs() -> None:
    made = plan(assumed={"usage": {**USAGE, "tokens_cached": 80_000}})
    assert expected(made, "y") == expected(plan(), "y")
    rows = Price("llm_cached_input", "token", Decimal("0.000001"), "large")
    table = PriceTable("t", "usd", (*PRICES.prices, rows))
    # 20,000 fresh tokens at 10 USD a million and 80,000 at 1, in the place of 100,000 at 10.
    saved = Decimal("1.00") - Decimal("0.20") - Decimal("0.08")
    assert expected(plan(), "y") - expected(made, "y", table) == saved


def test_low_and_high_are_the_factors() -> None:
    low, middle, high = Projection(plan(), PRICES).run("a", "y", True).usd
    start = Decimal("0.01")
    assert (low - start, high - start) == ((middle - start) / 2, (middle - start) * 2)


def test_a_run_costs_no_more_than_its_cap_and_people_besides() -> None:
    made = plan(budgets={"pilot_usd": "100.00", "task_usd": None, "run_usd": "0.50"})
    assert Projection(made, PRICES).run("a", "y", True).usd == (
        Decimal("0.50") + Decimal("0.375"),
        Decimal("0.50") + Decimal("0.75"),
        Decimal("0.50") + Decimal("1.50"),
    )
    tasks = [task("a", "c", usd="0.20"), *protocol()["tasks"][1:]]
    assert expected(plan(tasks=tasks), "y") == Decimal("0.95")


def test_people_are_not_expected_to_use_up_the_envelope_of_a_task() -> None:
    made = plan(budgets={"pilot_usd": "100.00", "task_usd": None, "run_usd": None})
    slots = randomise(design_of(made))
    whole = Decimal(Projection(made, PRICES).summary(slots)["by_task"]["a"]["expected"])
    people = Decimal("0.75") * sum(slot.task == "a" and slot.method in ("x", "y") for slot in slots)
    enough = {"pilot_usd": "100.00", "task_usd": str(whole - people), "run_usd": None}
    assert people and "a" not in Projection(plan(budgets=enough), PRICES).summary(slots)["budget"]["tasks_over"]
    short = {**enough, "task_usd": str(whole - people - Decimal("0.01"))}
    assert "a" in Projection(plan(budgets=short), PRICES).summary(slots)["budget"]["tasks_over"]


def test_usage_ends_at_the_caps_of_a_task() -> None:
    tasks = [task("a", "c", tokens=1000, wall_seconds=20, judge_seconds=10), *protocol()["tasks"][1:]]
    # 1,000 tokens either way, 30 s, half a minute of a person, the run.
    by_hand = Decimal("0.01") + Decimal("0.015") + Decimal("0.003") + Decimal("0.75") + Decimal("0.01")
    assert expected(plan(tasks=tasks), "y") == by_hand


def test_adjudication_is_paid_for() -> None:
    more = plan(adjudication={"rule": "all", "reruns": 3})
    assert expected(more, "noop") - expected(plan(), "noop") == Decimal("0.02")


def test_a_persons_patch_is_paid_once_a_task() -> None:
    human = {"noop": False, "reference": False, "human": True, "human_minutes": "20"}
    made = plan(methods=[method("x"), method("human", baseline=True)], baselines=human)
    projection = Projection(made, PRICES)
    first, second = (projection.run("a", "human", once).usd[1] for once in (True, False))
    assert first - second == Decimal("30.00")


def test_without_prices_units_count_by_the_rate_of_the_fallback() -> None:
    """A run 1, 100 s 5, 40 events 0.004 and 500,000 bytes 0.05 units, a thousand of them to the dollar."""
    assert expected(plan(), "noop", None) == Decimal("0.006054")


def test_sums_and_envelopes() -> None:
    made = plan(budgets={"pilot_usd": "20.00", "task_usd": "3.00", "run_usd": None})
    slots = randomise(design_of(made))
    summary = Projection(made, PRICES).summary(slots)
    # Twelve runs each of x (0.79), y (1.82) and the baseline (0.02).
    assert summary["usd"]["expected"] == "31.56"
    assert summary["by_method"]["y"]["expected"] == "21.84"
    assert summary["by_stage"]["one"]["expected"] == "5.26"
    assert summary["by_part"] == {"execution": "0.84", "human": "18.00", "model": "12.36", "overhead": "0.36"}
    assert summary["budget"]["fits"] == {"low": True, "expected": False, "high": False}
    assert summary["budget"]["tasks_over"] == ["a", "b", "d", "e"]


def test_what_it_was_made_from_is_written_down() -> None:
    declared, usual = inputs(plan(), PRICES), inputs(protocol(), None)
    assert (declared["usage"], declared["usage_is"]) == (
        {**USAGE, "tokens_cached": 0},
        "declared by the pilot",
    )
    assert (usual["usage_is"], usual["prices"]["units_per_usd"]) == ("assumed by this program", "1000.00")
    assert ["llm_input", "token", "0.00001", "large"] in declared["prices"]["rows"]


def broken(name: str, blocks: list[BlockCost]) -> list[BlockCost]:
    """Running totals with one fault."""
    first, *rest = blocks
    if name == "no cost is below nothing":
        return [replace(first, usd=(Decimal(-1), Decimal(1), Decimal(2))), *rest]
    if name == "low, expected and high are in order":
        return [replace(first, usd=tuple(reversed(first.usd))), *rest]
    return [first, *rest[:-1]]


@pytest.mark.parametrize(
    "name", ["no cost is below nothing", "low, expected and high are in order", "the curve ends at the whole"]
)
def test_each_check_of_money_can_fail(name: str) -> None:
    made = plan()
    slots = randomise(design_of(made))
    projection = Projection(made, PRICES)
    blocks = projection.blocks(slots)
    assert all(check.held for check in money(projection, slots, blocks))
    assert [check.name for check in money(projection, slots, broken(name, blocks)) if not check.held] == [name]


class Leaky(Projection):
    """A projection that forgets a stage."""

    def _sums(self, slots: Any, field: str) -> dict[str, tuple[Decimal, ...]]:
        kept: list[Slot] = [slot for slot in slots if field != "stage" or slot.stage != "two"]
        return super()._sums(kept, field)


def test_parts_that_do_not_add_up_are_noticed() -> None:
    made = plan()
    slots = randomise(design_of(made))
    projection = Leaky(made, PRICES)
    found = {check.name: check for check in money(projection, slots, projection.blocks(slots))}
    assert not found["parts add up to the whole"].held
    assert found["parts add up to the whole"].seen == "by_stage"


def test_a_cost_that_falls_is_noticed() -> None:
    made = plan()
    blocks = Projection(made, PRICES).blocks(randomise(design_of(made)))
    question = question_of(made)
    assert all(check.held for check in monotonicity(question, blocks))
    fallen = [check.name for check in monotonicity(question, list(reversed(blocks))) if not check.held]
    assert fallen == ["cost never falls with more runs"]
