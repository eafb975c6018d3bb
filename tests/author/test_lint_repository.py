"""The linter looks at a repository that lies on this machine, and says nothing of any other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]
NOWHERE = "0" * 40


@pytest.fixture
def repository(tmp_path: Path, make_contract: Any) -> tuple[Path, str]:
    """A repository with the module that has the bug, and its commit."""
    path = tmp_path / "repository"
    path.mkdir()
    (path / "calc.py").write_text(make_contract.FILES["calc.py"])

    def git(*words: str) -> str:
        named = ["git", "-C", str(path), "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        return subprocess.run(named, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", "calc.py")
    git("commit", "-q", "-m", "first")
    return path, git("rev-parse", "HEAD")


def said(proctor: Proctor, contract: Path) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
    """The exit code, the mistakes and the remarks on reference and repository."""
    done = proctor("lint", contract, "--json")
    answer = json.loads(done.stdout)
    about = [one for one in answer["remarks"] if "does not fit" in one["message"]]
    return done.returncode, answer["mistakes"], about


def other_patch(contract: Path) -> None:
    (contract / "fix.patch").write_text((contract / "fix.patch").read_text().replace("a - b", "a * b"))


VARIANT = (
    "--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n import calc\n"
    "-assert calc.add(0, 0) == 0\n+assert calc.add(0, 0) == 1\n"
)


@pytest.fixture
def varied(make_contract: Any) -> Callable[..., Path]:
    """A contract with declared variants, by their texts, and the test in two files: a protected and a hidden one."""

    def make(*variants: str, **parts: Any) -> Path:
        names = [f"variants/{number}.patch" for number in range(len(variants))]
        check = {**make_contract.CHECK, "hidden": [{"from": "hidden"}], "inverted": {"variants": names}}
        directory: Path = make_contract(checks=[check], policy={"protected": ["tests/**"]}, **parts)
        (directory / "hidden").mkdir()
        (directory / "hidden" / "test_more.py").write_text(make_contract.FILES["tests/test_calc.py"])
        (directory / "variants").mkdir()
        for name, text in zip(names, variants, strict=True):
            (directory / name).write_text(text)
        return directory

    return make


def test_declared_variants_that_fit_hidden_and_protected_tests(proctor: Proctor, varied: Callable[..., Path]) -> None:
    contract = varied(VARIANT.format(path="test_more.py"), VARIANT.format(path="tests/test_calc.py"))
    assert said(proctor, contract) == (0, [], [])


def test_each_declared_variant_that_does_not_fit_is_named_once(proctor: Proctor, varied: Callable[..., Path]) -> None:
    good = VARIANT.format(path="test_more.py")
    other = good.replace("(0, 0)", "(7, 7)")
    contract = varied(good, other, VARIANT.format(path="calc.py"), "not a patch", VARIANT.format(path="tests/no.py"))
    code, mistakes, _ = said(proctor, contract)
    assert code == 2
    assert [one["message"].replace(" does not apply", "") for one in mistakes] == [
        "the variant variants/1.patch: error: patch failed: test_more.py:1",
        "the variant variants/2.patch: no hidden or protected file is called calc.py",
        "the variant variants/3.patch: the patch names no file",
        "the variant variants/4.patch: no hidden or protected file is called tests/no.py",
    ]
    lines = (contract / "contract.yaml").read_text().splitlines()
    assert ["variants/1.patch" in lines[mistakes[0]["line"] - 1], mistakes[0]["hint"][:20]] == [
        True,
        "make the patch again",
    ]


def test_variants_of_files_that_are_elsewhere_or_made_by_setup_are_not_looked_at(
    proctor: Proctor, varied: Callable[..., Path]
) -> None:
    contract = varied(VARIANT.format(path="tests/made.py"), setup=[{"run": "touch tests/made.py"}])
    assert said(proctor, contract) == (0, [], [])


def test_an_archive_that_is_the_pinned_one_and_a_patch_that_fits(proctor: Proctor, make_contract: Any) -> None:
    assert said(proctor, make_contract()) == (0, [], [])


def test_a_patch_that_does_not_fit_is_a_mistake_with_its_line(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    other_patch(contract)
    code, (mistake,), _ = said(proctor, contract)
    lines = (contract / "contract.yaml").read_text().splitlines()
    assert code == 2
    assert '"reference"' in lines[mistake["line"] - 1]
    assert mistake["message"] == (
        "the reference does not fit the repository: the patch does not apply: error: patch failed: calc.py:1"
    )


def test_a_reference_without_a_change_is_a_mistake(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    (contract / "fix.patch").write_text("\n")
    code, (mistake,), _ = said(proctor, contract)
    assert (code, mistake["message"]) == (2, "the patch of the reference is empty")


def test_a_patch_may_be_meant_for_what_setup_makes(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(setup=[{"run": "sed -i s/a.-.b/a*b/ calc.py"}])
    other_patch(contract)
    code, mistakes, (remark,) = said(proctor, contract)
    assert (code, mistakes, remark["severity"]) == (0, [], "warning")


def test_another_archive_than_the_pinned_one(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    (contract / "repository.tar").write_bytes(b"something else")
    code, (mistake,), _ = said(proctor, contract)
    assert code == 2
    assert "is not the pinned file" in mistake["message"]


def test_another_archive_than_the_pinned_one_which_a_run_has_fetched_before(
    proctor: Proctor, make_contract: Any
) -> None:
    contract = make_contract()
    assert said(proctor, contract) == (0, [], [])
    (archive,) = contract.glob("*.tar*")
    archive.write_bytes(b"damaged")
    code, (mistake,), _ = said(proctor, contract)
    assert code == 2 and "is not the pinned file" in mistake["message"] and "contract.yaml" in mistake["hint"]


def test_a_commit_that_is_there(proctor: Proctor, make_contract: Any, repository: tuple[Path, str]) -> None:
    path, commit = repository
    contract = make_contract(repository={"git": str(path), "commit": commit})
    assert said(proctor, contract) == (0, [], [])
    other_patch(contract)
    code, (mistake,), _ = said(proctor, contract)
    assert code == 2 and "does not fit the repository" in mistake["message"]


def test_a_commit_that_is_not_there(proctor: Proctor, make_contract: Any, repository: tuple[Path, str]) -> None:
    contract = make_contract(repository={"git": str(repository[0]), "commit": NOWHERE})
    code, (mistake,), _ = said(proctor, contract)
    lines = (contract / "contract.yaml").read_text().splitlines()
    assert code == 2
    assert mistake["file"] == str(contract / "contract.yaml"), "as every other mistake of a contract is named"
    assert mistake["message"] == f"there is no commit {NOWHERE}"
    assert '"commit"' in lines[mistake["line"] - 1]


def test_a_directory_that_is_no_repository(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    code, (mistake,), _ = said(proctor, make_contract(repository={"git": str(tmp_path), "commit": NOWHERE}))
    assert code == 2 and mistake["message"] == "not a git repository"


def test_nothing_is_said_of_what_is_elsewhere(proctor: Proctor, make_contract: Any) -> None:
    address = "https://example.invalid/repository.git"
    contract = make_contract(repository={"git": address, "commit": NOWHERE})
    other_patch(contract)
    assert said(proctor, contract) == (0, [], [])
    archived = make_contract("archived", repository={"archive": "https://example.invalid/r.tar", "sha256": "0" * 64})
    assert said(proctor, archived) == (0, [], [])
