"""Envelopes: what binds, and that a cap is never passed by more than one step."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, envelopes_of
from proctor.execute.monitor.breakers.breaker_settings import Caps, Settings, Thresholds
from proctor.execute.monitor.budget import Envelope, admits, make_envelopes, standing
from proctor.execute.monitor.price_table import load_prices

THRESHOLDS = Thresholds()


def test_headroom_is_kept_back_for_acceptance() -> None:
    (envelope,) = make_envelopes(THRESHOLDS, Decimal("5.00"))
    assert (envelope.limit, envelope.throttle_at) == (Decimal("4.5"), Decimal("3.6"))


@pytest.mark.parametrize(
    ("spent", "level"),
    [("0", "go"), ("3.59", "go"), ("3.60", "throttle"), ("4.49", "throttle"), ("4.50", "stop"), ("99", "stop")],
)
def test_slow_down_then_stop(spent: str, level: str) -> None:
    found = standing(make_envelopes(THRESHOLDS, Decimal("5.00")), Decimal(spent))
    assert found is not None and found.level == level


def test_the_envelope_with_the_least_left_binds() -> None:
    envelopes = make_envelopes(
        THRESHOLDS,
        Decimal(5),
        task_cap=Decimal(20),
        task_spent=Decimal("17.5"),
        batch_cap=Decimal(100),
        batch_spent=Decimal(10),
    )
    found = standing(envelopes, Decimal("1.99"))
    assert found is not None and (found.scope, found.limit, found.level) == ("task", Decimal("2.0"), "throttle")
    found = standing(envelopes, Decimal("2"))
    assert found is not None and (found.scope, found.level) == ("task", "stop")


def test_an_envelope_that_is_used_up_stops_the_first_step() -> None:
    envelopes = make_envelopes(THRESHOLDS, Decimal(5), batch_cap=Decimal(10), batch_spent=Decimal(11))
    assert standing(envelopes, Decimal(0)).level == "go"  # type: ignore[union-attr]
    assert standing(envelopes, Decimal("0.01")).level == "stop"  # type: ignore[union-attr]


def test_without_a_cap_nothing_binds() -> None:
    assert make_envelopes(THRESHOLDS, None) == () and standing((), Decimal(10)) is None
    assert admits((), Decimal(0), Decimal(10**9))


def test_a_cap_in_dollars_is_one_in_units_under_the_fallback() -> None:
    units, money = envelopes_of(Settings(caps=Caps(usd="5.00")))
    assert (units[0].cap, money[0].cap) == (Decimal("5000.00"), Decimal("5.00"))


AMOUNTS = st.decimals(min_value=0, max_value=3, places=6)


@given(st.lists(AMOUNTS, max_size=40), st.decimals(min_value="0.01", max_value=10, places=2))
def test_a_cap_is_never_passed_by_more_than_one_step(steps: list[Decimal], cap: Decimal) -> None:
    (envelope,) = make_envelopes(THRESHOLDS, cap)
    spent = Decimal(0)
    for step in steps:
        spent += step
        assert spent - step < envelope.limit or spent == step == 0
        found = standing((envelope,), spent)
        if found is not None and found.level == "stop":
            assert spent - step < envelope.limit <= spent
            break
    else:
        assert spent < envelope.limit or spent == 0


@given(st.lists(AMOUNTS, max_size=40), st.decimals(min_value=0, max_value=10, places=2))
def test_with_admission_a_cap_is_not_passed_at_all(steps: list[Decimal], cap: Decimal) -> None:
    envelopes = (Envelope("run", cap),)
    spent = Decimal(0)
    for step in steps:
        if admits(envelopes, spent, step):
            spent += step
    assert spent <= cap


def test_an_agent_that_spends_as_fast_as_it_can_passes_its_part_by_one_step(new_story: Any) -> None:
    table = load_prices(b"action_type,unit,unit_price\nllm_output,token,0.00001\n")
    story = new_story(Settings(caps=Caps(usd="5.00", wall_seconds=None), prices=table)).start().write()
    panel: BreakerPanel = story.panel
    steps = 0
    while panel.ended is None:
        story.usage(0, 7_000)
        steps += 1
    spent = panel.facts.ledger.projected
    step = Decimal("0.07")
    assert Decimal("4.5") <= spent < Decimal("4.5") + step <= Decimal(5)
    assert panel.ended.code == "cost-cap" and panel.ended.action == "kill"
    assert [trip.action for trip in story.trips].count("throttle") >= 2
    delays = [Decimal(trip.signals["delay_seconds"]) for trip in story.trips if trip.action == "throttle"]
    assert delays == sorted(delays) and len(set(delays)) == len(delays), "each delay is longer than the last"
