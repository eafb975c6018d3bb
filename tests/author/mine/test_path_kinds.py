"""Kinds of files are decided by the components of paths."""

from __future__ import annotations

import pytest

from proctor.author.mine.path_kinds import kind_of, usable_path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/contest/core.py", "source"),
        ("pkg/attestation.py", "source"),
        ("pkg/docstrings.py", "source"),
        ("pkg/changes.py", "source"),
        ("pkg/history.py", "source"),
        ("tests/test_core.py", "test"),
        ("tests/data/input.txt", "test"),
        ("pkg/tests/__init__.py", "test"),
        ("conftest.py", "test"),
        ("pkg/test_core.py", "test"),
        ("pkg/core_test.py", "test"),
        ("pytest.ini", "test"),
        ("pkg/_vendor/six.py", "vendored"),
        ("node_modules/x/index.js", "vendored"),
        ("pkg/schema_pb2.py", "generated"),
        ("slugs.egg-info/PKG-INFO", "generated"),
        ("uv.lock", "lock"),
        ("package-lock.json", "lock"),
        (".github/workflows/tests.yml", "ci"),
        (".pre-commit-config.yaml", "ci"),
        ("CHANGES", "changelog"),
        ("CHANGES.rst", "changelog"),
        ("docs/changelog.md", "changelog"),
        ("docs/versionhistory.rst", "changelog"),
        ("changelog.d/123.bugfix.rst", "changelog"),
        ("newsfragments/12.fix", "changelog"),
        ("docs/index.rst", "documentation"),
        ("README.md", "documentation"),
        ("examples/demo.py", "documentation"),
        ("pyproject.toml", "build"),
        ("noxfile.py", "build"),
        ("requirements/tests.txt", "build"),
        ("requirements-dev.txt", "build"),
        ("pkg/data.bin", "other"),
    ],
)
def test_kinds(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    "name",
    [
        b"\xff.py",
        b"a\nb",
        b"../up",
        b"/abs",
        b"a//b",
        b"-x",
        b".git/config",
        b"a/.GIT/x",
        b"a\\b",
        b"a" * 300,
        b" a",
        b"",
    ],
)
def test_names_that_a_contract_cannot_carry(name: bytes) -> None:
    assert usable_path(name) == ""


def test_usual_names_can_be_carried() -> None:
    assert usable_path("tests/café test.py".encode()) == "tests/café test.py"
