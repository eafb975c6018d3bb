"""Records are read from JSON and written as JSON in one way, and their schema says the same as the reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator

from proctor.base.json_records import Amount, Key, NotARecord, Since, from_json, json_schema, to_json


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part."""

    name: Annotated[str, "Its name."]
    cost: Annotated[Amount | None, "Its cost."]


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A record with every type of field."""

    schema: Annotated[int, "The version."]
    way: Annotated[str, "A word.", Key("from")]
    parts: Annotated[tuple[Part, ...], "The parts."]
    counts: Annotated[Mapping[str, int], "Numbers."]
    mode: Annotated[Literal["on", "off"], "A choice."]
    either: Annotated[bool | str | None, "One or the other."]
    foreign: Annotated[Any, "Data of someone else."]
    note: Annotated[str | None, "A remark."] = None
    later: Annotated[str | None, "Added to schema 2.", Since(2, nullable=True)] = None


DATA: dict[str, Any] = {
    "schema": 2,
    "from": "here",
    "parts": [{"name": "a", "cost": "1.50"}, {"name": "b", "cost": None}],
    "counts": {"x": 1},
    "mode": "on",
    "either": True,
    "foreign": [{"any": None}],
    "later": None,
}
VALIDATOR = Draft202012Validator(json_schema(Whole, "whole", "A record", 2))


def test_reading_and_writing_change_nothing() -> None:
    whole = from_json(Whole, DATA)
    assert whole.way == "here" and whole.parts[0].cost == "1.50" and whole.note is None
    assert to_json(whole) == DATA
    assert to_json(from_json(Whole, {**DATA, "note": "x"})) == {**DATA, "note": "x"}
    assert VALIDATOR.is_valid(DATA) and VALIDATOR.is_valid({**DATA, "note": "x"})


def test_older_records_are_read_and_written_without_what_came_later() -> None:
    older = {name: value for name, value in DATA.items() if name != "later"} | {"schema": 1}
    assert to_json(from_json(Whole, older), 1) == older
    assert "later" not in json_schema(Whole, "whole", "A record", 1)["properties"]
    assert not VALIDATOR.is_valid({**older, "schema": 2})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"from": 1}, "from is not text"),
        ({"schema": True}, "schema is not a whole number"),
        ({"parts": {}}, "parts is not a list"),
        ({"parts": [{"name": "a"}]}, r"parts\[0\]\.cost is missing"),
        ({"parts": [{"name": "a", "cost": "1e3"}]}, r"parts\[0\]\.cost is not a decimal number as text"),
        ({"counts": {"x": "1"}}, r"counts\.x is not a whole number"),
        ({"counts": []}, "counts is not an object"),
        ({"mode": "half"}, "mode is not one of 'on', 'off'"),
        ({"either": 1}, "either is not text"),
    ],
)
def test_reader_and_schema_refuse_the_same(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NotARecord, match=message):
        from_json(Whole, {**DATA, **changes})
    assert not VALIDATOR.is_valid({**DATA, **changes})


def test_unknown_keys_are_read_over_and_refused_by_the_schema() -> None:
    assert from_json(Whole, {**DATA, "unknown": 1}) == from_json(Whole, DATA)
    assert not VALIDATOR.is_valid({**DATA, "unknown": 1})
    assert not VALIDATOR.is_valid({**DATA, "parts": [{"name": "a", "cost": None, "unknown": 1}]})


def test_a_record_is_an_object() -> None:
    values: tuple[object, ...] = ([], None, "text")
    for value in values:
        with pytest.raises(NotARecord, match="the record is not an object"):
            from_json(Whole, value)
