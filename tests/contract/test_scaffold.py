"""A new contract is whole: it loads, its bug is real, and its reference mends it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.contract.digest import content_id
from proctor.contract.lint import lint
from proctor.contract.load import load_contract
from proctor.contract.model import ArchiveRepository, Ask, Budget, Policy
from proctor.contract.scaffold import scaffold


def test_it_loads_as_it_is(tmp_path: Path) -> None:
    written = scaffold(tmp_path / "new" / "task", "my-task")
    contract = load_contract(tmp_path / "new" / "task")
    assert contract.name == "my-task"
    assert sorted(written) == sorted(path for path in (tmp_path / "new" / "task").rglob("*") if path.is_file())
    assert isinstance(contract.repository, ArchiveRepository)
    digest = hashlib.sha256((tmp_path / "new/task/repository.tar").read_bytes()).hexdigest()
    assert contract.repository.source.files[0].sha256 == digest


def test_only_what_an_author_must_decide_is_remarked_on(tmp_path: Path) -> None:
    scaffold(tmp_path / "task", "task")
    remarks = lint(load_contract(tmp_path / "task"))
    assert [remark.message for remark in remarks if remark.severity == "warning"] == [
        "check 'tests': decided by an exit code alone, which the code under test can forge"
    ]


def test_what_its_comments_offer_loads_too(tmp_path: Path) -> None:
    scaffold(tmp_path / "task", "task")
    file = tmp_path / "task/contract.yaml"
    text = file.read_text()
    for offer in ("ask", "rules"):
        assert text.count(f"  # {offer}: ") == 1
        text = text.replace(f"  # {offer}: ", f"  {offer}: ")
    file.write_text(text)
    policy = load_contract(tmp_path / "task").policy
    assert policy.ask == (Ask(("write-outside",)),)
    assert policy.rules == {"network": "violation"}


def test_what_it_writes_out_are_the_defaults(tmp_path: Path) -> None:
    scaffold(tmp_path / "task", "task")
    contract = load_contract(tmp_path / "task")
    assert contract.policy == Policy(max_changed_files=5)
    assert contract.budget == Budget(wall_seconds=600)


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        scaffold(tmp_path / name, "task")
    assert content_id(load_contract(tmp_path / "one")) == content_id(load_contract(tmp_path / "two"))
    assert (tmp_path / "one/repository.tar").read_bytes() == (tmp_path / "two/repository.tar").read_bytes()


def test_the_bug_is_real_and_the_reference_mends_it(tmp_path: Path) -> None:
    directory, tree = tmp_path / "task", tmp_path / "tree"
    scaffold(directory, "task")
    tree.mkdir()
    subprocess.run(["tar", "-xf", directory / "repository.tar", "-C", tree], check=True, timeout=120)
    (tree / "test_greeting.py").write_bytes((directory / "hidden/test_greeting.py").read_bytes())
    test = [sys.executable, "-B", "-m", "unittest", "-q", "test_greeting"]
    assert subprocess.run(test, cwd=tree, capture_output=True, timeout=120).returncode == 1
    patch = ["git", "apply", "-p1", str(directory / "reference.patch")]
    subprocess.run(patch, cwd=tree, check=True, capture_output=True, timeout=120)
    assert subprocess.run(test, cwd=tree, capture_output=True, timeout=120).returncode == 0


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path, tmp_path / "file"):
        with pytest.raises(UsageFault, match="not an empty directory"):
            scaffold(place, "task")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "..", "a b", "A", "a/b", "-x", "x\n", "x" * 101])
def test_a_name_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageFault, match="cannot be the name"):
        scaffold(tmp_path / "task", name)
    assert not (tmp_path / "task").exists()
