"""Spend is reserved before a call and settled after it: the cap holds with calls in flight."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.gateway_settings import Caps, Limits
from proctor.execute.gateway.spend_reservation import Meter, TooMuch
from proctor.execute.monitor.price_table import FALLBACK, TokenCounts, load_prices
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, body_of

SPENDS = "  - {say: 'spent', pause_seconds: 0.05, usage: {input: 40, output: 90}}\n"


@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
def test_fifty_at_once_at_the_cap(make_rig: MakeRig, dialect: str) -> None:
    cap = 1000
    rig = make_rig(SPENDS, caps=Caps(tokens=cap), limits=Limits(affordable_seconds=0))
    body = body_of(dialect, max_tokens=100, stream=True)
    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(lambda _: rig.post(PATHS[dialect], body)[0], range(50)))
    reservation = rig.of("model.request")[0]["reserved"]
    assert statuses.count(200) >= 2
    assert statuses.count(403) == 50 - statuses.count(200)
    assert len(rig.of("model.refused")) == statuses.count(403)
    assert rig.meter.tokens == 130 * statuses.count(200)
    assert rig.meter.tokens < cap + reservation["input_tokens"] + reservation["output_tokens"]
    assert rig.meter.tokens <= cap


def test_a_call_waits_for_what_others_will_give_back(make_rig: MakeRig) -> None:
    rig = make_rig(SPENDS, caps=Caps(tokens=660))
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda _: rig.post(PATHS["chat"], body_of("chat", max_tokens=200)), range(4))
        assert sorted(status for status, _ in answers) == [200, 200, 200, 403]
    assert 300 < sum(rig.of("model.request")[0]["reserved"][f"{way}_tokens"] for way in ("input", "output")) < 400
    assert rig.meter.tokens == 390


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_cannot_be_afforded_never_leaves(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig(SPENDS, amount="1.5")
    status, data = rig.post(PATHS[dialect], body_of(dialect))
    assert status == 403
    assert "budget" in json.dumps(json.loads(data))
    assert rig.of("model.request") == []
    assert rig.of("model.refused")[0]["code"] == "budget"


def test_more_choices_reserve_more(make_rig: MakeRig) -> None:
    rig = make_rig(SPENDS)
    rig.post(PATHS["chat"], body_of("chat", max_tokens=100, n=3))
    gemini: dict[str, Any] = body_of("gemini", generationConfig={"maxOutputTokens": 100, "candidateCount": 2})
    rig.post(PATHS["gemini"], gemini)
    assert [one["reserved"]["output_tokens"] for one in rig.of("model.request")] == [300, 200]


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "9", 2**60, [1]])
def test_a_maximum_that_is_none_is_refused(make_rig: MakeRig, value: Any) -> None:
    rig = make_rig(SPENDS)
    assert rig.post(PATHS["chat"], body_of("chat", max_tokens=value))[0] == 400
    assert rig.post(PATHS["gemini"], body_of("gemini", generationConfig={"maxOutputTokens": value}))[0] == 400
    assert [one["code"] for one in rig.of("model.refused")] == ["malformed", "malformed"]


def test_a_key_given_twice_means_one_thing(make_rig: MakeRig) -> None:
    rig = make_rig(SPENDS)
    twice = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"max_tokens":500}'
    assert rig.post(PATHS["chat"], twice)[0] == 200
    assert rig.of("model.request")[0]["reserved"]["output_tokens"] == 500
    assert rig.of("model.request")[0]["forwarded"]["bytes"] < len(twice)


def test_prices_of_a_model_hold_for_that_model() -> None:
    rows = "action_type,unit,unit_price,model\nllm_input,token,0.001,\nllm_output,token,0.01,\n"
    meter = Meter(load_prices(f"{rows}llm_output,token,0.02,big\n".encode()))
    assert meter.price("small", TokenCounts(10, 10)) == Decimal("0.110")
    assert meter.price("big", TokenCounts(10, 10)) == Decimal("0.210")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 400), st.integers(1, 300), st.integers(0, 300))))
def test_no_order_of_calls_passes_a_cap(steps: list[tuple[bool, int, int, int]]) -> None:
    caps = Caps(amount=Decimal(30), tokens=2000, requests=9)
    meter = Meter(FALLBACK.table, caps)
    in_flight: list[int] = []
    for begins, size, output, used in steps:
        if begins or not in_flight:
            got = meter.reserve("m", size, output)
            if not isinstance(got, TooMuch):
                in_flight.append(got)
        else:
            held = meter.reserved(in_flight[0])
            counts = TokenCounts(min(size, held.input_tokens), min(used, held.output_tokens))
            meter.settle(in_flight.pop(0), counts)
        assert meter.amount <= Decimal(30)
        assert meter.tokens <= 2000
        assert meter.requests + len(in_flight) <= 9
        assert meter.over == 0
