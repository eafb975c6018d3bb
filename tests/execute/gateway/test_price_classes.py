"""What cached input, cache writes and reasoning cost: by hand, by the meter and by the ledger, to the last digit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.dialects.dialect_routes import DIALECTS
from proctor.execute.gateway.dialects.interface import Usage
from proctor.execute.gateway.gateway_settings import Caps
from proctor.execute.gateway.model_cassette import BadModelCassette, ModelCassette, RecordedCall, dump, load
from proctor.execute.gateway.spend_reservation import Meter, TooMuch
from proctor.execute.monitor.price_table import FALLBACK, METERS, Price, PriceTable, TokenCounts, load_prices
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event
from tests.execute.gateway.answering import answering_provider
from tests.execute.gateway.conftest import PATHS, MakeRig, body_of

TABLE = load_prices(
    b"action_type,unit,unit_price,model\n"
    b"llm_input,token,0.00000125,gpt\n"
    b"llm_cached_input,token,0.000000125,gpt\n"
    b"llm_output,token,0.00001,gpt\n"
    b"llm_input,token,0.00000027,deep\n"
    b"llm_cached_input,token,0.00000007,deep\n"
    b"llm_output,token,0.0000011,deep\n"
    b"llm_reasoning,token,0.0000022,deep\n"
    b"llm_input,token,0.000003,claude\n"
    b"llm_cached_input,token,0.0000003,claude\n"
    b"llm_cache_write,token,0.00000375,claude\n"
    b"llm_cache_write_1h,token,0.000006,claude\n"
    b"llm_output,token,0.000015,claude\n"
    b"llm_input,token,0.00000125,gem\n"
    b"llm_cached_input,token,0.00000031,gem\n"
    b"llm_output,token,0.00001,gem\n"
)

CHAT = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}]}
OUTPUT = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}]
CANDIDATES = [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]

# 1,760 fresh at 1.25 USD a million, 10,240 cached at 0.125, 900 out at 10, reasoning among them.
# 0.0022 + 0.00128 + 0.009
OPENAI = {
    "prompt_tokens": 12000,
    "completion_tokens": 900,
    "total_tokens": 12900,
    "prompt_tokens_details": {"cached_tokens": 10240, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 640, "audio_tokens": 0, "accepted_prediction_tokens": 0},
}
# 480 fresh at 0.27, 11,520 cached at 0.07, 200 out at 1.10, 300 of reasoning at 2.20.
# 0.0001296 + 0.0008064 + 0.00022 + 0.00066
DEEPSEEK = {
    "prompt_tokens": 12000,
    "completion_tokens": 500,
    "total_tokens": 12500,
    "prompt_cache_hit_tokens": 11520,
    "prompt_cache_miss_tokens": 480,
    "completion_tokens_details": {"reasoning_tokens": 300},
}
# 500 fresh at 3, 9,000 cached at 0.30, 2,500 written at 3.75, 400 out at 15.
# 0.0015 + 0.0027 + 0.009375 + 0.006
OPENROUTER = {
    "prompt_tokens": 12000,
    "completion_tokens": 400,
    "total_tokens": 12400,
    "cost": 0.0196,
    "prompt_tokens_details": {"cached_tokens": 9000, "cache_write_tokens": 2500},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
# 12,000 fresh at 1.25, 6 and 894 of reasoning out at 10. The completion leaves reasoning out, the total does not.
# 0.015 + 0.009
XAI = {
    "prompt_tokens": 12000,
    "completion_tokens": 6,
    "total_tokens": 12900,
    "completion_tokens_details": {"reasoning_tokens": 894},
}
# 3,808 fresh at 1.25, 8,192 cached at 0.125, 1,200 out at 10, reasoning among them.
# 0.00476 + 0.001024 + 0.012
RESPONSES = {
    "input_tokens": 12000,
    "input_tokens_details": {"cached_tokens": 8192},
    "output_tokens": 1200,
    "output_tokens_details": {"reasoning_tokens": 1024},
    "total_tokens": 13200,
}
# 500 fresh at 3, 9,000 read at 0.30, 1,500 written for five minutes at 3.75 and 1,000 for an hour at 6, 400 out at 15.
# 0.0015 + 0.0027 + 0.005625 + 0.006 + 0.006
ANTHROPIC = {
    "input_tokens": 500,
    "cache_read_input_tokens": 9000,
    "cache_creation_input_tokens": 2500,
    "cache_creation": {"ephemeral_5m_input_tokens": 1500, "ephemeral_1h_input_tokens": 1000},
    "output_tokens": 400,
    "service_tier": "standard",
}
# 4,000 fresh at 1.25, 8,000 cached at 0.31, 300 out and 700 of thoughts at 10.
# 0.005 + 0.00248 + 0.01
GEMINI = {
    "promptTokenCount": 12000,
    "cachedContentTokenCount": 8000,
    "candidatesTokenCount": 300,
    "thoughtsTokenCount": 700,
    "totalTokenCount": 13000,
}

CASES: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("chat", "gpt", {**CHAT, "usage": OPENAI}, "0.01248"),
    ("chat", "deep", {**CHAT, "usage": DEEPSEEK}, "0.001816"),
    ("chat", "claude", {**CHAT, "usage": OPENROUTER}, "0.019575"),
    ("chat", "gpt", {**CHAT, "usage": XAI}, "0.024"),
    ("responses", "gpt", {"status": "completed", "output": OUTPUT, "usage": RESPONSES}, "0.017784"),
    (
        *("anthropic", "claude"),
        {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "usage": ANTHROPIC},
        "0.021825",
    ),
    ("gemini", "gem", {"candidates": CANDIDATES, "usageMetadata": GEMINI}, "0.01748"),
)


def ledger_amount(table: PriceTable, usages: list[dict[str, Any]]) -> Decimal:
    facts = RunState(table)
    for seq, payload in enumerate(usages):
        facts.see(Event(seq, "1", "model.usage", "monitor", payload, "", ""))
    return facts.ledger.projected


def asked(dialect: str, model: str) -> tuple[str, dict[str, Any]]:
    """A path and a request that is long enough for the counts above."""
    body = body_of(dialect, "word " * 4000)
    return PATHS[dialect].replace("/m:", f"/{model}:"), body if dialect == "gemini" else {**body, "model": model}


def test_calls_of_four_dialects_cost_what_they_cost_by_hand(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url, table=TABLE, cassette="record")
        total = Decimal(0)
        for dialect, model, answer, amount in CASES:
            provider.answer = answer
            before = rig.meter.amount
            assert rig.post(*asked(dialect, model))[0] == 200
            (usage,) = rig.of("model.usage")[-1:]
            assert usage["estimated"] is False
            assert rig.meter.amount - before == Decimal(amount), (dialect, model)
            assert ledger_amount(TABLE, [usage]) == Decimal(amount)
            total += Decimal(amount)
        usages = rig.of("model.usage")
        assert total == Decimal("0.11496") == rig.meter.amount == ledger_amount(TABLE, usages)
        # Without prices for classes, all input costs what input costs.
        whole = PriceTable("t", "usd", tuple(one for one in TABLE.prices if one.action in ("llm_input", "llm_output")))
        assert ledger_amount(whole, usages[:1]) == Decimal("0.015") + Decimal("0.009")
        tape = rig.stop().cassette
    again = make_rig(table=TABLE, cassette="replay", tape=tape)
    for dialect, model, _, _ in CASES:
        assert again.post(*asked(dialect, model))[0] == 200
    assert again.meter.amount == Decimal("0.11496")


TIERS = load_prices(
    b"action_type,unit,unit_price,model,tier\n"
    b"llm_input,token,0.000001,m,\n"
    b"llm_cached_input,token,0.0000001,m,\n"
    b"llm_output,token,0.00001,m,\n"
    b"llm_input,token,0.000002,m,priority\n"
    b"llm_output,token,0.00002,m,priority\n"
    b"llm_input,token,0.000003,dear,\n"
    b"llm_output,token,0.00003,dear,\n"
)
FROM_CHAT = {**CHAT, "model": "m-2026-01-01", "usage": {"prompt_tokens": 12000, "completion_tokens": 900}}
FROM_RESPONSES = {
    "status": "completed",
    "output": OUTPUT,
    "usage": {"input_tokens": 12000, "output_tokens": 900, "input_tokens_details": {"cached_tokens": 2000}},
}
FROM_ANTHROPIC = {
    "content": [{"type": "text", "text": "Yes."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 12000, "output_tokens": 900, "service_tier": "priority"},
}
ORDINARY = Decimal("0.000001") * 12000 + Decimal("0.00001") * 900
PRIORITY = Decimal("0.000002") * 12000 + Decimal("0.00002") * 900
DEAR = Decimal("0.000003") * 12000 + Decimal("0.00003") * 900
TIER_CASES: tuple[tuple[str, dict[str, Any], Decimal, bool], ...] = (
    ("chat", FROM_CHAT, ORDINARY, False),
    ("chat", {**FROM_CHAT, "service_tier": "default"}, ORDINARY, False),
    ("chat", {**FROM_CHAT, "service_tier": "priority"}, PRIORITY, False),
    # A cached token of a tier without a price for it costs what input costs in that tier.
    ("responses", {**FROM_RESPONSES, "service_tier": "priority"}, PRIORITY, False),
    ("anthropic", FROM_ANTHROPIC, PRIORITY, False),
    # A tier that the table does not name costs what the dearest one does.
    ("chat", {**FROM_CHAT, "service_tier": "turbo"}, PRIORITY, True),
    # Another model answers: the dearer of both prices, and the one of the request where the other is not known.
    ("chat", {**FROM_CHAT, "model": "dear"}, DEAR, True),
    ("chat", {**FROM_CHAT, "model": "nobody-knows"}, ORDINARY, False),
)


def test_the_tier_and_the_model_of_the_answer_decide_the_price(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url, table=TIERS, cassette="record")
        for dialect, answer, amount, estimated in TIER_CASES:
            provider.answer = answer
            before = rig.meter.amount
            assert rig.post(*asked(dialect, "m"))[0] == 200
            (usage,) = rig.of("model.usage")[-1:]
            assert rig.meter.amount - before == amount == ledger_amount(TIERS, [usage]), answer
            assert usage["estimated"] is estimated
        tape = rig.stop().cassette
    again = make_rig(table=TIERS, cassette="replay", tape=tape)
    for dialect, _, _, _ in TIER_CASES:
        assert again.post(*asked(dialect, "m"))[0] == 200
    assert again.meter.amount == sum(amount for _, _, amount, _ in TIER_CASES)


def test_a_model_without_prices_costs_the_dearest_ones_as_an_estimate(make_rig: MakeRig) -> None:
    with answering_provider() as (url, provider):
        rig = make_rig(url=url, table=TIERS)
        provider.answer = FROM_CHAT
        assert rig.post(*asked("chat", "small"))[0] == 200
        (usage,) = rig.of("model.usage")
        assert rig.meter.amount == DEAR == ledger_amount(TIERS, [usage]) and usage["estimated"] is True


def test_a_cassette_of_schema_1_still_loads() -> None:
    new = RecordedCall("chat", "/v1/chat/completions", b"{}", 200, (), (), Usage(12, 3, 9, 2, 1, 1), False)
    data = dump(ModelCassette((new,)))
    old = data.replace(b'"schema":2', b'"schema":1').replace(b"[12,3,9,2,1,1]", b"[12,3,9]")
    assert load(data).calls == (new,)
    assert load(old).calls[0].usage == Usage(12, 3, 9)
    for counts in (b"[]", b"[12,3]", b"[12,3,9,2,1,1,7]"):
        with pytest.raises(BadModelCassette):
            load(data.replace(b"[12,3,9,2,1,1]", counts))


@pytest.mark.parametrize("absent", [{}, {"input_tokens": None, "cache_read_input_tokens": None}])
def test_a_stream_counts_the_same_classes(absent: dict[str, Any]) -> None:
    collector = DIALECTS["anthropic"].collector([])
    collector.feed({"type": "message_start", "message": {"usage": {**ANTHROPIC, "output_tokens": 1}}})
    last = {"output_tokens": 400, **absent}
    collector.feed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last})
    assert collector.answered().usage == Usage(12000, 400, 9000, 0, 2500, 1000)


ACTIONS = ("llm_request", *METERS)
PRICES = st.decimals(min_value=0, max_value=10**6, places=18)
ROWS = st.dictionaries(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(["", "a", "b"])), PRICES, max_size=14)
TABLES = ROWS.map(
    lambda rows: PriceTable(
        "t", "usd", tuple(Price(action, "token", price, model) for (action, model), price in rows.items())
    )
)
COUNTS = st.builds(TokenCounts, *[st.integers(0, 10**9)] * 6)
CALLS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), COUNTS), max_size=8)


def payload_of(model: str, counts: TokenCounts) -> dict[str, Any]:
    return {"model": model, "usd": None, **vars(counts)}


@given(TABLES, CALLS)
def test_meter_and_ledger_agree_to_the_last_digit(table: PriceTable, calls: list[tuple[str, TokenCounts]]) -> None:
    meter = Meter(table)
    for model, counts in calls:
        number = meter.reserve(model, counts.input_tokens, counts.output_tokens)
        assert not isinstance(number, TooMuch)
        assert meter.price(model, counts) <= meter.reserved(number).amount
        meter.settle(number, counts)
    assert meter.amount == ledger_amount(table, [payload_of(model, counts) for model, counts in calls])


@given(CALLS)
def test_without_prices_for_classes_the_counts_of_classes_change_nothing(calls: list[tuple[str, TokenCounts]]) -> None:
    plain = [{**payload_of(model, TokenCounts(one.input_tokens, one.output_tokens))} for model, one in calls]
    full = [payload_of(model, counts) for model, counts in calls]
    assert ledger_amount(FALLBACK.table, plain) == ledger_amount(FALLBACK.table, full)


@pytest.mark.parametrize(("cap", "fits"), [("0.0899", False), ("0.09", True)])
def test_a_cap_is_reserved_at_the_price_of_a_cache_write(cap: str, fits: bool) -> None:
    # 10,000 tokens in, each at most 6 USD a million (an hour's write), 2,000 out at 15.
    meter = Meter(TABLE, Caps(Decimal(cap)))
    got = meter.reserve("claude", 10_000, 2000)
    assert isinstance(got, int) is fits
    assert meter.affordable("claude", 10_000) == (2000 if fits else 1993)
    if isinstance(got, int):
        meter.settle(got, TokenCounts(10_000, 2000, cache_write_tokens=10_000, cache_write_1h_tokens=10_000))
        assert meter.amount == Decimal(cap) and meter.over == 0
