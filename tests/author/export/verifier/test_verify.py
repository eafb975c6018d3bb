"""The program of exported tasks: what it restores, what it reads, and what it does not believe."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from proctor.author.export.verifier import proctor_export_results
from proctor.author.export.verifier.verify import (
    is_guarded,
    judged,
    place,
    read_pytest,
    read_results,
    restore,
    shadows,
)

PLAN: dict[str, Any] = {
    "guarded": ["conftest.py", "tests/test_a.py"],
    "protected": ["tests/**"],
    "free_steering": ["free/**"],
    "steering_names": ["conftest.py", "pytest.ini"],
    "steering_pattern": r"(?si)(?:^|/)sitecustomize\.py\Z",
    "runner_modules": ["pytest", "_pytest"],
    "import_roots": ["", "src/"],
}


def archive(files: dict[str, str], links: dict[str, str] | None = None) -> tarfile.TarFile:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    made.seek(0)
    return tarfile.open(fileobj=made)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/conftest.py", True),
        ("tests/new.py", True),
        ("SiteCustomize.py", True),
        ("pytest/__init__.py", True),
        ("src/pytest.py", True),
        ("free/conftest.py", False),
        ("src/calc.py", False),
        ("pytest.md", False),
        ("lib/pytest.py", False),
    ],
)
def test_guarded_paths(path: str, expected: bool) -> None:
    assert is_guarded(PLAN, path) is expected


def test_only_modules_shadow_a_runner() -> None:
    assert shadows(PLAN, "pytest.so") and shadows(PLAN, "pytest") and not shadows(PLAN, "pytest.txt")


def test_restore_removes_what_was_added_and_writes_the_rest(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    outside.mkdir()
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "calc.py").write_text("mine")
    (tree / "conftest.py").write_text("forged")
    (tree / "pytest.ini").write_text("forged")
    (tree / "tests").symlink_to(outside)
    with archive({"base/conftest.py": "base", "base/tests/test_a.py": "test", "hidden/x/h.py": "hidden"}) as files:
        restore({**PLAN, "workspace": str(tree)}, files)
    found = {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}
    assert found == {"src/calc.py": "mine", "conftest.py": "base", "tests/test_a.py": "test"}
    assert not (tree / "tests").is_symlink() and not any(outside.iterdir())


def test_members_never_leave_the_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with archive(
        {"base/../out.txt": "x", "base//etc/y": "x", "base/in.txt": "x"}, {"base/link": "../out.txt"}
    ) as files:
        place(str(tree), files, "base/")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]
    assert sorted(path.name for path in tree.iterdir()) == ["in.txt", "link"]


LINES = b'{"id": "a", "when": "call", "outcome": "passed"}\n{"id": "a", "when": "teardown", "outcome": "failed"}\n'


def test_reports_of_pytest_count_only_to_the_end_of_a_session() -> None:
    assert read_pytest(LINES + b'{"status": 1}\n') == ({"a": "error"}, True)
    assert read_pytest(LINES + b'{"status": 3}\n') == ({"a": "error"}, False)
    assert read_pytest(LINES) == ({}, False)
    assert read_pytest(LINES + b'{"status": 0') == ({}, False)
    for line in (b"1", b"[]", b'"status"', b"null", b"[" * 100_000):
        assert read_pytest(LINES + line + b'\n{"status": 0}\n') == ({}, False)
    skipped = b'{"id": "b", "when": "setup", "outcome": "skipped"}\n{"status": 0}\n'
    assert read_pytest(skipped) == ({"b": "skipped"}, True)


def check(**changes: Any) -> dict[str, Any]:
    return {"results": "tap", "results_file": "out.tap", "must_pass": ["one"], "keep_passing": [], **changes}


def test_results_are_read_from_a_plain_file(tmp_path: Path) -> None:
    assert read_results(check(), str(tmp_path)) == ({}, False)
    (tmp_path / "real.tap").write_text("1..1\nok 1 - one\n")
    (tmp_path / "out.tap").symlink_to(tmp_path / "real.tap")
    assert read_results(check(), str(tmp_path)) == ({}, False)
    os.replace(tmp_path / "real.tap", tmp_path / "out.tap")
    assert judged(check(), 0, str(tmp_path)) == (True, {"one": "passed"})
    assert judged(check(), 1, str(tmp_path)) == (True, {"one": "passed"})
    assert judged(check(), -9, str(tmp_path))[0] is False
    assert judged(check(), None, str(tmp_path))[0] is False
    assert judged(check(must_pass=["two"]), 0, str(tmp_path))[0] is False
    assert judged(check(must_pass=[]), 1, str(tmp_path))[0] is False
    assert judged(check(must_pass=[]), 0, str(tmp_path))[0] is True
    assert judged(check(results="exit-code"), 0, str(tmp_path)) == (True, {})


TESTS = """
import os, subprocess, sys
import pytest

def test_good():
    assert "PROCTOR_EXPORT_RESULTS" not in os.environ and os.environ["PYTEST_ADDOPTS"] == "-q"

def test_bad():
    assert False

@pytest.mark.skip
def test_skipped():
    pass

def test_inner(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_inner_good(): pass")
    assert subprocess.run([sys.executable, "-m", "pytest", str(tmp_path)]).returncode == 0
"""


def test_the_plugin_reports_one_session(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    results = tmp_path / "results"
    results.mkdir()
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(proctor_export_results.__file__).parent),
        "PYTEST_ADDOPTS": "-p proctor_export_results -p no:cacheprovider -q",
        "PROCTOR_EXPORT_RESULTS": str(results),
        "PROCTOR_EXPORT_OPTIONS": "-q",
    }
    command = [sys.executable, "-m", "pytest", "-x", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout
    outcomes, complete = read_pytest((results / "pytest.jsonl").read_bytes())
    expected = {"good": "passed", "bad": "failed", "skipped": "skipped", "inner": "passed"}
    assert complete and outcomes == {f"test_it.py::test_{name}": outcome for name, outcome in expected.items()}
