"""Drawn values: they follow from the nonce and the place, and look like those of the file that they are drawn for."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.checks.inverted_tests.assertion_edits import ReplacementValues
from tests.judge.checks.inverted_tests.shown import Places

FILE = b"""
import string as module
class TestReport:
    '''Reports that are "sorted" by

    customer.'''
    def test_report(self, tmp_path):
        # Orders aren't limited.
        require('alpha %s', "beta\\n", b'gamma_ray', 'camelCase', 'ab', rb'''a
        delta''', f'{self} zeta', "it's", 'say \\'eta theta')
"""
OWN = b"that are sorted customer alpha beta delta zeta say eta theta".split()
USUAL = {b"value", b"name", b"other", b"first", b"second", b"item", b"result", b"text"}


def words(data: bytes) -> set[bytes]:
    """All words that are drawn for a file."""
    return {ReplacementValues(b"", data).word(place) for place in range(800)}


def test_words_are_those_inside_the_string_literals_of_the_file() -> None:
    assert words(FILE) == set(OWN)


@pytest.mark.parametrize(
    "data", [b"it's class; self", b"'open class\n", b'class """ self', b"`class`", b"self '' class"]
)
def test_what_is_outside_of_closed_strings_is_not_drawn(data: bytes) -> None:
    assert words(data) == USUAL


def test_a_file_with_few_words_has_the_usual_ones_too() -> None:
    assert words(b"'alpha beta'") == {b"alpha", b"beta", *USUAL}
    seven = b"one two three four five six seven"
    assert words(b"'%s'" % seven) == {*seven.split(), *USUAL}
    assert words(b"'%s' \"eight\"" % seven) == {*seven.split(), b"eight"}


def test_another_word_is_drawn_than_the_one_to_replace() -> None:
    draw = ReplacementValues(b"", b"")
    for place in range(300):
        assert draw.word(place, b"value") != b"value"
        assert draw.word(place, b"VALUE") != b"value"


@given(st.binary(max_size=32), st.integers(0, 2**63))
def test_values_can_be_drawn_again(nonce: bytes, place: int) -> None:
    assert 1 <= ReplacementValues(nonce).number(place) <= 97
    assert ReplacementValues(nonce).number(place) == ReplacementValues(nonce).number(place)
    assert ReplacementValues(nonce, FILE).word(place) == ReplacementValues(nonce, FILE).word(place)


def test_values_are_those_of_the_digest() -> None:
    # python3 -c "import hashlib; print(list(hashlib.sha256(b'nonce' + bytes(7) + b'\\3').digest()[:7]))"
    # [56, 225, 102, 216, 63, 90, 37]
    draw = ReplacementValues(b"nonce")
    assert draw.number(3) == 38
    several = [b"%d" % one for one in range(1_000)]
    assert draw.choice(3, several) == b"%d" % (int.from_bytes(bytes([56, 225, 102, 216, 63, 90])) % 1_000)


def test_every_number_is_drawn_and_another_nonce_or_place_gives_others() -> None:
    assert {ReplacementValues(b"").number(place) for place in range(3_000)} == set(range(1, 98))
    several = [b"%d" % one for one in range(10**6)]
    assert (
        len({ReplacementValues(nonce).choice(place, several) for nonce in (b"a", b"b") for place in range(50)}) == 100
    )


