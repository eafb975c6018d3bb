"""``validate`` lists must_pass tests that pass on the base."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proctor.author.validation import PassingOnBase, all_pass_on_base, passing_on_base
from proctor.contract.load import load_contract
from tests.author.test_flaky_tests import CHECK

Proctor = Callable[..., subprocess.CompletedProcess[str]]


def test_a_test_that_passes_on_the_base_is_named_in_a_warning(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("validate", make_contract(checks=[{**CHECK, "must_pass": ["adds", "zero"]}]), "--times", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "on the base" in line]
    head = "warning: small: check tests: 1 of 2 must_pass tests pass on the base and do not test the fix: zero; "
    assert line.startswith(head + "move them to keep_passing")
    assert done.stdout.splitlines()[-1] == "valid"


def test_a_contract_without_a_test_that_fails_on_the_base_is_not_valid(proctor: Proctor, make_contract: Any) -> None:
    """Its no-op fails all the same, by another check."""
    contract = make_contract(checks=[{**CHECK, "must_pass": ["zero"]}, make_contract.CHECK])
    done = proctor("validate", contract, "--times", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "not valid: 1 contract without a must_pass test that fails on the base"
    said = json.loads(proctor("validate", contract, "--times", "1", "--json").stdout)
    assert said["valid"] is False
    assert said["must_pass_on_base"] == [{"contract": "small", "check": "tests", "passing": ["zero"], "tests": 1}]


def test_contracts_of_one_name_are_told_apart(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    vacuous = make_contract(checks=[{**CHECK, "must_pass": ["zero"]}, make_contract.CHECK])
    vacuous.rename(tmp_path / "first")
    good = make_contract(checks=[{**CHECK, "must_pass": ["adds"]}])
    done = proctor("validate", tmp_path / "first", good, "--times", "1", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["valid"] is False
    assert [(one["contract"], one["passing"]) for one in said["must_pass_on_base"]] == [
        ("small", ["zero"]),
        ("small", []),
    ]


def test_a_test_counts_only_if_it_passes_in_every_run(make_contract: Any) -> None:
    contract = load_contract(Path(make_contract(checks=[{**CHECK, "must_pass": ["a", "b", "c"]}, make_contract.CHECK])))

    def run(*passed: str) -> dict[str, Any]:
        tests = [[test, "passed" if test in passed else "failed"] for test in ("a", "b")]
        return {"checks": [{"id": "tests", "tests": tests}, {"id": "adds", "tests": []}]}

    assert passing_on_base(contract, [run("a", "b"), run("a")]) == (PassingOnBase("tests", ("a",), 3),)
    assert passing_on_base(contract, []) == () and not all_pass_on_base(())
