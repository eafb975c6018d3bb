"""Price classes of tokens: what falls back to what, and that no token is lost or counted twice."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.monitor.budget import OF_A_MODEL
from proctor.execute.monitor.price_table import (
    INPUT,
    METERS,
    OUTPUT,
    PART_OF,
    UNITS,
    TokenCounts,
    by_meter,
    load_prices,
    meters_of,
    unit_prices,
)

HEAD = "action_type,unit,unit_price,model\n"
EVERY = TokenCounts(1000, 100, cached_tokens=600, reasoning_tokens=40, cache_write_tokens=300, cache_write_1h_tokens=50)


def quantities(rows: str, counts: TokenCounts, model: str = "m") -> dict[str, int]:
    found = by_meter(counts, meters_of(load_prices(f"{HEAD}{rows}".encode()), model))
    return {meter: quantity for meter, quantity in found.items() if meter not in ("requests", "tokens")}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("", {"input_tokens": 1000, "output_tokens": 100}),
        ("llm_input,token,1,\nllm_output,token,1,\n", {"input_tokens": 1000, "output_tokens": 100}),
        ("llm_cached_input,token,1,\n", {"input_tokens": 400, "cached_tokens": 600, "output_tokens": 100}),
        ("llm_cache_write,token,1,\n", {"input_tokens": 700, "cache_write_tokens": 300, "output_tokens": 100}),
        ("llm_cache_write_1h,token,1,\n", {"input_tokens": 950, "cache_write_1h_tokens": 50, "output_tokens": 100}),
        ("llm_reasoning,token,1,\n", {"input_tokens": 1000, "output_tokens": 60, "reasoning_tokens": 40}),
        # A price for every model holds for one of them; that of another model does not.
        (
            "llm_cached_input,token,1,other\nllm_input,token,9,\nllm_output,token,9,\n",
            {"input_tokens": 1000, "output_tokens": 100},
        ),
        # The model's own input price goes before a general price of a class.
        (
            "llm_input,token,9,m\nllm_cached_input,token,1,\nllm_cache_write,token,1,\nllm_cache_write_1h,token,1,\n",
            {"input_tokens": 1000, "output_tokens": 100},
        ),
        (
            "llm_input,token,9,m\nllm_cache_write,token,9,m\nllm_cache_write_1h,token,1,\n",
            {"input_tokens": 700, "cache_write_tokens": 300, "output_tokens": 100},
        ),
    ],
)
def test_a_class_without_a_price_counts_with_what_it_is_a_part_of(rows: str, found: dict[str, int]) -> None:
    assert quantities(rows, EVERY) == found


ALL = "".join(f"{action},token,{place},\n" for place, action in enumerate(METERS, 1))


def test_a_part_that_is_larger_than_its_whole_is_bounded() -> None:
    lie = TokenCounts(100, 10, cached_tokens=70, reasoning_tokens=99, cache_write_tokens=80, cache_write_1h_tokens=90)
    assert quantities(ALL, lie) == {
        "input_tokens": 0,
        "cached_tokens": 70,
        "cache_write_tokens": 0,
        "cache_write_1h_tokens": 30,
        "output_tokens": 0,
        "reasoning_tokens": 10,
    }


COUNTS = st.builds(TokenCounts, *[st.integers(0, 10**9)] * 6)


@given(COUNTS, st.sets(st.sampled_from(sorted(METERS))))
def test_every_token_is_counted_once(counts: TokenCounts, priced: set[str]) -> None:
    found = quantities("".join(f"{action},token,1,\n" for action in sorted(priced)), counts)
    assert sum(found.get(METERS[action], 0) for action in INPUT) == counts.input_tokens
    assert sum(found.get(METERS[action], 0) for action in OUTPUT) == counts.output_tokens
    assert all(quantity >= 0 for quantity in found.values())


def test_every_class_can_be_priced() -> None:
    assert (*INPUT, *OUTPUT) == tuple(METERS)
    assert {*METERS} <= {*UNITS} and {*PART_OF} == {*METERS} - {"llm_input", "llm_output"}
    prices = unit_prices(load_prices(f"{HEAD}{ALL}llm_request,token,5,\nllm_request,call,6,\n".encode()), "m")
    assert [prices[meter] for meter in OF_A_MODEL] == [Decimal(value) for value in (6, 5, 1, 2, 3, 4, 5, 6)]
