"""Texts that spreadsheets would run."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proctor.base.reversible_escapes import escape_cell, unescape_cell

SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


@pytest.mark.parametrize("sign", SIGNS)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(sign: str) -> None:
    assert escape_cell(f"{sign}cmd|' /C calc'!A0") == f"'{sign}cmd|' /C calc'!A0"


@pytest.mark.parametrize("text", ["", "a=b", "-5", "+1.5", "-2e-7", "'", "it's", "'quoted'", " =1", "7"])
def test_numbers_and_other_texts_stay(text: str) -> None:
    assert escape_cell(text) == text
    assert unescape_cell(text) == text


@pytest.mark.parametrize("text", ["-5+cmd|' /C calc'!A0", "--5", "-1.", "+", "-", "=1", "-5\n"])
def test_what_only_looks_like_a_number_is_guarded(text: str) -> None:
    assert escape_cell(text) == f"'{text}"


@given(st.text(alphabet=f"'{SIGNS}a5.", max_size=8))
@example("'=1")
@example("''")
def test_the_text_comes_back(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text
    assert not escape_cell(text).startswith(tuple(SIGNS)) or text.lstrip("+-").replace(".", "").isdigit()
