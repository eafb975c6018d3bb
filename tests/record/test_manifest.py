"""The manifest: nothing that R2 asks for may be missing, and what is missing is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.record.completeness import REQUIRED, Field, check_manifest

Maker = Callable[[], dict[str, Any]]


def holder(manifest: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """What holds the field at ``path``, entering the first entry of each list."""
    value: Any = manifest
    *before, last = path.split(".")
    for part in before:
        value = value[part.removesuffix("[]")]
        if part.endswith("[]"):
            value = value[0]
    return value, last


def test_a_complete_manifest_has_no_problems(a_manifest: Maker) -> None:
    assert check_manifest(a_manifest()) == []


def test_b2_an_image_without_the_usual_tools_has_a_complete_manifest(a_manifest: Maker) -> None:
    assert check_manifest({**a_manifest(), "toolchain": {}}) == []


@pytest.mark.parametrize("field", REQUIRED, ids=lambda field: field.path)
def test_each_field_is_missed(a_manifest: Maker, field: Field) -> None:
    manifest = a_manifest()
    value, name = holder(manifest, field.path)
    del value[name]
    expected = field.path.replace("[]", "[0]")
    assert any(problem.startswith(f"{expected} is missing") for problem in check_manifest(manifest))


@pytest.mark.parametrize("field", REQUIRED, ids=lambda field: field.path)
def test_null_counts_as_missing_unless_it_may_be_null(a_manifest: Maker, field: Field) -> None:
    manifest = a_manifest()
    value, name = holder(manifest, field.path)
    value[name] = None
    assert bool(check_manifest(manifest)) != field.open


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run", ""),
        ("run", 5),
        ("schema", "1"),
        ("kind", "something"),
        ("checks", []),
        ("checks", {}),
        ("checks", [5]),
        ("inputs", "none"),
        ("inputs", [{"name": "x"}]),
        ("toolchain", "python"),
        ("sandbox", None),
        ("sandbox", []),
        ("sandbox.identity", {}),
        ("environment.absent", False),
        ("environment.absent", "yes"),
        ("machine.cpus", 0),
        ("machine.cpus", True),
        ("machine.memory_bytes", "lots"),
        ("started.wall_ns", "soon"),
        ("started.wall_ns", -1),
        ("locale", ""),
    ],
)
def test_values_that_say_nothing(a_manifest: Maker, path: str, value: Any) -> None:
    manifest = a_manifest()
    inside, name = holder(manifest, path)
    inside[name] = value
    assert any(problem.startswith(path) for problem in check_manifest(manifest))


@pytest.mark.parametrize("value", [None, [], "manifest", 5])
def test_what_is_no_object_is_no_manifest(value: Any) -> None:
    assert check_manifest(value) == ["the manifest is not an object"]


def test_an_empty_object_lacks_everything() -> None:
    assert len(check_manifest({})) == len(REQUIRED)


def test_every_part_that_the_requirement_names_is_asked_for() -> None:
    groups = {field.path.split(".")[0].removesuffix("[]") for field in REQUIRED}
    assert groups == {
        "schema",
        "kind",
        "run",
        "contract",
        "repository",
        "inputs",
        "setup",
        "sandbox",
        "toolchain",
        "harness",
        "agent",
        "checks",
        "environment",
        "seeds",
        "os",
        "locale",
        "machine",
        "limits",
        "started",
        "configuration",
        "price_table",
    }
