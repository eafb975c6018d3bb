"""The published schema and the loader say the same: they come from one table, and are held against each other here."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contract.schema import CONTRACT, json_schema
from proctor.contract.strict_yaml import Report, TooManyMistakes, load_yaml, parse_yaml

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def accepted(data: object) -> bool:
    """Whether the loader's table takes ``data``."""
    report = Report("contract.yaml")
    try:
        node = parse_yaml(json.dumps(data).encode(), report)
        assert node is not None
        CONTRACT.read(node, report)
    except TooManyMistakes:
        pass
    return not report.mistakes


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in ``data``."""
    yield path
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def put(data: Any, path: tuple[str | int, ...], value: object) -> Any:
    """A copy of ``data`` with another value at ``path``."""
    if not path:
        return value
    whole = copy.deepcopy(data)
    place = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return whole


def without(data: Any, path: tuple[str | int, ...]) -> Any:
    """A copy of ``data`` without what stands at ``path``."""
    whole = copy.deepcopy(data)
    place = whole
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return whole


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json.loads(json.dumps(json_schema())) == json_schema()


def test_good_contracts_are_accepted_by_both(full_text: str, minimal_text: str) -> None:
    for text in (full_text, minimal_text):
        data = load_yaml(text.encode(), "contract.yaml").plain()
        assert accepted(data)
        VALIDATOR.validate(data)


def test_every_field_has_words_and_every_default_is_accepted(full_text: str) -> None:
    data = load_yaml(full_text.encode(), "contract.yaml").plain()

    def walk(schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
        for name, inner in schema.get("properties", {}).items():
            assert inner["description"].endswith((".", "1.")), name
            if "default" in inner and len(path) < 2:
                target = put(data, (*path, name), inner["default"])
                assert accepted(target) and VALIDATOR.is_valid(target), (*path, name)
            if inner.get("type") == "object":
                walk(inner, (*path, name))

    walk(json_schema(), ())


def test_taking_anything_away_is_judged_alike(full_text: str) -> None:
    data = load_yaml(full_text.encode(), "contract.yaml").plain()
    for path in places(data):
        if path:
            less = without(data, path)
            assert accepted(less) == VALIDATOR.is_valid(less), path


ODD: list[Any] = [
    None, True, False, 0, 1, -1, 7.5, 10**18, "", "x", "..", "../x", "/x", "a/b", "**", "a**", "[", "x\n", "a\0b",
    "sha256:" + "a" * 64, "a" * 64, "name==1", "name@1", "all", "host", [], ["x"], ["x", "x"], [1], [[]], {},
    {"file": "x"}, {"x": "y"}, {"x": 1}, {"from": "x"},
]  # fmt: skip


@pytest.mark.parametrize("stride", [12, pytest.param(4, marks=pytest.mark.soak)])
def test_odd_values_everywhere_are_judged_alike(full_text: str, stride: int) -> None:
    data = load_yaml(full_text.encode(), "contract.yaml").plain()
    apart = []
    for number, path in enumerate(places(data)):
        for value in ODD[number % stride :: stride]:
            changed = put(data, path, value)
            if accepted(changed) != VALIDATOR.is_valid(changed):
                apart.append((path, value))
    assert not apart


@settings(max_examples=150)
@given(st.data())
def test_random_values_are_judged_alike(data: st.DataObject) -> None:
    shapes = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/.*[]=@-{}\n", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "file", "from"]), inner),
        max_leaves=4,
    )
    whole = BASE
    paths = list(places(whole))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths))
        try:
            whole = put(whole, path, data.draw(shapes))
        except (KeyError, IndexError, TypeError):
            continue
    assert accepted(whole) == VALIDATOR.is_valid(whole)


BASE: dict[str, Any] = {
    "schema": 1,
    "contract": {"name": "a", "title": "b", "kind": "feature", "strata": {"x": "y"}},
    "task": {"issue": "issue.md", "targets": {"modules": ["a"]}},
    "repository": {"git": "../x", "commit": "a" * 40, "submodules": {"x": {"git": "y", "commit": "b" * 40}}},
    "inputs": [{"pypi": "a==1", "for": "judge", "with_dependencies": False}],
    "setup": [{"run": "x", "network": {"replay": "a"}}],
    "policy": {
        "network": {"record": "a", "allow": ["a:1"]},
        "stages": {"ladder": "none", "tests": ["a*"]},
        "dependencies": {"new": "forbid"},
        "ask": [{"on": ["a"], "deadline_seconds": 1}],
        "rules": {"a": "alert", "b-*": "notice"},
    },
    "budget": {"usd": "1.5", "tokens": None},
    "checks": [
        {"id": "a", "gate": "acceptance", "run": ["x"], "results": "junit", "results_file": "x", "must_pass": ["a"]},
        {"id": "b", "gate": "build", "no_op": True},
    ],
    "reference": None,
    "score": {"lambda": "0.1"},
}


@pytest.mark.parametrize("number", ["1", "1.0", "1.00"])
def test_a_whole_number_may_have_empty_decimals(minimal_text: str, number: str) -> None:
    text = minimal_text.replace("schema: 1", f"schema: {number}")
    node = load_yaml(text.encode(), "contract.yaml")
    report = Report("contract.yaml")
    assert CONTRACT.read(node, report)["schema"] == 1
    assert not report.mistakes
    assert VALIDATOR.is_valid(node.plain())
