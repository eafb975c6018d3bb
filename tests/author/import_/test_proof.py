"""Proofs of imported contracts in a real sandbox, and what ids that were cut off mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.author.import_.import_record import Refused
from proctor.author.import_.proof import prove
from proctor.conduct.machine_setup import Machine, open_machine
from proctor.contract.load import load_contract
from proctor.execute.proctor_home import Home

SCRIPT = """\
if grep -q "a + b" calc.py; then fixed=ok; else fixed="not ok"; fi
exec > "$PROCTOR_RESULTS/out.tap"
echo "$fixed - add[one two]"
echo "ok - add[one three]"
echo "$fixed - sum"
echo "not ok - add[one four]"
echo 1..4
"""
CHECK = {
    "id": "tests",
    "gate": "acceptance",
    "run": SCRIPT,
    "results": "tap",
    "results_file": "out.tap",
    "must_pass": ["sum"],
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return open_machine(Home.from_environment({"PROCTOR_HOME": str(tmp_path / "home")}), None, pytest.fail)


@pytest.fixture
def contract(make_contract: Any) -> Path:
    path: Path = make_contract(checks=[CHECK])
    return path


def test_cut_ids_become_the_tests_that_begin_so_and_pass(machine: Machine, contract: Path) -> None:
    assert prove(machine, contract, ("add[one", "gone[")) == ("gone[",)
    check = load_contract(contract).checks[-1]
    assert check.must_pass == ("sum", "add[one two]")
    assert check.keep_passing == ("add[one three]",)
    assert prove(machine, contract) == ()


def test_an_oracle_that_does_not_hold_is_refused(machine: Machine, make_contract: Any) -> None:
    for must, expected in (
        (["add[one three]"], "the base is accepted"),
        (["add[one four]"], "the reference is refused"),
    ):
        with pytest.raises(Refused) as caught:
            prove(machine, make_contract(str(len(must[0])), checks=[{**CHECK, "must_pass": must}]))
        assert caught.value.code == "unproven"
        assert expected in caught.value.detail
