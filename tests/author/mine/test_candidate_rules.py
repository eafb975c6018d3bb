"""Cheap rules reject commits that are no tasks, each with a reason that the closing table explains."""

from __future__ import annotations

import pytest

from proctor.author.mine.candidate_rules import ADMITTABLE, REASONS, Rules, by_message, by_paths
from proctor.execute.workspace.git_history import CommitFacts, PathChange


def facts(message: str, author: str = "Ada", parents: int = 1) -> CommitFacts:
    return CommitFacts("a" * 40, ("b" * 40,) * parents, author, 0, 0, message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Fix several spaces", ""),
        ("Release the lock when the file is closed", ""),
        ("Update the cursor after a resize", ""),
        ("Reverse the order of keys", ""),
        ('Revert "Fix several spaces"', "revert"),
        ("Undo\n\nThis reverts commit 1a2b3c4.", "revert"),
        ("Release 1.2", "release"),
        ("v2.0.1", "release"),
        ("Bump version to 3", "release"),
        ("Bump idna from 3.1 to 3.2", "dependencies"),
        ("Update requirements", "dependencies"),
        ("Fix typo in message", "style"),
        ("docs: explain", "style"),
    ],
)
def test_messages(message: str, reason: str) -> None:
    assert by_message(facts(message), 0) == reason


def test_authors_and_parents() -> None:
    assert by_message(facts("Fix", "dependabot[bot]"), 0) == "bot"
    assert by_message(facts("Fix", "Abbott"), 0) == ""
    assert by_message(facts("First", parents=0), 0) == "first-commit"
    assert by_message(facts("Merge branch 'next'", parents=2), 31) == "merge-bundle"


def changed(*paths: str, after: int = 0o100644) -> list[PathChange]:
    return [PathChange(path.encode(), 0o100644, after) for path in paths]


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["a.py", "tests/test_a.py"], ""),
        (["contest/a.py"], "no-tests"),
        (["docs/a.rst", "tests/test_a.py"], "no-source"),
        (["pkg/_vendor/a.py", "tests/test_a.py"], "vendored"),
        (["a.py", "pkg/_vendor/a.py", "tests/test_a.py"], "vendored"),
        (["uv.lock", "tests/test_a.py"], "no-source"),
        (["a.py", "tests/test_a.py", "new\nline"], "file-names"),
        ([*(f"{n}.py" for n in range(11)), "tests/test_a.py"], "too-large"),
    ],
)
def test_paths(paths: list[str], reason: str) -> None:
    assert by_paths(changed(*paths), Rules()) == reason


def test_links_submodules_and_removed_tests() -> None:
    source = changed("a.py")
    assert by_paths([*source, *changed("tests/test_a.py", after=0)], Rules()) == "no-tests"
    assert by_paths([*source, *changed("tests/test_a.py", after=0o120000)], Rules()) == "link-in-tests"
    assert by_paths([*source, *changed("tests/test_a.py"), *changed("lib", after=0o160000)], Rules()) == "submodule"


def test_reasons_can_be_admitted() -> None:
    many = changed(*(f"{n}.py" for n in range(11)), "tests/test_a.py")
    assert by_paths(many, Rules(source_files=11)) == by_paths(many, Rules(frozenset({"too-large"}))) == ""
    assert set(REASONS) >= ADMITTABLE
