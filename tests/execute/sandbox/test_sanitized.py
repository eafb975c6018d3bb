"""The helper and the guard, built with AddressSanitizer and UndefinedBehaviorSanitizer; any report fails a test.

The tests of the guard and the attacks run again with that build, as pid 1 and as the guard. A fuzz target makes the
guard decide about damaged arguments: see ``native/fuzz_guard.c``. A sanitizer ends the program at the first fault,
which the tests notice, and writes a report, which they look for as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.execute.sandbox.sanitized import HELPER
from tests.execute.sandbox.workplace import open_directory
from tools.build_hook import compile_sanitized

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
NATIVE = HERE / "native"
SEEDS = range(1, 6)
TURNS = 200_000
FILES = (
    "tests/execute/sandbox/test_guard_observations.py",
    "tests/execute/sandbox/test_guard_claims.py",
    "tests/execute/sandbox/test_guard_unreadable.py",
    "tests/execute/sandbox/test_guard_programs.py",
    "tests/execute/sandbox/test_guard_programs_held.py",
    "tests/execute/sandbox/test_guard_reads.py",
    "tests/execute/sandbox/test_guard_all_reads.py",
    "tests/execute/sandbox/test_guard_origins.py",
    "tests/execute/sandbox/test_bubblewrap.py",
    "tests/attacks/test_isolation.py",
)


class Lane:
    """A directory for programs with sanitizers, and the reports that they leave there."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / "reports").mkdir()
        (top / "reports").chmod(0o1777)
        self._built: dict[str, Path] = {}

    def program(self, name: str) -> Path:
        """The helper, or the fuzz target beside this file."""
        if name not in self._built:
            more = [NATIVE / "options.c", *([NATIVE / f"{name}.c"] if name != "helper" else [])]
            log = self.top / "reports" / "report"
            self._built[name] = compile_sanitized(self.top / name, log, *more, helper=name == "helper")
        return self._built[name]

    def fuzz(self, seed: int, turns: int, *race: str) -> subprocess.CompletedProcess[str]:
        """Run the fuzz target to its end."""
        scratch = self.top / "scratch"
        scratch.mkdir(exist_ok=True)
        return subprocess.run(
            [self.program("fuzz_guard"), scratch, str(seed), str(turns), *race],
            capture_output=True,
            text=True,
            timeout=300,
        )

    def reports(self) -> str:
        """What the sanitizers have reported."""
        return "\n".join(path.read_text("utf-8", "replace") for path in (self.top / "reports").iterdir())


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    with open_directory() as top:
        yield Lane(top)


@pytest.mark.soak
@pytest.mark.parametrize("file", FILES)
def test_the_guard_and_its_helper_with_sanitizers(lane: Lane, file: str) -> None:
    helper = lane.program("helper")
    assert b"__asan_" in helper.read_bytes() and b"__ubsan_" in helper.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "tests.execute.sandbox.sanitized", "-m", "not soak", file],
        cwd=PROJECT,
        env={**os.environ, HELPER: str(helper), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert lane.reports() == ""
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_a_few_damaged_arguments(lane: Lane) -> None:
    done = lane.fuzz(0, 5_000)
    assert done.returncode == 0 and lane.reports() == "", lane.reports() + done.stderr
    assert "calls" in done.stdout and done.stdout == lane.fuzz(0, 5_000).stdout


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_arguments(lane: Lane, seed: int) -> None:
    done = lane.fuzz(seed, TURNS)
    assert done.returncode == 0 and lane.reports() == "", lane.reports() + done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_arguments_that_change_meanwhile(lane: Lane, seed: int) -> None:
    done = lane.fuzz(seed, TURNS, "race")
    assert done.returncode == 0 and lane.reports() == "", lane.reports() + done.stderr


PLANTED = """
#include "guard.h"
int main(int argc, char **argv)
{
    char *text = argv[argc - 1];
    char into[4] = "";
    for (int i = 0; text[i]; i++)
        into[i] = text[i];
    return into[0];
}
"""


def test_a_fault_is_reported(lane: Lane) -> None:
    """A program with a fault of its own, built like the others, ends and leaves a report."""
    source = lane.top / "planted.c"
    source.write_text(PLANTED)
    log = lane.top / "planted-report"
    program = compile_sanitized(lane.top / "planted", log, source, NATIVE / "options.c", helper=False)
    assert subprocess.run([program, "too long for it"], capture_output=True).returncode != 0
    (report,) = lane.top.glob("planted-report*")
    assert "stack-buffer-overflow" in report.read_text() or "out of bounds" in report.read_text()
