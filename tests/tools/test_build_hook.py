"""A machine that cannot compile the native helper gets one message with what to do, and no traceback."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = "src/proctor/execute/sandbox/native"


@pytest.fixture
def tree(tmp_path: Path, project: Path) -> Path:
    """What the hook needs of the project, in a place of its own."""
    (tmp_path / "tools").mkdir()
    shutil.copy(project / "tools" / "build_hook.py", tmp_path / "tools")
    shutil.copytree(project / NATIVE, tmp_path / NATIVE)
    return tmp_path


def build(tree: Path, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / "tools" / "build_hook.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={"PATH": str(path)})


def test_i2_without_a_compiler(tree: Path) -> None:
    empty = tree / "empty"
    empty.mkdir()
    done = build(tree, empty)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("proctor: the native helper cannot be built: none of cc, gcc, clang is on PATH")
    assert "apt-get install gcc" in done.stderr


def test_i2_with_a_compiler_that_fails(tree: Path) -> None:
    compiler = tree / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho cannot find -lc >&2\nexit 1\n")
    compiler.chmod(0o755)
    done = build(tree, compiler.parent)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot find -lc" in done.stderr and f"{compiler} failed" in done.stderr
    assert not any((tree / "src/proctor/execute/sandbox/bin").iterdir()), "nothing half-made is left"


def test_i2_with_a_compiler(tree: Path) -> None:
    done = build(tree, Path("/usr/bin"))
    assert done.returncode == 0, done.stderr
    assert (tree / "src/proctor/execute/sandbox/bin/proctor-init").is_file()
