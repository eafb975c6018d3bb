"""Mutation testing measures what it says: the modules and tests that it names exist, and its bar can be missed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def mutants(project: Path) -> Any:
    spec = importlib.util.spec_from_file_location("mutants", project / "tools" / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1, "killed"),
        (3, "killed"),
        (-24, "timed out"),
        (36, "timed out"),
        (0, "survived"),
        (33, "survived"),
        (-11, "survived"),
        (2, "undone"),
        (None, "undone"),
    ],
)
def test_only_a_failing_test_or_one_without_end_notices_a_change(mutants: Any, code: int | None, kind: str) -> None:
    assert mutants.kind_of(code) == kind


def kinds(killed: int, survived: int, late: int = 0) -> dict[str, str]:
    told = ["killed"] * killed + ["survived"] * survived + ["timed out"] * late
    return {str(number): kind for number, kind in enumerate(told)}


def test_one_module_below_the_bar_is_enough_to_miss_it(mutants: Any) -> None:
    text, low = mutants.table({"a.py": kinds(89, 11), "b.py": kinds(900, 0)})
    assert low == ["a.py: 89.0%, and 90% is the bar"]
    assert text.splitlines()[-1].split() == ["all", "of", "them", "1000", "989", "0", "11", "98.9%"]
    assert mutants.table({"a.py": kinds(80, 10, 10)})[1] == []


def test_what_was_not_noticed_counts_against_the_whole(mutants: Any) -> None:
    assert mutants.share_of({"killed": 1, "timed out": 1, "survived": 2}) == 50
    assert mutants.share_of({}) == 0


def test_every_part_of_the_judging_core_is_named_and_every_test_is_there(mutants: Any, project: Path) -> None:
    modules = {Path(module).stem for module in mutants.modules_of(project)}
    assert {"check_decision", "failure_tags", "run_verdict", "scores", "taxonomy"} <= modules
    folder = project / "src" / "proctor" / "execute" / "monitor" / "breakers"
    assert {path.stem for path in folder.glob("*.py")} <= modules
    settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
    assert all((project / path).exists() for path in settings["pytest_add_cli_args_test_selection"])


def test_an_unknown_module_is_refused(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "tools/mutants.py", "nothing"], cwd=project, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr == "mutants: no such module: nothing; pyproject.toml names those there are\n"
