"""Which must_pass tests already pass on the base: such a test does not test the fix.

The runs of the no-op show it, because its patch is empty. A test counts as passing if it passed in each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.contract.model import Check, Contract


@dataclass(frozen=True)
class OnBase:
    """The must_pass tests of one check that pass on the base, and how many must_pass tests it has."""

    check: str
    passing: tuple[str, ...]
    tests: int


def passing_on_base(contract: Contract, results: Sequence[Mapping[str, Any]]) -> tuple[OnBase, ...]:
    """One entry for each check with must_pass tests; ``results`` are the records of the judged runs of the no-op."""
    listed = [check for check in contract.checks if check.must_pass]
    return tuple(OnBase(one.id, _passing(one, results), len(one.must_pass)) for one in listed) if results else ()


def none_fails(several: Sequence[OnBase]) -> bool:
    """Whether every must_pass test of a contract passes on the base."""
    return bool(several) and all(len(one.passing) == one.tests for one in several)


def _passing(check: Check, results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    entries = [entry for result in results for entry in result["checks"] if entry["id"] == check.id]
    passed = [{test for test, outcome in entry["tests"] if outcome == "passed"} for entry in entries]
    return tuple(test for test in check.must_pass if passed and all(test in seen for seen in passed))
