"""Files beside hidden tests, which these may import, are protected, or ``lint`` warns with what to add."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.author.lint_hidden_tests import remarks_on_unprotected
from proctor.cli.main import run_command
from proctor.contract.load import load_contract
from proctor.contract.model import Contract, Hidden, NamedFile, Targets
from proctor.contract.scaffold import scaffold


@pytest.fixture
def contract(tmp_path: Path) -> Contract:
    """A new contract; its hidden test lies at the top of the tree."""
    scaffold(tmp_path / "task", "task")
    return load_contract(tmp_path / "task")


def own(*paths: str, **fields: Any) -> Hidden:
    """Files of the contract's directory ``hidden``."""
    return Hidden("", "hidden", tuple(NamedFile(f"hidden/{path}", "a" * 64) for path in paths), **fields)


def with_hidden(contract: Contract, *hidden: Hidden, **policy: Any) -> Contract:
    *others, last = contract.checks
    checks = (*others, replace(last, hidden=hidden))
    return replace(contract, checks=checks, policy=replace(contract.policy, **policy))


def unprotected(contract: Contract) -> list[str]:
    """The patterns that the remarks want to be added."""
    return [re.findall(r"add '(.*)' to", remark.message)[0] for remark in remarks_on_unprotected(contract)]


def test_a_new_contract_gets_no_warning(contract: Contract) -> None:
    assert contract.checks[-1].hidden and remarks_on_unprotected(contract) == ()


def test_a_warning_has_its_line_and_says_what_to_add(contract: Contract) -> None:
    (remark,) = remarks_on_unprotected(with_hidden(contract, own("tests/test_a.py")))
    line = int(remark.where.split(":")[1])
    text = (contract.directory / "contract.yaml").read_text().splitlines()[line - 1]
    assert remark.severity == "warning" and "hidden:" in text
    assert remark.message == (
        "check 'tests': a patch can change other files in 'tests', which its hidden tests may import: "
        "add 'tests/**' to policy.protected"
    )


@pytest.mark.parametrize(
    ("hidden", "wanted"),
    [
        (own("test_a.py"), []),
        (own("docs/a.md"), []),
        (own("tests/run.sh"), ["tests/**"]),
        (own("checks/test_a.py"), ["checks/**"]),
        (own("tests/test_a.py", "tests/unit/test_b.py", "spec/a.js"), ["spec/**", "tests/**"]),
        (own("test_a.py", to="tests/unit"), ["tests/unit/**"]),
        (own("a/tests/test_a.py", strip=1), ["tests/**"]),
        (own("tests/test_a.py", "more/test_b.py", paths=("more",)), ["more/**"]),
        (Hidden("fixed", paths=("top-1.2/tests",), strip=1), ["tests/**"]),
        (Hidden("fixed", paths=("top-1.2/src/tests/test_*.py",), strip=1), ["src/tests/**"]),
        (Hidden("fixed", paths=("top-1.2/tests/**",), strip=1), ["tests/**"]),
        (Hidden("fixed", paths=("top-1.2/test_a.py",), strip=1), []),
        (Hidden("fixed", paths=("top-1.2/data",), strip=1), []),
        (Hidden("fixed", strip=1), []),
    ],
)
def test_directories_of_hidden_tests_are_found(contract: Contract, hidden: Hidden, wanted: list[str]) -> None:
    found = with_hidden(contract, hidden)
    assert unprotected(found) == wanted
    assert unprotected(with_hidden(contract, hidden, protected=tuple(wanted))) == []


@pytest.mark.parametrize(
    ("policy", "silent"),
    [
        ({"protected": ("tests/",)}, True),
        ({"protected": ("**/*.py",)}, True),
        ({"forbidden": ("tests/**",)}, True),
        ({"protected": ("tests/test_a.py",)}, False),
        ({"protected": ("tests/*.js",)}, False),
        ({"protected": ("tests/unit/**",)}, False),
    ],
)
def test_a_pattern_has_to_cover_files_beside_the_tests(contract: Contract, policy: Any, silent: bool) -> None:
    found = unprotected(with_hidden(contract, own("tests/test_a.py", "tests/data.json"), **policy))
    assert found == ([] if silent else ["tests/**"])


def test_a_directory_with_target_modules_cannot_be_protected(contract: Contract) -> None:
    found = with_hidden(contract, own("src/app.test.js"))
    assert unprotected(found) == ["src/**"]
    task = replace(found.task, targets=Targets(("src/app.js",)))
    assert unprotected(replace(found, task=task)) == []


def test_lint_prints_the_warning(contract: Contract, capsys: pytest.CaptureFixture[str]) -> None:
    here = contract.directory
    run_command(["lint", str(here)])
    assert "policy.protected" not in capsys.readouterr().out
    (here / "hidden" / "tests").mkdir()
    (here / "hidden" / "test_greeting.py").rename(here / "hidden" / "tests" / "test_greeting.py")
    run_command(["lint", str(here)])
    assert "add 'tests/**' to policy.protected" in capsys.readouterr().out
