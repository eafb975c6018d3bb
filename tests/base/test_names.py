"""File names survive the way into text and back, whatever bytes they are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import canonical
from proctor.base.reversible_escapes import name_bytes, name_text

names = st.binary() | st.lists(
    st.sampled_from([b"\\", b"\\x", b"41", b"\xff", b"\xc3\xa9", b"\xc3", b"\n", b"a", b"\xed\xa0\x80", b"\x7f"])
).map(b"".join)


@given(names)
def test_there_and_back(name: bytes) -> None:
    assert name_bytes(name_text(name)) == name


@given(names)
def test_the_text_is_fit_for_records_and_terminals(name: bytes) -> None:
    text = name_text(name)
    canonical(text)
    assert not any(ord(character) < 32 or ord(character) == 127 for character in text)


@given(names, names)
def test_different_names_have_different_texts(one: bytes, two: bytes) -> None:
    assert (name_text(one) == name_text(two)) == (one == two)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"plain.py", "plain.py"),
        ("ünïcode".encode(), "ünïcode"),
        (b"caf\xe9", "caf\\xe9"),
        (b"new\nline", "new\\x0aline"),
        (b"back\\slash", "back\\\\slash"),
        (b"\\xe9", "\\\\xe9"),
        (b"", ""),
        (b"\x1b[31m", "\\x1b[31m"),
    ],
)
def test_known_names(name: bytes, text: str) -> None:
    assert name_text(name) == text
    assert name_bytes(text) == name


@pytest.mark.parametrize("text", ["\\", "a\\b", "\\xZZ", "\\x4", "\\x4G", "\\xAB", "\\\\\\", "\ud800", "\udcff"])
def test_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        name_bytes(text)
