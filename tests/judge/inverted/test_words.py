"""Drawn values: they follow from the nonce and the place, and look like values that tests hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.inverted.words import Draw


@given(st.binary(max_size=32), st.integers(0, 2**63))
def test_values_look_like_those_of_tests_and_can_be_drawn_again(nonce: bytes, place: int) -> None:
    draw = Draw(nonce)
    word = draw.word(place)
    assert len(word) == 6
    assert set(word) <= set("abcdefghijklmnopqrstuvwxyz")
    assert 1 <= draw.number(place) <= 97
    assert (word, draw.number(place)) == (Draw(nonce).word(place), Draw(nonce).number(place))


def test_values_are_those_of_the_digest() -> None:
    # python3 -c "import hashlib; print(list(hashlib.sha256(b'nonce' + bytes(7) + b'\\3').digest()[:7]))"
    # [56, 225, 102, 216, 63, 90, 37]
    assert Draw(b"nonce").word(3) == "eryilm"
    assert Draw(b"nonce").number(3) == 38


def test_every_letter_and_every_number_is_drawn() -> None:
    draw = Draw(b"")
    assert {letter for place in range(200) for letter in draw.word(place)} == set("abcdefghijklmnopqrstuvwxyz")
    assert {draw.number(place) for place in range(3_000)} == set(range(1, 98))


def test_another_nonce_or_place_gives_other_values() -> None:
    words = {Draw(nonce).word(place) for nonce in (b"a", b"b") for place in range(50)}
    assert len(words) == 100
