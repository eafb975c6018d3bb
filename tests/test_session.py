"""A test session works whatever an earlier one left behind, and leaves nothing itself."""

from __future__ import annotations

import fcntl
import getpass
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.base.untrusted_directories import erase
from tests.session import end, remove_left, temporary

DEEP = 3_000
NAME = "a-directory-with-a-long-name"
TINY = "tests/base/test_names.py"


def deep(top: Path) -> None:
    """Directories in directories, deeper than Python recurses and with a path that is longer than the kernel takes."""
    handle = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir(NAME, dir_fd=handle)
        inner = os.open(NAME, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for ``TMPDIR``; pytest could not remove what the tests make in it."""
    path = tmp_path / "t"
    path.mkdir()
    yield path
    erase(path)


def left(place: Path, uid: int) -> list[Path]:
    """What sessions have left in ``place``."""
    return list((place / f"pt-{uid}").iterdir())


def run_some(project: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A small part of the project's tests with ``TMPDIR`` at ``place``."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TINY, *arguments],
        cwd=project,
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_c10_leftovers_of_a_killed_session_do_not_matter(project: Path, place: Path, workers: str) -> None:
    """Both where sessions work now, and in the directory that pytest shares between projects."""
    killed = place / f"pt-{os.getuid()}" / "0123abcd" / "p" / "popen-gw0"
    shared = place / f"pytest-of-{getpass.getuser()}" / "garbage-1"
    for top in (killed, shared):
        top.mkdir(parents=True, mode=0o755)
        top.parent.parent.chmod(0o755)
        deep(top)
        (top / "closed").mkdir()
        (top / "closed" / "file").write_text("")
        (top / "closed").chmod(0)
    done = run_some(project, place, workers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "Error" not in done.stdout + done.stderr
    assert left(place, os.getuid()) == []


def test_c10_a_session_that_failed_is_kept_until_the_next(project: Path, place: Path) -> None:
    assert run_some(project, place, "-k", "no_such_test_anywhere").returncode == 5
    assert len(left(place, os.getuid())) == 1
    assert run_some(project, place).returncode == 0
    assert left(place, os.getuid()) == []


def test_c10_a_living_session_is_left_alone(place: Path) -> None:
    (place / "living").mkdir()
    (place / "dead").mkdir()
    handle = os.open(place / "living", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        remove_left(place)
    finally:
        os.close(handle)
    assert [path.name for path in place.iterdir()] == ["living"]


def test_c10_processes_that_a_killed_session_started_are_ended(place: Path) -> None:
    (place / "dead").mkdir()
    variables = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary(place / "dead"))}
    with (
        subprocess.Popen(["sleep", "1000"], env=variables) as child,
        subprocess.Popen(["sleep", "1000"], env={**variables, "TMPDIR": str(temporary(place / "dead-not"))}) as other,
    ):
        try:
            end(place / "dead")
            assert child.wait(60) == -signal.SIGKILL and other.poll() is None
        finally:
            child.kill()
            other.kill()


def test_c10_mounts_of_a_killed_session_are_taken_down(place: Path) -> None:
    for name in ("dead", "dead-not"):
        (place / name / "m").mkdir(parents=True)
    script = f"""
import os, subprocess, sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from tests.session import end
place = Path({str(place)!r})
for name in ("dead", "dead-not"):
    subprocess.run(["mount", "-t", "tmpfs", "none", place / name / "m"], check=True)
end(place / "dead")
print([name for name in ("dead", "dead-not") if os.path.ismount(place / name / "m")])
"""
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "['dead-not']\n", done.stderr
