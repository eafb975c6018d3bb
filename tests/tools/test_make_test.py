"""``make test`` fails on a style error, a type error and a failing test, and leaves no process when it is stopped.

The Makefile, its tools and the configuration are the project's own; the code that they check is a small project.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

GOOD = '"""A module."""\n\nNUMBER: int = 1\n'
BAD_TYPE = '"""A module."""\n\nNUMBER: int = "one"\n'
BAD_STYLE = '"""A module."""\n\nimport os\n\nNUMBER: int = 1\n'
PASSES = '"""A test."""\n\n\ndef test_it() -> None:\n    assert sum([1, 1]) == 2\n'
FAILS = PASSES.replace("== 2", "== 3")
WAITS = (
    '"""A test that waits."""\n\nimport os\nimport time\nfrom pathlib import Path\n\n\ndef test_it() -> None:\n'
    '    Path(os.environ["STARTED"]).write_text("")\n    time.sleep(1000)\n'
)
PATIENCE_SECONDS = 120
TYPES, TESTS = "types: FAILED, exit code 1", "tests: FAILED, exit code 1"


@pytest.fixture
def small(project: Path, tmp_path: Path) -> Path:
    """A project with the Makefile and the configuration of this one, whose environment is set up already."""
    top = tmp_path / "small"
    for name in ("src", "tests", "tools", "bench"):
        (top / name).mkdir(parents=True)
        (top / name / "empty.py").write_text("")
    for name in ("Makefile", "pyproject.toml", "tools/parallel.py"):
        shutil.copy(project / name, top / name)
    (top / "tools/bootstrap").write_text("#!/bin/sh\n")
    (top / "tools/bootstrap").chmod(0o755)
    (top / "src/small.py").write_text(GOOD)
    (top / "tests/test_small.py").write_text(PASSES)
    return top


def make(top: Path, *, started: Path | None = None) -> subprocess.Popen[str]:
    """``make test`` in a session of its own, as if no other ``make`` ran around it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.Popen(
        ["make", "test", f"PYTHON={sys.executable}"],
        cwd=top,
        env={**environment, "STARTED": str(started), "TMPDIR": str(top.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def made(top: Path) -> tuple[int, str]:
    """The exit code and the output of ``make test``."""
    with make(top) as child:
        output, _ = child.communicate(timeout=PATIENCE_SECONDS)
    return child.returncode, output


def test_c1_a_sound_project_passes(small: Path) -> None:
    code, output = made(small)
    assert code == 0, output
    assert "1 passed" in output and "tests: passed\n" in output and "types: passed\n" in output


def test_c1_a_type_error_fails_although_all_tests_pass(small: Path) -> None:
    (small / "src/small.py").write_text(BAD_TYPE)
    code, output = made(small)
    assert code != 0, output
    assert "1 passed" in output and "Incompatible types in assignment" in output
    assert TYPES in output and "tests: passed\n" in output


def test_c1_a_style_error_fails_before_anything_else_runs(small: Path) -> None:
    (small / "src/small.py").write_text(BAD_STYLE)
    code, output = made(small)
    assert code != 0, output
    assert "F401" in output and "tests:" not in output and "types:" not in output


def test_c1_a_failing_test_fails(small: Path) -> None:
    (small / "tests/test_small.py").write_text(FAILS)
    code, output = made(small)
    assert code != 0, output
    assert "1 failed" in output and TESTS in output and "types: passed\n" in output


def test_c1_a_failing_test_hides_no_type_error(small: Path) -> None:
    (small / "src/small.py").write_text(BAD_TYPE)
    (small / "tests/test_small.py").write_text(FAILS)
    code, output = made(small)
    assert code != 0, output
    assert output.index("1 failed") < output.index("Incompatible types"), "the types are reported after the tests"
    assert TESTS in output and TYPES in output


def members(session: int) -> Iterator[int]:
    """The processes of a session that have not ended."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_bytes().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
                yield int(place.name)


def wait_for(path: Path, child: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_c1_a_stopped_run_leaves_no_process(small: Path, tmp_path: Path, number: signal.Signals) -> None:
    (small / "tests/test_small.py").write_text(WAITS)
    with make(small, started=tmp_path / "started") as child:
        wait_for(tmp_path / "started", child)
        if number == signal.SIGINT:
            os.killpg(child.pid, number)  # a terminal sends it to every process of the job
        else:
            child.send_signal(number)
        output, _ = child.communicate(timeout=PATIENCE_SECONDS)
    assert child.returncode != 0 and f"stopped by {number.name}" in output
    assert list(members(child.pid)) == []
