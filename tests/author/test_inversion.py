"""Remarks of ``lint`` about must_pass tests that inverted tests cannot confirm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.author.lint_hidden_tests import remarks_on_variants
from proctor.base.canonical import canonical
from proctor.contract.digest import content_id
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.proctor_home import Home
from proctor.judge.checks.inverted_tests.variant_pool import WHOLE_CHECK, CheckPool, Pool

TESTS = ("t.py::a", "t.py::b", "t.py::c", "t.py::d", "t.py::e")
CHECK = {"id": "tests", "gate": "acceptance", "run": ["pytest"], "results": "pytest", "timeout_seconds": 60}


@pytest.fixture
def contract(make_contract: Any) -> Contract:
    return load_contract(make_contract(checks=[{**CHECK, "must_pass": list(TESTS)}]))


def said(contract: Contract, top: Path, without: tuple[str, ...], problem: str = "") -> list[str]:
    """The messages for a contract whose pool has no variants of some tests."""
    home = Home(top / "home")
    home.variants.mkdir(parents=True)
    identity = content_id(contract)
    pool = Pool(identity, (CheckPool("tests", without=without, problem=problem),))
    (home.variants / f"{identity.removeprefix('sha256:')}.json").write_bytes(canonical(pool.record()))
    found = remarks_on_variants(contract, home)
    assert {one.severity for one in found} <= {"warning"}
    return [one.message for one in found]


def test_before_a_pool_is_made_nothing_is_said(contract: Contract, tmp_path: Path) -> None:
    assert remarks_on_variants(contract, Home(tmp_path)) == ()


def test_a_pool_without_gaps_gives_no_remark(contract: Contract, tmp_path: Path) -> None:
    assert said(contract, tmp_path, ()) == []


def test_tests_without_a_variant_are_counted_and_the_first_ones_named(contract: Contract, tmp_path: Path) -> None:
    (message,) = said(contract, tmp_path, TESTS[:4])
    assert message == (
        "check 'tests': 4 of 5 must_pass tests have no variant that depends on the code: t.py::a, t.py::b, t.py::c, ..."
    )


def test_exactly_three_are_all_named(contract: Contract, tmp_path: Path) -> None:
    (message,) = said(contract, tmp_path, TESTS[:3])
    assert message.endswith("t.py::a, t.py::b, t.py::c")


def test_a_problem_of_the_whole_check_is_the_reason(contract: Contract, tmp_path: Path) -> None:
    assert said(contract, tmp_path, TESTS, "no reference") == ["check 'tests': no inverted tests: no reference"]


def test_a_check_that_its_exit_code_decides(make_contract: Any, tmp_path: Path) -> None:
    contract = load_contract(make_contract(checks=[{**CHECK, "results": "exit-code"}]))
    expected = "check 'tests': no inverted tests: none of its tests could be altered"
    assert said(contract, tmp_path, (WHOLE_CHECK,)) == [expected]
