"""The cost cap: what is held against which envelope, when it slows down, when it ends, and what it says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.cost_limit import CostCap
from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.budget import Envelope
from proctor.execute.monitor.price_table import Price, PriceTable

DOLLARS = PriceTable("table-1", "usd", (Price("llm_input", "token", Decimal("0.001")),))
UNITS = PriceTable("table-2", "units", (Price("llm_input", "token", Decimal(1)),))


def envelope(cap: str, scope: str = "run") -> Envelope:
    """A tenth is kept back, and slowing down begins at eight tenths of the rest."""
    return Envelope(scope, Decimal(cap), Decimal(cap) / 10, Decimal("0.8"))


def cost_trip(
    action: str, amounts: tuple[str, str, str], seq: int, delay: str = "", currency: str = "usd", method: str = ""
) -> Trip:
    spent, limit, cap = amounts
    signals = {
        "scope": "run",
        "currency": currency,
        "spent": spent,
        "limit": limit,
        "cap": cap,
        "method": method or DOLLARS.id,
        **({"delay_seconds": delay} if delay else {}),
    }
    rationale = (
        f"the run has {'reached' if action == 'kill' else 'come near'} what it may spend: {spent} of {limit} "
        f"{currency}, with the rest of {cap} (a policy choice) kept for acceptance"
    )
    return Trip("cost", "cost-cap", action, "alert", rationale, (seq,), signals)


@pytest.fixture
def dollars(alone: Any) -> Any:
    run = (envelope("1"),)
    return alone(lambda facts: CostCap(facts, run, run, Thresholds()), DOLLARS)


@pytest.fixture
def units(alone: Any) -> Any:
    return alone(lambda facts: CostCap(facts, (envelope("1000"),), (envelope("1"),), Thresholds()), UNITS)


def test_it_slows_down_at_each_further_step_and_ends_once(dollars: Any) -> None:
    assert dollars.usage(719).new() == []
    assert dollars.usage(1).new() == [cost_trip("throttle", ("0.72", "0.90", "1.00"), 3, "0.5")]
    assert dollars.usage(44).new() == []
    seq = len(dollars.events)
    assert dollars.usage(1).new() == [cost_trip("throttle", ("0.765", "0.90", "1.00"), seq, "1.0")]
    assert dollars.usage(44).new() == []
    seq = len(dollars.events)
    assert dollars.usage(91).new() == [cost_trip("kill", ("0.90", "0.90", "1.00"), seq)]
    assert dollars.usage(500).new() == []


def test_delays_start_anew_after_a_calm_time(dollars: Any) -> None:
    dollars.at(10).usage(720)
    dollars.at(69).usage(45)
    dollars.at(129).usage(45)
    assert [trip.signals["delay_seconds"] for trip in dollars.new()] == ["0.5", "1.0", "0.5"]


def test_where_the_bill_is_higher_the_bill_counts(dollars: Any) -> None:
    assert dollars.usage(1, usd="0.719").new() == []
    assert dollars.usage(1, usd="0.181").new() == [cost_trip("kill", ("0.90", "0.90", "1.00"), 3)]


def test_where_the_projection_is_higher_the_projection_counts(dollars: Any) -> None:
    assert dollars.usage(900, usd="0.001").new() == [cost_trip("kill", ("0.90", "0.90", "1.00"), 2)]


def test_in_dollars_there_is_one_amount_and_one_set_of_envelopes(alone: Any) -> None:
    story = alone(lambda facts: CostCap(facts, (envelope("1"),), (envelope("0.1"),), Thresholds()), DOLLARS)
    assert story.usage(1, usd="0.50").new() == []
    assert story.usage(730, usd="0.30").new() == [cost_trip("throttle", ("0.80", "0.90", "1.00"), 3, "0.5")]


def test_it_looks_only_while_the_agent_acts(alone: Any) -> None:
    story = alone(lambda facts: CostCap(facts, (envelope("1"),), (), Thresholds()), DOLLARS, start=False)
    assert story.usage(5000).new() == []
    story.start(root=False)
    assert [trip.action for trip in story.new()] == ["kill"]
    late = alone(lambda facts: CostCap(facts, (envelope("1"),), (), Thresholds()), DOLLARS)
    assert late.finish().usage(5000).new() == []


def test_units_are_held_against_units_whatever_was_billed(units: Any) -> None:
    method = UNITS.id
    amounts = ("720.00", "900.00", "1000.00")
    assert units.usage(719, usd="0.10").new() == []
    assert units.usage(1).new() == [cost_trip("throttle", amounts, 3, "0.5", "units", method)]
    seq = len(units.events)
    assert units.usage(180, usd="0.10").new() == [
        cost_trip("kill", ("900.00", "900.00", "1000.00"), seq, currency="units", method=method)
    ]


def test_dollars_that_were_billed_are_held_against_the_cap_in_dollars_besides(units: Any) -> None:
    method = UNITS.id
    assert units.usage(1, usd="0.71").new() == []
    throttle = cost_trip("throttle", ("0.72", "0.90", "1.00"), 3, "0.5", method=method)
    assert units.usage(1, usd="0.01").new() == [throttle]
    seq = len(units.events)
    assert units.usage(719).new() == [
        cost_trip("throttle", ("721.00", "900.00", "1000.00"), seq, "1.0", "units", method)
    ], "each currency has steps of its own"
    seq = len(units.events)
    assert units.usage(1, usd="0.18").new() == [cost_trip("kill", ("0.90", "0.90", "1.00"), seq, method=method)]


def test_dollars_are_no_units(alone: Any) -> None:
    story = alone(lambda facts: CostCap(facts, (envelope("1"),), (envelope("1000"),), Thresholds()), UNITS)
    assert story.usage(0, 0, usd="5.00").new() == []


def test_without_a_bill_or_a_cap_in_dollars_only_units_count(alone: Any) -> None:
    none_billed = alone(lambda facts: CostCap(facts, (envelope("1000"),), (envelope("0"),), Thresholds()), UNITS)
    assert none_billed.usage(10).new() == []
    no_cap = alone(lambda facts: CostCap(facts, (envelope("1000"),), (), Thresholds()), UNITS)
    assert no_cap.usage(10, usd="99").new() == []
    assert [trip.action for trip in no_cap.usage(720).new()] == ["throttle"]


def test_the_envelope_with_the_least_left_is_named(alone: Any) -> None:
    both = (envelope("2"), envelope("1", "task"))
    story = alone(lambda facts: CostCap(facts, both, both, Thresholds()), DOLLARS)
    (trip,) = story.usage(900).new()
    assert trip.signals["scope"] == "task" and trip.rationale.startswith("the task has reached")
