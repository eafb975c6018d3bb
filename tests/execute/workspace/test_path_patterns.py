"""Patterns for paths."""

from __future__ import annotations

import pytest

from proctor.execute.workspace.path_patterns import matches


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("a.py", "a.py"),
        ("a.py", "*.py"),
        ("src/a.py", "src/*.py"),
        ("src/a.py", "src/**"),
        ("src/deep/er/a.py", "src/**"),
        ("a.py", "**"),
        ("x/y/z", "**"),
        ("a.py", "**/*.py"),
        ("x/y/a.py", "**/*.py"),
        ("x/a.py", "x/**/a.py"),
        ("x/1/2/3/a.py", "x/**/a.py"),
        ("docs/a/b", "docs/"),
        ("a1", "a?"),
        ("ab", "a[!c]"),
        ("a/b/a/b/c", "**/a/b/c"),
        (b"caf\xe9", "caf?"),
        ("café", "caf?"),
        (b"new\nline", "new*"),
        ("[x", "[x"),
    ],
)
def test_a_path_that_matches(path: str | bytes, pattern: str) -> None:
    assert matches(path, pattern)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("src/a.py", "*.py"),
        ("src", "src/**"),
        ("docs", "docs/"),
        ("src/x/a.py", "src/*.py"),
        ("srcx/a.py", "src/**"),
        ("a.pyc", "**/*.py"),
        ("x/y", "x"),
        ("x", "x/y"),
        ("ac", "a[!c]"),
        ("a.py\n", "a.py"),
        ("A.py", "a.py"),
    ],
)
def test_a_path_that_does_not_match(path: str | bytes, pattern: str) -> None:
    assert not matches(path, pattern)


def test_hostile_names_do_not_make_matching_slow() -> None:
    assert not matches("a/" * 120 + "b", "**/a/" * 20 + "**/c")
    assert not matches("a" * 250, "*a" * 30 + "*b")
