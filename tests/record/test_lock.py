"""The lock of a run: held by the living, left behind by the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.record.run_directory import RunDirectory, RunLock, is_held

HOLDING = """
import sys
from pathlib import Path
from proctor.record.run_directory import RunLock
from proctor.record.run_directory import RunDirectory
lock = RunLock.take(RunDirectory(Path(sys.argv[1])))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "run").create()


def test_a_lock_is_held_until_it_is_released(run: RunDirectory) -> None:
    assert not is_held(run)
    lock = RunLock.take(run)
    assert is_held(run)
    lock.release()
    lock.release()
    assert not is_held(run)
    assert not run.lock.exists()


def test_a_lock_is_taken_once(run: RunDirectory) -> None:
    with RunLock.take(run), pytest.raises(InfrastructureFault, match="another process"):
        RunLock.take(run)


def test_a_dead_holder_leaves_a_file_that_nobody_holds(run: RunDirectory) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, run.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == b"held\n"
        assert is_held(run)
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
    assert run.lock.exists()
    assert not is_held(run)
    with pytest.raises(InfrastructureFault):
        RunLock.take(run)


def test_asking_follows_no_link_and_waits_for_no_pipe(run: RunDirectory, tmp_path: Path) -> None:
    run.lock.symlink_to(tmp_path / "elsewhere")
    assert not is_held(run)
    run.lock.unlink()
    os.mkfifo(run.lock)
    assert not is_held(run)
