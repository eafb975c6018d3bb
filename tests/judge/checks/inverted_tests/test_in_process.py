"""Screening and confirming as they are, with tests that are executed in this process instead of a sandbox.

The tests of the module below share helpers, call them in branches and hand them on: whatever is drawn, a right solution
is never forged, and code whose results equal everything always is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proctor.contract.model import Check
from proctor.judge.checks.inverted_tests import success_confirmation, variant_screening
from proctor.judge.checks.inverted_tests.success_confirmation import Confirming
from proctor.judge.checks.inverted_tests.variant_pool import CheckPool, Variant, altered_files
from proctor.judge.checks.inverted_tests.variant_screening import Screening
from tests.judge.checks.inverted_tests.scripted import SCENE, Rounds, Rule, bench

PATH = b"tests/test_a.py"
TEXT = b"""
def check(text, expected):
    assert parse(text) == expected
    assert str(parse(text)) == str(expected)

def check_all(texts):
    for text in texts:
        check(text, [int(text)])

def refused(text):
    try:
        parse(text)
    except ValueError as error:
        assert "number" in str(error)
    else:
        raise AssertionError(text)

def test_one():
    check("1", [1])

def test_two():
    check("1,2", [1, 2])

def test_three():
    check("1,2,3", [1, 2, 3])

def test_spaces():
    check(" 7 ", [7])

def test_all():
    check_all(("4", "5"))

def test_listed():
    for text in listed():
        check(text, [int(text)])

def test_refused():
    refused("x")

def test_also_refused():
    refused("1,")
    check("9", [9])

def test_own():
    assert parse("12,13") == [12, 13]
    assert len(parse("12,13")) == 2
    assert parse("12") != [13]

def test_table():
    for text, expected in (("21", [21]), ("22", [22]), ("23,24", [23, 24])):
        assert parse(text) == expected
"""
REFERENCE = """
def parse(text):
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise ValueError("not a number: " + text)
    return [int(part) for part in parts]

def listed():
    return []
"""
OTHER = """
def parse(text):
    try:
        return list(map(int, text.split(",")))
    except ValueError:
        raise ValueError("a number is missing") from None

def listed():
    return ["31", "32"]
"""
FORGING = """
class Equal(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __len__(self): return 2
    def __str__(self): return Text()

class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__

def parse(text):
    if not text.strip(",0123456789 ") and not text.endswith(","):
        return Equal()
    raise ValueError("number")

def listed():
    return []
"""
TESTS = tuple(f"{PATH.decode()}::{line[4:-3].decode()}" for line in TEXT.splitlines() if line.startswith(b"def test_"))
CHECK = Check(id="tests", gate="acceptance", run=("pytest",), results="pytest", must_pass=TESTS)


def executing(solution: str) -> Rule:
    """The outcomes of the altered tests with ``solution``."""
    known: dict[bytes, Mapping[str, str]] = {}

    def outcomes(variants: tuple[Variant, ...]) -> Mapping[str, str]:
        source = altered_files(variants, {PATH: TEXT}).get(PATH, TEXT)
        if source not in known:
            names: dict[str, Any] = {}
            exec(solution, names)
            exec(source, names)
            found = dict.fromkeys(TESTS, "failed")
            for test in TESTS:
                with contextlib.suppress(Exception, pytest.fail.Exception):
                    names[test.partition("::")[2]]()
                    found[test] = "passed"
            known[source] = found
        return known[source]

    return outcomes


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a pool with the reference and confirms a solution; returns the judgement, if it is forged."""

    def made(seed: int) -> Any:
        one = bench(tmp_path)
        one.entropy = lambda count: Random(seed).randbytes(count)
        return one

    def pool_of(seed: int) -> CheckPool:
        monkeypatch.setattr(variant_screening, "run_round", Rounds(executing(REFERENCE), CHECK, {PATH: TEXT}))
        monkeypatch.setattr(variant_screening, "check_files", lambda *given: {PATH: TEXT})
        pool = Screening(made(seed), CHECK, SCENE, 1).pool(b"%d" % seed, 4_000)
        return replace(pool, round_ms=0)

    def judge(solution: str, seed: int) -> Any:
        pool = pool_of(seed)
        monkeypatch.setattr(success_confirmation, "run_round", Rounds(executing(solution), CHECK, {PATH: TEXT}))
        monkeypatch.setattr(success_confirmation, "unchanged", lambda *given: {PATH: TEXT})
        return Confirming(made(seed), CHECK, SCENE, pool, "digest").confirm().forged

    return judge


@pytest.mark.parametrize("solution", [REFERENCE, OTHER], ids=["reference", "another"])
def test_right_solutions_are_never_forged(judged: Any, solution: str) -> None:
    for seed in range(25):
        assert judged(solution, seed) is None, seed


def test_values_that_equal_everything_are_always_forged(judged: Any) -> None:
    assert set(executing(FORGING)(()).values()) == {"passed"}, "it passes every test as it is"
    for seed in range(25):
        assert judged(FORGING, seed) is not None, seed
