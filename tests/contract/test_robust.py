"""Whatever stands in a contract, loading it gives a contract or its mistakes, and never anything else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.base.errors import ContractError
from proctor.contract.digest import content_id, from_resolved, resolved
from proctor.contract.lint import lint
from proctor.contract.load import load_contract
from proctor.contract.strict_yaml import load_yaml

Writer = Callable[..., Path]

ODD: list[Any] = [
    None, True, 0, -1, 7.5, 10**18, "", "x", "..", "../x", "/", "hidden", "hidden/data", "fixed", "keep.txt", "a\0b",
    "{passing}", "\n", "name==1", "all", "a" * 5000, [], ["x"], [None], [{}], [[]], {}, {"file": "x"}, {"from": "x"},
    {"x": {"y": "z"}},
]  # fmt: skip


def attempt(path: Path) -> bool:
    """Load; a good contract also has an id and can be linted."""
    try:
        contract = load_contract(path)
    except ContractError as error:
        assert error.mistakes
        assert all(mistake.file and mistake.message for mistake in error.mistakes)
        str(error).encode()
        return False
    assert from_resolved(resolved(contract), contract.directory) == contract
    assert content_id(contract).startswith("sha256:")
    lint(contract)
    return True


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, writer: Writer) -> Path:
    return writer(tmp_path_factory.mktemp("robust") / "c")


@pytest.mark.parametrize("stride", [24, pytest.param(8, marks=pytest.mark.soak)])
def test_odd_values_everywhere(directory: Path, full_text: str, stride: int) -> None:
    data = load_yaml(full_text.encode(), "contract.yaml").plain()
    good = 0
    for number, path in enumerate(places(data)):
        for value in ODD[number % stride :: stride]:
            whole = copy.deepcopy(data)
            place = whole
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            (directory / "odd.yaml").write_text(json.dumps(whole))
            good += attempt(directory / "odd.yaml")
    assert good > 10


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_contracts_that_a_cat_walked_over(directory: Path, full_text: str, seed: int) -> None:
    draw = random.Random(seed)
    text = full_text
    for _ in range(draw.randint(1, 6)):
        start = draw.randrange(len(text))
        end = start + draw.choice([0, 1, 1, 5, 40])
        piece = draw.choice(
            ["", " ", "\n", "- ", ": ", "{", "]", "'", '"', "&a ", "*a", "!", "\t", "x", "0", "é", "\x07", "#"]
        )
        text = text[:start] + piece + text[end:]
    (directory / "cat.yaml").write_text(text)
    attempt(directory / "cat.yaml")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_lines_in_another_order(directory: Path, full_text: str, seed: int) -> None:
    lines = full_text.splitlines(keepends=True)
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 3)):
        lines.insert(draw.randrange(len(lines)), lines.pop(draw.randrange(len(lines))))
    (directory / "order.yaml").write_text("".join(lines))
    attempt(directory / "order.yaml")


@pytest.mark.parametrize("name", ["x" * 5000, "contract.yaml/under"])
def test_a_path_that_cannot_be_is_a_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / "contract.yaml").write_text("schema: 1\n")
    assert not attempt(tmp_path / name)
