"""Drawn values: they follow from the nonce and the place, and look like those of the file that they are drawn for."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.inverted.values import Draw
from tests.judge.inverted.shown import Places

FILE = b"""
def test_report(tmp_path):
    # Orders are sorted by customer.
    assert orders(tmp_path, limit=5) == ['alpha %s', "beta\\n", b'gamma_ray', 'camelCase', 'ab']
"""
OWN = {b"def", b"are", b"sorted", b"customer", b"assert", b"orders", b"limit", b"alpha", b"beta"}
USUAL = {b"value", b"name", b"other", b"first", b"second", b"item", b"result", b"text"}


def test_words_are_those_of_the_file() -> None:
    draw = Draw(b"", FILE)
    assert {draw.word(place) for place in range(500)} == OWN


def test_a_file_with_few_words_has_the_usual_ones_too() -> None:
    assert {Draw(b"", b"alpha beta").word(place) for place in range(500)} == {b"alpha", b"beta", *USUAL}
    seven = b"one two three four five six seven"
    assert {Draw(b"", seven).word(place) for place in range(500)} == {*seven.split(), *USUAL}
    assert {Draw(b"", seven + b" eight").word(place) for place in range(500)} == {*seven.split(), b"eight"}


def test_another_word_is_drawn_than_the_one_to_replace() -> None:
    draw = Draw(b"", b"")
    for place in range(300):
        assert draw.word(place, b"value") != b"value"
        assert draw.word(place, b"VALUE") != b"value"


@given(st.binary(max_size=32), st.integers(0, 2**63))
def test_values_can_be_drawn_again(nonce: bytes, place: int) -> None:
    assert 1 <= Draw(nonce).number(place) <= 97
    assert Draw(nonce).number(place) == Draw(nonce).number(place)
    assert Draw(nonce, FILE).word(place) == Draw(nonce, FILE).word(place)


def test_values_are_those_of_the_digest() -> None:
    # python3 -c "import hashlib; print(list(hashlib.sha256(b'nonce' + bytes(7) + b'\\3').digest()[:7]))"
    # [56, 225, 102, 216, 63, 90, 37]
    draw = Draw(b"nonce")
    assert draw.number(3) == 38
    several = [b"%d" % one for one in range(1_000)]
    assert draw.choice(3, several) == b"%d" % (int.from_bytes(bytes([56, 225, 102, 216, 63, 90])) % 1_000)


def test_every_number_is_drawn_and_another_nonce_or_place_gives_others() -> None:
    assert {Draw(b"").number(place) for place in range(3_000)} == set(range(1, 98))
    several = [b"%d" % one for one in range(10**6)]
    assert len({Draw(nonce).choice(place, several) for nonce in (b"a", b"b") for place in range(50)}) == 100


def others(text: bytes, count: int = 400) -> set[bytes]:
    """All numbers that take the place of ``text``."""
    return {Draw(b"").other_number(text, place) for place in range(count)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"3", rb"[0-24-9]"),
        (b"0", rb"[1-9]"),
        (b"12", rb"[2-9]2|1[013-9]"),
        (b"100", rb"[2-9]00|1[1-9]0"),
        (b"007", rb"00[0-6]"),
        (b"017", rb"0[02-7]7|01[0-6]"),
        (b"0.0", rb"0\.[1-9]"),
        (b"0.05", rb"0\.0[0-46-9]"),
        (b".5", rb"\.[0-46-9]"),
        (b"1.50", rb"[02-9]\.50|1\.[0-46-9]0"),
        (b"0912.5", rb"0[0-8]12\.5|09[02-9]2\.5"),
        (b"1e10", rb"[02-9]e10"),
        (b"2_000", rb"[013-9]_000|2_[1-9]00"),
        (b"10UL", rb"[2-9]0UL|1[1-9]UL"),
        (b"5n", rb"[0-46-9]n"),
        (b"0xF0", rb"0x[0-9a-e]0"),
        (b"0XaB", rb"0X[0-9b-f]B"),
        (b"0b10", rb"0b00"),
        (b"0o17", rb"0o[02-7]7"),
    ],
)
def test_another_number_has_the_same_form(text: bytes, expected: bytes) -> None:
    found = others(text)
    assert text not in found
    assert all(re.fullmatch(expected, one) for one in found), found
    if len(found) < 40:
        every = {text[:at] + b"%x" % digit + text[at + 1 :] for at in range(len(text)) for digit in range(16)}
        assert found == {one for one in every if re.fullmatch(expected, one)}


@given(st.one_of(st.integers(0, 10**9), st.floats(1e-100, 1e6)), st.integers(0, 2**40))
def test_another_number_is_far_from_the_old_one(number: float, place: int) -> None:
    text = repr(number).encode()
    other = ast.literal_eval(Draw(b"").other_number(text, place).decode())
    assert type(other) is type(number)
    assert abs(other - number) >= 0.009 * max(other, number) > 0 or number == 0 != other


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"'alpha'", b"'w40'"),
        (b'"Alpha beta"', b'"W40 beta"'),
        (b"'ALPHA'", b"'W40'"),
        (b"'aLPHA'", b"'w40'"),
        (b"b'one-two'", b"b'w40-two'"),
        (b'r"""one"""', b'r"""w40"""'),
        (b"'''one'''", b"'''w40'''"),
        (b"'ab'", b"'qb'"),
        (b"'B, a'", b"'Q, a'"),
        (b"'a b c'", b"'a q c'"),
        (b"'3'", b"'5'"),
        (b"'>= 12.5'", b"'>= 22.5'"),
        (b"''", b"'w40'"),
        (b'""""""', b'"""w40"""'),
        (b"'\\n\\x41'", b"'w40\\n\\x41'"),
        (b"'%s %d'", b"'w40%s %d'"),
        (b"'%s one'", b"'%s w40'"),
        (b"'\\none'", b"'w40\\none'"),
        (b"'a1b'", b"'q1b'"),
        (b"'...'", b"'w40...'"),
        ("'ö'".encode(), "'w40ö'".encode()),
    ],
)
def test_another_string_has_another_word_letter_or_number(text: bytes, expected: bytes) -> None:
    assert Places().other_string(text, 40) == expected


def test_any_word_of_a_string_can_be_the_other_one() -> None:
    found = {Draw(b"", b"").other_string(b"'one two six'", place) for place in range(200)}
    assert {one.split()[0] for one in found} >= {b"'one", b"'value"}
    assert {one.split()[1] for one in found} >= {b"two", b"value"}
    assert {one.split()[2] for one in found} >= {b"six'", b"value'"}
    assert all(sum(word in one for word in (b"one", b"two", b"six")) == 2 for one in found)


def test_a_letter_can_become_every_other_one() -> None:
    found = {Draw(b"", b"").other_string(b"'A'", place) for place in range(800)}
    assert found == {b"'%c'" % letter for letter in b"BCDEFGHIJKLMNOPQRSTUVWXYZ"}


@pytest.mark.parametrize(
    ("text", "expected"), [(b"'a'", b"'a w7'"), (b"''", b"' w7'"), (b'rb"""a|b"""', b'rb"""a|b w7"""')]
)
def test_a_longer_string_has_a_word_behind_it(text: bytes, expected: bytes) -> None:
    assert Places().longer_string(text, 7) == expected