def others(text: bytes, count: int = 400) -> set[bytes]:
    """All numbers that take the place of ``text``."""
    return {ReplacementValues(b"").other_number(text, place) for place in range(count)}


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
    other = ast.literal_eval(ReplacementValues(b"").other_number(text, place).decode())
    assert type(other) is type(number)
    assert abs(other - number) >= 0.009 * max(other, number) > 0 or number == 0 != other


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"'alpha'", b"'aqpha'"),
        (b'"Alpha beta"', b'"Aqpha beta"'),
        (b"'ALPHA'", b"'AQPHA'"),
        (b"'aLPHA'", b"'aQPHA'"),
        (b"b'one-two'", b"b'onq-two'"),
        (b'r"""one"""', b'r"""onq"""'),
        (b"'''one'''", b"'''onq'''"),
        (b"'ab'", b"'qb'"),
        (b"'B, a'", b"'Q, a'"),
        (b"'a b c'", b"'a q c'"),
        (b"'3'", b"'5'"),
        (b"'>= 12.5'", b"'>= 22.5'"),
        (b"''", b"'w40'"),
        (b'""""""', b'"""w40"""'),
        (b"'\\n\\x41'", b"'w40\\n\\x41'"),
        (b"'%s %d'", b"'w40%s %d'"),
        (b"'%s one'", b"'%s onq'"),
        (b"'\\none'", b"'w40\\none'"),
        (b"'a1b'", b"'q1b'"),
        (b"'...'", b"'w40...'"),
        ("'ö'".encode(), "'w40ö'".encode()),
    ],
)
def test_another_string_has_another_word_letter_or_number(text: bytes, expected: bytes) -> None:
    assert Places().other_string(text, 40) == expected


def others_of(text: bytes, data: bytes, count: int = 800) -> set[bytes]:
    """All strings that take the place of ``text`` in a file."""
    return {ReplacementValues(b"", data).other_string(text, place) for place in range(count)}


def differing(one: bytes, other: bytes) -> list[tuple[int, int]]:
    """The bytes of two texts of one length, where they differ."""
    return [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]


def test_any_word_of_a_string_can_be_the_other_one() -> None:
    found = others_of(b"'one two six'", b"")
    assert all(sum(word in one for word in (b"one", b"two", b"six")) == 2 for one in found)
    for word in (b"one", b"two", b"six"):
        assert any(word not in one for one in found)


@pytest.mark.parametrize("data", [b"", b"'alpha beta gamma'", b"alpha beta gamma delta"])
def test_with_fewer_than_three_other_words_a_letter_is_another_one_of_its_case(data: bytes) -> None:
    found = others_of(b"'Alpha'", data)
    for one in found:
        ((old, new),) = differing(b"'Alpha'", one)
        assert chr(old).isupper() is chr(new).isupper()
        assert chr(new).isalpha()
    assert {one[at] for one in found for at in range(1, 6)} > set(b"LPHAlpha")
    assert len(found) > 100, "every letter can be the one that is altered"


def test_with_three_other_words_one_of_them_or_a_letter_is_drawn() -> None:
    data = b"'alpha beta' 'gamma delta'"
    found = [ReplacementValues(b"", data).other_string(b"'ALPHA'", place) for place in range(400)]
    words = {b"'BETA'", b"'GAMMA'", b"'DELTA'"}
    assert set(found) > words
    assert 150 < sum(one in words for one in found) < 250
    assert all(one in words or len(differing(b"'ALPHA'", one)) == 1 for one in found)
    assert others_of(b"'Alpha'", data) > {b"'Beta'", b"'Gamma'", b"'Delta'"}
    assert others_of(b"'alpha'", data) > {b"'beta'", b"'gamma'", b"'delta'"}


def test_a_string_without_a_word_gets_one_and_a_single_letter_never_becomes_a_word() -> None:
    data = b"'alpha beta gamma delta'"
    assert others_of(b"''", data) >= {b"'alpha'", b"'beta'", b"'gamma'", b"'delta'"}
    assert {len(one) for one in others_of(b"'a'", data)} == {3}


def test_a_letter_can_become_every_other_one() -> None:
    assert others_of(b"'A'", b"") == {b"'%c'" % letter for letter in b"BCDEFGHIJKLMNOPQRSTUVWXYZ"}


@pytest.mark.parametrize(
    ("text", "expected"), [(b"'a'", b"'a w7 w8'"), (b"''", b"' w7 w8'"), (b'rb"""a|b"""', b'rb"""a|b w7 w8"""')]
)
def test_a_longer_string_has_two_words_behind_it(text: bytes, expected: bytes) -> None:
    assert Places().longer_string(text, 7) == expected


def test_the_two_words_behind_a_string_differ() -> None:
    for place in range(300):
        first, second = ReplacementValues(b"", b"").longer_string(b"''", place)[1:-1].split()
        assert first != second
