"""Price tables: what is read, what is refused with its line, and that no digit is lost."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import sha256
from proctor.execute.monitor.budget import _ACTIONS
from proctor.execute.monitor.price_table import FALLBACK, UNITS, BadPrices, Price, load_prices, schedule_digest

GOOD = b"""action_type,unit,unit_price,notes,model,source
llm_input,token,0.000003,"input, cheap",,list
llm_input,token,0.000015,,large,list

execution,minute,0.002,,,
"""


def test_a_table_with_more_columns_is_read_exactly() -> None:
    table = load_prices(GOOD)
    assert table.id == sha256(GOOD) and table.currency == "usd"
    assert table.prices[0] == Price("llm_input", "token", Decimal("0.000003"), "", "input, cheap")
    assert table.of("llm_input", "large") == (Price("llm_input", "token", Decimal("0.000015"), "large"),)
    assert table.of("llm_input", "small")[0].price == Decimal("0.000003")
    assert table.of("nothing") == ()


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_matter() -> None:
    data = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n")
    assert load_prices(data).prices == load_prices(GOOD).prices


HEAD = b"action_type,unit,unit_price\n"


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 1, "empty"),
        (b"\n\n", 1, "empty"),
        (b"action_type,unit\n", 1, "no column 'unit_price'"),
        (b"action_type,unit,unit_price,unit\n", 1, "two columns 'unit'"),
        (HEAD + b"run,run,-1\n", 2, "unit_price is not a price: '-1'"),
        (HEAD + b"run,run,1\nexecution,second,\n", 3, "unit_price is not a price: ''"),
        (HEAD + b"run,run,NaN\n", 2, "unit_price is not a price: 'NaN'"),
        (HEAD + b"run,run,Infinity\n", 2, "unit_price is not a price: 'Infinity'"),
        (HEAD + b"run,run,1e-3\n", 2, "unit_price is not a price: '1e-3'"),
        (HEAD + b'run,run,"1,5"\n', 2, "unit_price is not a price: '1,5'"),
        (HEAD + "run,run,\u0661\n".encode(), 2, "unit_price is not a price"),
        (HEAD + b"run,run," + b"9" * 40 + b"\n", 2, "unit_price is not a price"),
        (HEAD + b",run,1\n", 2, "nothing meters an action_type ''"),
        (HEAD + b"run,,1\n", 2, "run has no unit ''"),
        (HEAD + b"llm_inptu,token,1\n", 2, "nothing meters an action_type 'llm_inptu'"),
        (HEAD + b"llm_output,tokens,1\n", 2, "llm_output has no unit 'tokens' (it has token)"),
        (HEAD + b"run,run,1\n\nrun,run,2\n", 4, "run per run has a price in line 2 already"),
        (HEAD + b"run,run\n", 2, "2 cells under 3 columns"),
        (HEAD + b"run,run,1,2\n", 2, "4 cells under 3 columns"),
        (HEAD + b'run,run,"1\n', 2, "not CSV"),
        (HEAD + b"run,run,\xff\n", 2, "not UTF-8 text"),
        (HEAD + b"run,run,1\nrun\0,run,1\n", 3, "a null character"),
    ],
)
def test_a_bad_table_gets_one_message_with_its_line(data: bytes, line: int, message: str) -> None:
    with pytest.raises(BadPrices) as caught:
        load_prices(data, "my.csv")
    assert caught.value.exit_code == 2
    assert caught.value.where == f"my.csv:{line}"
    assert caught.value.message.startswith(message)


def test_every_mistake_is_told_at_once() -> None:
    with pytest.raises(BadPrices) as caught:
        load_prices(HEAD + b"execution,fortnight,0.1\ntool_cal,call,-1\nllm_input,token,1\n", "my.csv")
    assert str(caught.value).splitlines() == [
        "my.csv:2: execution has no unit 'fortnight' (it has second, minute, hour)",
        f"my.csv:3: nothing meters an action_type 'tool_cal' (there are {', '.join(UNITS)})",
        "my.csv:3: unit_price is not a price: '-1' (a plain decimal, 0 or more, such as 0.000003)",
    ]
    with pytest.raises(BadPrices, match="no column 'unit'"):
        load_prices(b"action_type,price\n")
    with pytest.raises(BadPrices, match="and 10 more"):
        load_prices(HEAD + b"run,run,x\n" * 30)


def test_what_can_be_priced_is_what_is_metered() -> None:
    assert {action: tuple(units) for action, (_, units) in _ACTIONS.items()} == UNITS


def test_a_cell_over_several_lines_does_not_move_the_lines_after_it() -> None:
    data = b'action_type,unit,unit_price,notes\nrun,run,1,"two\nlines"\nexecution,second,x,\n'
    with pytest.raises(BadPrices) as caught:
        load_prices(data, "my.csv")
    assert caught.value.where == "my.csv:4"


def test_a_table_that_is_too_large_is_refused() -> None:
    with pytest.raises(BadPrices, match="larger than"):
        load_prices(HEAD + b"#" * (1 << 20))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_one_message(data: bytes) -> None:
    for prefix in (b"", HEAD):
        try:
            table = load_prices(prefix + data, "x.csv")
        except BadPrices as error:
            assert error.where.startswith("x.csv")
        else:
            assert all(price.price >= 0 for price in table.prices)


@given(st.decimals(min_value=0, max_value=10**9, places=12))
def test_a_price_keeps_every_digit(price: Decimal) -> None:
    data = HEAD + f"run,run,{price:f}\n".encode()
    assert load_prices(data).prices[0].price == price


def test_the_fallback_schedule_is_named_and_pinned() -> None:
    assert FALLBACK.version == FALLBACK.table.id == "fallback-1"
    assert all(price.price >= 0 for price in FALLBACK.table.prices)
    # A change of a coefficient is a new version: give it one, then change this digest.
    assert schedule_digest(FALLBACK) == "sha256:61fe35fdecf069c0d45e4166438605bf3bb5406da59d2d4bffc7d65ee95d694e"
