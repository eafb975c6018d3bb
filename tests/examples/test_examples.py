"""The examples: contracts on published releases that are alike, carry nobody else's code, and decide as they should."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.author.lint_hidden_tests import remarks_on_unprotected
from proctor.contract.lint import lint
from proctor.contract.load import load_contract
from proctor.contract.model import ArchiveRepository

PROJECT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted(path.parent for path in PROJECT.glob("examples/*/contract.yaml"))
QUICK = ("parse-time-zone", "minimist-constructor-pollution")
"""The cheapest examples: `make test` validates them."""

each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)


def test_there_are_examples_in_three_languages() -> None:
    contracts = [load_contract(example) for example in EXAMPLES]
    assert len(contracts) >= 10
    assert {contract.strata["language"] for contract in contracts} == {"python", "javascript", "c"}
    quick = [contract for contract in contracts if contract.name in QUICK]
    assert {contract.strata["language"] for contract in quick} == {"python", "javascript"}


def test_the_table_and_the_contracts_agree() -> None:
    program = runpy.run_path(str(PROJECT / "tools/examples.py"))
    for example in program["TABLE"]:
        written = (PROJECT / "examples" / example.name / "contract.yaml").read_text()
        assert written == program["contract"](example), f"{example.name}: run python tools/examples.py"


@each
def test_an_example_is_a_good_contract(example: Path) -> None:
    contract = load_contract(example)
    assert contract.name == example.name
    assert [remark for remark in lint(contract) if remark.severity == "warning"] == []
    assert remarks_on_unprotected(contract) == ()
    assert contract.reference is not None


@each
def test_the_fixed_release_is_for_the_judge_alone(example: Path) -> None:
    contract = load_contract(example)
    assert isinstance(contract.repository, ArchiveRepository)
    project = contract.strata["project"]
    shown = [file.name for one in contract.inputs if one.audience == "setup" for file in one.source.files]
    assert not [name for name in shown if name.lower().replace("_", "-").startswith(f"{project}-")]
    assert any(one.audience == "judge" for one in contract.inputs)
    for path in example.rglob("*"):
        assert path.is_dir() or path.stat().st_size < 64 << 10, f"{path} is large for something written by hand"


@each
def test_the_issue_does_not_give_the_solution_away(example: Path) -> None:
    issue = (example / "issue.md").read_text()
    patch = example / "reference.patch"
    added = patch.read_text().splitlines() if patch.exists() else []
    for line in (line[1:].strip() for line in added if line.startswith("+") and not line.startswith("+++")):
        assert len(line) < 12 or line not in issue
    for test in load_contract(example).checks[-1].must_pass:
        assert test.rpartition("::")[2] not in issue


def proctor(*arguments: str | Path) -> Any:
    """What a command that ends well prints as JSON."""
    code, told = proctor_says(*arguments)
    assert code == 0, told
    return told


def proctor_says(*arguments: str | Path) -> tuple[int, Any]:
    """How a command ends and what it prints as JSON; the commands of one worker share their fetched inputs."""
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *map(str, arguments), "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        env=os.environ,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def require_validated(example: Path, times: int) -> list[str]:
    """Validate ``example`` and return the ids of its runs: each no-op fails, each reference passes, all verify."""
    runs = proctor("validate", example, "--times", str(times))["runs"]
    assert sorted(run["status"] for run in runs) == ["failure"] * times + ["success"] * times
    ids = [run["run"] for run in runs]
    for run in ids:
        proctor("verify", run)
    return ids


@pytest.mark.corpus
@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.name in QUICK], ids=lambda path: path.name)
def test_the_no_op_fails_and_the_reference_passes(example: Path) -> None:
    require_validated(example, 1)
