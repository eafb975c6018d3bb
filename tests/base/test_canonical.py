"""Canonical bytes agree with the reference implementation of RFC 8785, and what has no one form is refused."""

from __future__ import annotations

import enum
import hashlib
import json
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.canonical import (
    MAX_DEPTH,
    SAFE_INTEGER,
    NotCanonical,
    canonical,
    digest,
    parse,
    parse_canonical,
    sha256,
)

keys = st.text(st.characters(max_codepoint=127), max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER, SAFE_INTEGER)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)


@given(values)
def test_it_is_rfc_8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(values)
def test_it_leads_back(value: Any) -> None:
    data = canonical(value)
    assert parse(data) == value
    assert parse_canonical(data) == value
    assert canonical(parse(data)) == data


@given(st.dictionaries(keys, values, max_size=6), st.randoms())
def test_the_order_of_keys_does_not_matter(value: dict[str, Any], random: Any) -> None:
    pairs = list(value.items())
    random.shuffle(pairs)
    assert canonical(dict(pairs)) == canonical(value)


def test_tuples_and_mappings_are_lists_and_objects() -> None:
    assert (
        canonical((1, ("a",), MappingProxyType({"b": (), "a": MappingProxyType({})}))) == b'[1,["a"],{"a":{},"b":[]}]'
    )


def test_control_characters_and_others() -> None:
    text = "".join(map(chr, range(0x21))) + '"\\/\x7f\u0080\u2028\u2029é€😂'
    assert canonical(text) == rfc8785.dumps(text)


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    pass


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        b"bytes",
        {1, 2},
        object(),
        SAFE_INTEGER + 1,
        -SAFE_INTEGER - 1,
        10**400,
        {1: "a"},
        {"é": 1},
        {"é": "text"},
        {"a": 1, "é": 2},
        {None: 1},
        "\ud800",
        {"a": ["\udfff"]},
        Colour.RED,
        Name("x"),
        {"a": {"b": [1, 2.5]}},
        {"a": "x", "b": 2.5},
    ],
)
def test_what_has_no_single_form_is_refused(value: Any) -> None:
    for wrapped in (value, [value], {"key": value}, {"key": [{"deep": value}], "simple": "x"}):
        with pytest.raises(NotCanonical):
            canonical(wrapped)


def test_the_largest_integers() -> None:
    assert canonical([SAFE_INTEGER, -SAFE_INTEGER]) == b"[9007199254740991,-9007199254740991]"


def test_nesting_is_bounded() -> None:
    value: Any = "leaf"
    for _ in range(MAX_DEPTH):
        value = [value]
    canonical(value)
    with pytest.raises(NotCanonical, match="nested too deeply"):
        canonical([value])
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotCanonical):
        canonical(endless)


def test_the_value_is_left_alone() -> None:
    value = {"b": [1, {"d": 1, "c": 2}], "a": None}
    before = json.dumps(value)
    canonical(value)
    assert json.dumps(value) == before


@pytest.mark.parametrize(
    "data",
    [
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b'{"a":1,"a":1}',
        b'"\\u0061"',
        b'"\\/"',
        b"1.0",
        b"1e2",
        b"-0",
        b"[1,]",
        b"",
        b"nul",
        b'"\xff"',
        b"NaN",
        b"9007199254740992",
        '{"é":1}'.encode(),
        b"[" * 100_000,
        b"[" * 100 + b"]" * 100,
    ],
)
def test_other_spellings_are_not_canonical(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_canonical(data)


def test_digests() -> None:
    assert sha256(b"") == "sha256:" + hashlib.sha256(b"").hexdigest()
    assert digest({"b": 1, "a": 2}) == sha256(b'{"a":2,"b":1}')
