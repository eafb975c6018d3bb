"""Which rows of a price table hold for a model and a tier, and that no call under a table is free by mistake."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.breakers.breaker_settings import Settings, record_of_settings, settings_from
from proctor.execute.monitor.price_table import BadPrices, Price, PriceTable, TokenCounts, load_prices
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event

HEAD = "action_type,unit,unit_price,model,tier\n"


def table_of(*rows: str) -> PriceTable:
    return load_prices((HEAD + "\n".join(rows) + "\n").encode())


TWO = table_of(
    "llm_input,token,1,gpt-x,",
    "llm_output,token,4,gpt-x,",
    "llm_input,token,2,gpt-y-2025-01-01,",
    "llm_output,token,3,gpt-y-2025-01-01,",
    "llm_input,token,0.5,gpt-x,batch",
    "llm_output,token,2,gpt-x,batch",
    "llm_input,token,2,gpt-x,priority",
    "llm_output,token,8,gpt-x,priority",
)


def costs(table: PriceTable, model: str, counts: TokenCounts, tier: str = "") -> Decimal:
    """What one call costs, by the meter and by the ledger alike."""
    by_meter = Meter(table).price(model, counts, tier)
    facts = RunState(table)
    payload = {"model": model, "tier": tier, "usd": None, **vars(counts)}
    facts.see(Event(0, "1", "model.usage", "monitor", payload, "", ""))
    assert facts.ledger.projected == by_meter
    return by_meter


ONE_EACH = TokenCounts(1, 1)


@pytest.mark.parametrize(
    ("model", "tier", "amount", "known"),
    [
        ("gpt-x", "", "5", True),
        ("gpt-x-2026-01-01", "", "5", True),
        ("openai/gpt-x", "", "5", True),
        ("gpt-y", "", "5", True),
        ("gpt-y-2026-03-03", "", "5", True),
        ("gpt-x", "batch", "2.5", True),
        ("gpt-x-2026-01-01", "batch", "2.5", True),
        ("gpt-x", "flex", "10", False),  # the dearest tier
        ("gpt-y", "batch", "5", False),
        ("gpt-z", "", "10", False),  # 2 for input of priority, 8 for output of priority
        ("gpt-x-mini", "", "10", False),
    ],
)
def test_the_row_that_holds(model: str, tier: str, amount: str, known: bool) -> None:
    assert costs(TWO, model, ONE_EACH, tier) == Decimal(amount)
    assert TWO.knows(model, tier) is known


@pytest.mark.parametrize(
    ("rows", "covered"),
    [
        (["llm_input,token,1,,", "llm_output,token,1,,"], True),
        (["llm_request,request,1,m,"], True),
        (["llm_input,token,1,m,", "llm_output,token,1,,"], True),
        (["llm_input,token,1,m,"], False),
        (["llm_input,token,1,other,", "llm_output,token,1,other,"], False),
        (["tool_call,call,1,,"], False),
    ],
)
def test_what_covers_a_model(rows: list[str], covered: bool) -> None:
    assert table_of(*rows).covers("m") is covered


def test_ordinary_tiers_have_no_name() -> None:
    rows = ("llm_input,token,1,m,default", "llm_output,token,1,m,standard")
    assert [price.tier for price in table_of(*rows).prices] == ["", ""]
    with pytest.raises(BadPrices, match="has a price in line 2 already"):
        table_of("llm_input,token,1,m,", "llm_input,token,2,m,auto")
    with pytest.raises(BadPrices, match="tool_call has no tiers"):
        table_of("tool_call,call,1,,batch")


def test_a_part_without_a_price_in_a_tier_costs_what_the_whole_costs_there() -> None:
    ordinary = ("llm_input,token,10,m,", "llm_cached_input,token,1,m,", "llm_output,token,1,m,")
    table = table_of(*ordinary, "llm_input,token,20,m,fast")
    assert costs(table, "m", TokenCounts(100, 0, cached_tokens=100)) == 100
    assert costs(table, "m", TokenCounts(100, 0, cached_tokens=100), "fast") == 2000


def test_records_of_earlier_versions_keep_their_meaning() -> None:
    record = record_of_settings(Settings(prices=TWO))
    assert settings_from(record).prices == TWO
    del record["prices"]["names"]
    record["prices"]["rows"] = [row[:5] for row in record["prices"]["rows"][:4]]
    old = settings_from(record).prices
    assert old is not None and old.by_exact_name
    assert costs(old, "gpt-x", ONE_EACH) == 5
    assert costs(old, "gpt-x-2026-01-01", ONE_EACH) == 0


def test_an_answer_of_a_dearer_model_costs_that_and_of_a_cheaper_one_what_was_asked_for() -> None:
    cheap, dear = (f"llm_input,token,{price},{name},\nllm_output,token,{price},{name}," for price, name in ("1a", "9b"))
    meter = Meter(table_of(cheap, dear))
    assert meter.charged_as("a", "b", ONE_EACH, "") == "b"
    assert meter.charged_as("b", "a", ONE_EACH, "") == "b"
    assert meter.charged_as("a", "a-2026-01-01", ONE_EACH, "") == "a"
    assert meter.charged_as("a", "unheard-of", ONE_EACH, "") == "a"


ACTIONS = ("llm_request", "llm_input", "llm_cached_input", "llm_cache_write", "llm_output", "llm_reasoning")
NAMES = st.sampled_from(["m", "m-2026-01-01", "n", "n-mini", "p/m"])
PRICES = st.decimals(min_value="0.000001", max_value=1000, places=6)
TIERS = st.sampled_from(["", "batch", "priority"])
KEYS = st.tuples(st.sampled_from(ACTIONS), NAMES | st.just(""), TIERS)
ROWS = st.dictionaries(KEYS, PRICES, max_size=12)


@given(ROWS, PRICES, PRICES, NAMES, NAMES | st.text(max_size=20), TIERS | st.just("unheard-of"), st.data())
def test_no_call_is_free_under_a_table_with_prices(
    rows: dict[tuple[str, str, str], Decimal],
    came: Decimal,
    went: Decimal,
    listed: str,
    model: str,
    tier: str,
    data: st.DataObject,
) -> None:
    rows |= {("llm_input", listed, ""): came, ("llm_output", listed, ""): went}
    table = PriceTable("t", "usd", tuple(Price(key[0], "token", one, key[1], "", key[2]) for key, one in rows.items()))
    counts = data.draw(st.builds(TokenCounts, *[st.integers(0, 1000)] * 6))
    counts = replace(counts, input_tokens=counts.input_tokens + 1)
    amount = costs(table, model or "x", counts, tier)
    assert amount > 0
    assert amount <= Meter(table).most(model or "x", counts.input_tokens, counts.output_tokens)


@given(ROWS, NAMES, st.builds(TokenCounts, *[st.integers(1, 1000)] * 6))
def test_an_unknown_model_costs_no_less_than_any_known_one(
    rows: dict[tuple[str, str, str], Decimal], known: str, counts: TokenCounts
) -> None:
    named = {key: price for key, price in rows.items() if key[1] and key[0] != "llm_request"}
    table = PriceTable("t", "usd", tuple(Price(key[0], "token", one, key[1], "", key[2]) for key, one in named.items()))
    assert costs(table, "unheard-of", counts) >= costs(table, known, counts)
