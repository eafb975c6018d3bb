"""The linter points at what weakens a contract, at its line, and is silent where nothing is to be said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.digest import from_resolved, resolved
from proctor.contract.lint import Remark, lint
from proctor.contract.load import load_contract
from proctor.contract.model import (
    Ask,
    Contract,
    Dependencies,
    Environment,
    Hidden,
    NamedFile,
    Network,
    Policy,
    Rollback,
    Score,
    Targets,
    TextRules,
)

Writer = Callable[..., Path]


def about(remarks: tuple[Remark, ...], words: str) -> list[Remark]:
    return [remark for remark in remarks if words in remark.message]


@pytest.fixture
def clean(full: Path) -> Contract:
    """The full contract without what the linter rightly remarks on."""
    contract = load_contract(full)
    checks = tuple(
        replace(
            check,
            rerun=type(check.rerun)(),
            must_pass=(*check.must_pass, "y") if check.must_pass else (),
            keep_passing=check.keep_passing or ("x",),
        )
        for check in contract.checks
    )
    task = replace(contract.task, issue_text=f'{contract.task.issue_text}`parse("a ")` gives `["a"]`.\n')
    environment = replace(contract.environment, seed=Environment.seed)
    policy = replace(
        contract.policy, free_steering=(), network=Network(), dependencies=Dependencies(), words=TextRules(), rules={}
    )
    return replace(contract, task=task, checks=checks, environment=environment, policy=policy)


def test_a_good_contract_is_met_with_silence(clean: Contract) -> None:
    assert lint(clean) == ()


def test_remarks_have_the_line_of_what_was_written(full: Path) -> None:
    remarks = {remark.message: remark for remark in lint(load_contract(full))}
    lines = (full / "contract.yaml").read_text().splitlines()
    assert len(remarks) == 9
    assert remarks["no example: show an input and the expected result"].where == "issue.md:1:1"
    for words, text in {
        "check 'tests': decided by 'majority', which every report will flag": "rerun: {times: 3, decide: majority}",
        "a seed other than 20260307 is reported as a protocol deviation": "  seed: 7",
        "the patch may change files that steer the test runner": "  free_steering: [conftest.py]",
        "text rules are switched off: 'privilege-sudo'": "  words: {off: [privilege-sudo]}",
        "'words-*' is only a notice: it never fails a run": "  rules: {dns: alert",
        "the network is recorded: replay the cassette once there is one": "  network: {record: pages",
        "check 'tests': one test alone shows that the task is solved: is every part of the issue tried?": "must_pass:",
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
    "have no weight": lambda c: replace(c, score=Score(maintainability_checks=("compiles",))),
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


def with_policy(**changes: Any) -> Callable[[Contract], Contract]:
    return lambda contract: replace(contract, policy=replace(contract.policy, **changes))


def with_budget(**changes: Any) -> Callable[[Contract], Contract]:
    return lambda contract: replace(contract, budget=replace(contract.budget, **changes))


CASES |= {
    "open and not recorded": with_policy(network=Network(("example.org:443",))),
    "replay the cassette": with_policy(network=Network(("example.org:443",), "pages")),
    "opens a whole top-level domain": with_policy(network=Network(("*.org:443",), "pages")),
    "'localhost:80' is this machine": with_policy(network=Network(("localhost:80",), "pages")),
    "'127.0.0.1:80' is this machine": with_policy(network=Network(("127.0.0.1:80",), "pages")),
    "'169.254.169.254:80' is this machine": with_policy(network=Network(("169.254.169.254:80",), "pages")),
    "'db.internal:80' is this machine": with_policy(network=Network(("db.internal:80",), "pages")),
    "the network is closed: none can": with_policy(dependencies=Dependencies("allow", ("example.org",))),
    "registry 'example.net' is not": with_policy(
        network=Network(("example.org:443",), "pages"), dependencies=Dependencies("allow", ("example.net",))
    ),
    "registry 'example.org:444' is not": with_policy(
        network=Network(("example.org:443",), "pages"), dependencies=Dependencies("allow", ("example.org:444",))
    ),
    "registry 'badexample.org' is not": with_policy(
        network=Network(("*.example.org:443",), "pages"), dependencies=Dependencies("allow", ("badexample.org",))
    ),
    "no canaries": with_policy(canaries=False),
    "switched off: 'a', 'b'": with_policy(words=TextRules(("a", "b"))),
    "'network' is also under ask, which comes first": with_policy(
        ask=(Ask(("network",)),), rollback=(Rollback(("dns", "network")),)
    ),
    "continues as if approved": with_policy(ask=(Ask(("network",), 60, "approve"),)),
    "'network' is only a notice": with_policy(rules={"network": "notice"}),
    "'make tap' forbids the command of check 'taps'": with_policy(forbid_commands=("make tap",)),
    "'python3 -m pytest' forbids the command of check 'tests'": with_policy(forbid_commands=("python3 -m pytest",)),
    "the bytes that a run writes have no limit": with_budget(disk_bytes=None),
    "the files that a run writes have no limit": with_budget(inodes=None),
    "larger than all that the run may write": with_budget(file_bytes=1 << 30),
}


def test_what_is_in_order_is_not_remarked_on(clean: Contract) -> None:
    """Beside the one remark that a recording has in any case."""
    for allow, registry in (
        ("example.org:443", "example.org"),
        ("example.org:8443", "example.org:8443"),
        ("*.example.org:443", "files.example.org"),
        ("8.8.8.8:53", "8.8.8.8"),
        ("999.1.1.1:53", "999.1.1.1:53"),
    ):
        terms = with_policy(network=Network((allow,), "pages"), dependencies=Dependencies("allow", (registry,)))
        assert [remark.message[:23] for remark in lint(terms(clean))] == ["the network is recorded"]
    assert lint(with_policy(network=Network(replay=NamedFile("tape", "a" * 64)))(clean)) == ()
    assert lint(with_policy(forbid_commands=("true", "make tapestry", "pytest"))(clean)) == ()
    assert lint(with_policy(rules={"network": "alert", "dns": "violation"})(clean)) == ()
    assert lint(with_budget(tokens=None, tool_calls=None, failed_cycles=None, cpu_seconds=None)(clean)) == ()


@pytest.mark.parametrize("words", CASES)
def test_one_weakness_is_one_remark(clean: Contract, words: str) -> None:
    remarks = lint(CASES[words](clean))
    assert about(remarks, words), remarks
    assert all(remark.where.startswith(("contract.yaml:", "issue.md:")) for remark in remarks)
    assert len(remarks) <= 2, remarks


@pytest.mark.parametrize(
    ("issue", "where", "words"),
    [
        ("`f` fails.\nIt should  work properly.\n", "issue.md:2:17", "'properly' is vague"),
        ("`f` fails, etc. and more\n", "issue.md:1:12", "'etc.' is vague"),
        ("`f` has to give either 1 or 2\n", "issue.md:1:17", "'either' leaves a choice"),
        ("f has to give 1 and does not give it\n", "issue.md:1:1", "no example"),
    ],
)
def test_vague_words_have_their_place_in_the_issue(clean: Contract, issue: str, where: str, words: str) -> None:
    text = "x" * 100 + "\n"
    remarks = lint(replace(clean, task=replace(clean.task, issue_text=issue + text)))
    (remark,) = about(remarks, words)
    assert (remark.severity, remark.where) == ("advice", where)


def test_words_in_code_and_inside_others_are_not_vague(clean: Contract) -> None:
    issue = (
        "`maybe` fails:\n```\nperhaps()\n```\n    etc.\nThe improperly named fetcher of the betterment.\n" + "x" * 99
    )
    assert lint(replace(clean, task=replace(clean.task, issue_text=issue))) == ()


def test_checks_that_decide_little_are_pointed_at(clean: Contract) -> None:
    tests = next(check for check in clean.checks if check.results == "pytest")
    hidden = replace(tests, hidden=(Hidden("", "hidden", (NamedFile("tests/test_other.py", "a" * 64),)),))
    for changed, words in (
        (replace(tests, must_pass=("one",)), "one test alone"),
        (replace(tests, flake_tolerance="0.1"), "may differ in 0.1 of its attempts"),
        (replace(hidden, must_pass=("tests/test_a.py::x", "y")), "'tests/test_a.py' is not in a hidden file"),
    ):
        checks = tuple(changed if check is tests else check for check in clean.checks)
        (remark,) = about(lint(replace(clean, checks=checks)), words)
        assert remark.where.startswith("contract.yaml:")
    plain = tuple(
        replace(check, results="exit-code", must_pass=(), keep_passing=(), hidden=(), sentinel=None)
        for check in clean.checks
    )
    remarks = lint(replace(clean, checks=plain))
    assert about(remarks, "every acceptance check is only an exit code")
    assert about(remarks, "no acceptance check has hidden files")


@pytest.mark.parametrize(
    ("template", "silent"),
    [
        ("var test = require('tape');\nrequire('../');\n", True),
        ("const { f } = require('..');\n", True),
        ('import f from "..";\n', True),
        ("import { x } from './calc.js';\n", True),
        ("import calc\n", True),
        ('#include "unity/src/unity.h"\n#include "common.h"\n', True),
        ("var test = require('tape');\n", False),
        ('#include "unity/src/unity.h"\n', False),
        ("import unittest\n# calc is not imported\n", False),
    ],
)
def test_j1_a_sentinel_that_loads_nothing_of_the_project(clean: Contract, template: str, silent: bool) -> None:
    task = replace(clean.task, targets=replace(clean.task.targets, modules=("src/calc.py",)))
    checks = tuple(
        replace(check, sentinel=replace(check.sentinel, template=template)) if check.sentinel else check
        for check in clean.checks
    )
    assert any(check.sentinel for check in checks)
    remarks = lint(replace(clean, task=task, checks=checks))
    assert bool(about(remarks, "loads nothing of the project")) is not silent
