"""The linter points at what weakens a contract, at its line, and is silent where nothing is to be said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.frozen import replace
from proctor.contract.digest import from_resolved, resolved
from proctor.contract.lint import Remark, lint
from proctor.contract.load import load_contract
from proctor.contract.model import Contract, Environment, Policy, Score, Targets

Writer = Callable[..., Path]


def about(remarks: tuple[Remark, ...], words: str) -> list[Remark]:
    return [remark for remark in remarks if words in remark.message]


@pytest.fixture
def clean(full: Path) -> Contract:
    """The full contract without what the linter rightly remarks on."""
    contract = load_contract(full)
    checks = tuple(
        replace(check, rerun=type(check.rerun)(), keep_passing=check.keep_passing or ("x",))
        for check in contract.checks
    )
    environment = replace(contract.environment, seed=Environment.seed)
    policy = replace(contract.policy, free_steering=())
    return replace(contract, checks=checks, environment=environment, policy=policy)


def test_a_good_contract_is_met_with_silence(clean: Contract) -> None:
    assert lint(clean) == ()


def test_remarks_have_the_line_of_what_was_written(full: Path) -> None:
    remarks = {remark.message: remark for remark in lint(load_contract(full))}
    lines = (full / "contract.yaml").read_text().splitlines()
    assert len(remarks) == 4
    for words, text in {
        "check 'tests': decided by 'majority', which every report will flag": "rerun: {times: 3, decide: majority}",
        "a seed other than 20260307 is reported as a protocol deviation": "  seed: 7",
        "the patch may change files that steer the test runner": "  free_steering: [conftest.py]",
        "check 'taps': no keep_passing: a patch that breaks other tests is not noticed": "  - id: taps",
    }.items():
        file, line, _ = remarks[words].where.split(":")
        assert file == "contract.yaml"
        assert text in lines[int(line) - 1]


def test_without_the_file_remarks_name_the_field(full: Path) -> None:
    data = resolved(load_contract(full))
    remarks = lint(from_resolved(data, full / "absent"))
    assert "environment.seed" in [remark.where for remark in remarks]
    assert "checks.2.rerun.decide" in [remark.where for remark in remarks]


def test_a_minimal_contract_leaves_much_open(tmp_path: Path, writer: Writer, minimal_text: str) -> None:
    remarks = lint(load_contract(writer(tmp_path / "c", minimal_text)))
    for words in (
        "no target modules",
        "no entry points",
        "change of behaviour is not described",
        "no known ambiguities",
        "no assumptions",
        "no stratum 'language'",
        "no check in the build gate",
        "no check in the static gate",
        "decided by an exit code alone",
        "no reference",
        "root is not pinned",
        "may change any file",
    ):
        assert len(about(remarks, words)) == 1, words
    assert {remark.severity for remark in remarks} == {"warning", "advice"}


def changed_check(contract: Contract, index: int, **changes: Any) -> Contract:
    checks = list(contract.checks)
    checks[index] = replace(checks[index], **changes)
    return replace(contract, checks=tuple(checks))


CASES: dict[str, Callable[[Contract], Contract]] = {
    "no target modules": lambda c: replace(c, task=replace(c.task, targets=replace(c.task.targets, modules=()))),
    "no entry points": lambda c: replace(c, task=replace(c.task, targets=replace(c.task.targets, entry_points=()))),
    "change of behaviour is not described": lambda c: replace(
        c, task=replace(c.task, targets=Targets(("a",), ("b",), ""))
    ),
    "no known ambiguities": lambda c: replace(c, task=replace(c.task, ambiguities=())),
    "no assumptions": lambda c: replace(c, assumptions=()),
    "no stratum 'language'": lambda c: replace(c, strata={}),
    "the issue is very short": lambda c: replace(c, task=replace(c.task, issue_text="Fix it.")),
    "'tests/test_parse.py::test_a', which only": lambda c: replace(
        c, task=replace(c.task, issue_text=c.task.issue_text + "tests/test_parse.py::test_a")
    ),
    "'test_a', which only": lambda c: replace(
        c, task=replace(c.task, issue_text=c.task.issue_text + "the test test_a fails")
    ),
    "'hidden/test_extra.py', which only": lambda c: replace(
        c, task=replace(c.task, issue_text=c.task.issue_text + "hidden/test_extra.py")
    ),
    "no mandatory check in the acceptance gate": lambda c: changed_check(
        changed_check(c, 2, mandatory=False), 3, mandatory=False
    ),
    "no check in the build gate": lambda c: replace(c, checks=c.checks[1:]),
    "no check in the static gate": lambda c: replace(c, checks=(c.checks[0], *c.checks[2:])),
    "no check has must_pass": lambda c: changed_check(changed_check(c, 2, must_pass=()), 3, must_pass=()),
    "the code under test can forge its results": lambda c: changed_check(c, 3, sentinel=None),
    "which the code under test can forge": lambda c: changed_check(c, 3, results="exit-code", must_pass=()),
    "no keep_passing": lambda c: changed_check(c, 2, keep_passing=()),
    "neither hidden nor protected": lambda c: replace(
        changed_check(c, 3, hidden=()), policy=replace(c.policy, protected=())
    ),
    "decided by 'any'": lambda c: changed_check(c, 2, rerun=type(c.checks[2].rerun)(3, "any")),
    "no reference": lambda c: replace(c, reference=None),
    "weigh nothing": lambda c: replace(c, score=Score(maintainability_checks=("compiles",))),
    "is used by nothing": lambda c: replace(
        c, inputs=(*c.inputs, replace(c.inputs[0], name="unused")), reference=c.reference
    ),
    "there is no setup": lambda c: replace(c, setup=(), inputs=(c.inputs[0], c.inputs[1])),
    "root is not pinned": lambda c: replace(c, environment=replace(c.environment, root="")),
    "protocol deviation": lambda c: replace(c, environment=replace(c.environment, seed=1)),
    "longer than the whole run": lambda c: replace(c, budget=replace(c.budget, command_seconds=10**5)),
    "steer the test runner": lambda c: replace(c, policy=replace(c.policy, free_steering=("a",))),
    "may change any file": lambda c: replace(c, policy=Policy(protected=("tests/**",))),
}


@pytest.mark.parametrize("words", CASES)
def test_one_weakness_is_one_remark(clean: Contract, words: str) -> None:
    remarks = lint(CASES[words](clean))
    assert about(remarks, words), remarks
    assert all(remark.where.startswith("contract.yaml:") for remark in remarks)
    assert len(remarks) <= 2, remarks
