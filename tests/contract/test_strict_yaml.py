"""YAML means one thing, every node has a place, and no input does more than make a mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.base.errors import ContractError
from proctor.contract.strict_yaml import MAX_DEPTH, load_yaml


def plain(text: str) -> Any:
    return load_yaml(text.encode(), "x.yaml").plain()


def mistakes(text: str | bytes) -> list[str]:
    with pytest.raises(ContractError) as caught:
        load_yaml(text if isinstance(text, bytes) else text.encode(), "x.yaml")
    return [str(mistake) for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            (word, word)
            for word in ("no", "No", "off", "on", "yes", "y", "n", "12:30", "12:30:45", "2026-01-01", "1.2.3")
        ),
        *((word, None) for word in ("null", "Null", "NULL", "~", "")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        ("0", 0),
        ("-12", -12),
        ("3.10", 3.1),
        ("'3.10'", "3.10"),
        ('"true"', "true"),
        ("|-\n true", "true"),
        (">-\n 12", "12"),
        ("1.22.2", "1.22.2"),
        ("0123abc", "0123abc"),
        ("tRUE", "tRUE"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_a_scalar_is_what_yaml_1_2_says(text: str, value: object) -> None:
    found = plain(f"a: {text}\n")["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["010", "+1", "0x1f", "0o17", "0b1", "1_000", "1e3", "1.", ".5", ".inf", "-.inf", ".nan", "00", "1.5e-3"]
)
def test_a_number_that_versions_read_differently_is_a_mistake(text: str) -> None:
    assert mistakes(f"a: {text}\n") == [
        f"x.yaml:1:4: {text} is not a plain decimal number (write it out, or quote it to make it text)"
    ]
    assert plain(f"a: '{text}'\n") == {"a": text}


def test_places_are_lines_and_columns_of_characters() -> None:
    root = load_yaml("é: [ü, {x: 1}]\n\nb:\n  - c\n  -   d: e\n".encode(), "x.yaml")
    assert (root.line, root.column) == (1, 1)
    assert root.keys == {"é": (1, 1), "b": (3, 1)}
    first, second = root.value["é"].value
    assert (first.line, first.column) == (1, 5)
    assert (second.line, second.column) == (1, 8)
    assert (second.value["x"].line, second.value["x"].column) == (1, 12)
    item = root.value["b"].value[1]
    assert item.keys == {"d": (5, 7)}


def test_every_mistake_before_broken_syntax_is_told() -> None:
    told = mistakes("a: 1\na: 2\nb: &x 3\nc: *x\nd: !!str e\nf: [\n")
    assert [line.split(": ")[0] for line in told] == [
        "x.yaml:2:1",
        "x.yaml:3:4",
        "x.yaml:4:4",
        "x.yaml:5:4",
        "x.yaml:7:1",
    ]
    assert "not valid YAML" in told[-1]


def test_a_duplicate_is_found_however_it_is_written() -> None:
    assert "duplicate key 'a'" in mistakes("a: 1\n'a': 2\n")[0]
    assert "first given in line 1" in mistakes('a: 1\n"\\x61": 2\n')[0]
    assert "duplicate key 'a'" in mistakes("b: [{a: 1, a: 1}]")[0]


def test_a_tab_is_named() -> None:
    assert mistakes("a:\n\tb: 1\n")[0].endswith("(indent with spaces)")


def test_directives_and_second_documents() -> None:
    assert "directives are not allowed" in mistakes("%YAML 1.1\n---\na: 1\n")[0]
    assert "directives are not allowed" in mistakes("%TAG !x! tag:x,2000:\n---\na: 1\n")[0]
    assert "a second document" in mistakes("a: 1\n---\nb: 2\n")[0]
    assert plain("---\na: 1\n...\n") == {"a": 1}
    assert plain("\ufeffa: 1\n") == {"a": 1}


def test_nesting_is_bounded() -> None:
    assert "nested more than" in mistakes("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))[0]
    plain("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert "nested more than" in mistakes("\n".join(" " * depth + "a:" for depth in range(MAX_DEPTH + 2)))[0]


def test_a_billion_laughs_are_one_mistake_each() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert len(mistakes("\n".join(lines))) == 40 + 2 * 39


def test_other_encodings_are_refused() -> None:
    assert "binary" in mistakes("a: 1\n".encode("utf-16"))[0]
    assert mistakes("a: é\n".encode("latin-1")) == ["x.yaml:1:4: not UTF-8 text"]


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
def test_json_is_read_as_json(value: object) -> None:
    assert load_yaml(json.dumps(value, ensure_ascii=False).encode(), "x.yaml").plain() == value


@given(st.binary(max_size=60) | st.text("ab:-[]{}&*!|>'\"#%@,? \n\t01.~", max_size=40).map(str.encode))
def test_any_bytes_give_a_value_or_mistakes(data: bytes) -> None:
    try:
        load_yaml(data, "x.yaml").plain()
    except ContractError as error:
        assert error.mistakes
        assert all(mistake.line >= 1 and mistake.column >= 1 for mistake in error.mistakes)
