"""Directories that go when their owner is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from proctor.base.untrusted_directories import owned_directory, sweep_unowned

OWNER = """
import sys
from pathlib import Path
from proctor.base.untrusted_directories import owned_directory
with owned_directory(Path(sys.argv[1])) as path:
    (path / "inside").mkdir()
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_an_owned_directory_is_left_alone_and_removed_at_the_end(tmp_path: Path) -> None:
    with owned_directory(tmp_path / "mine") as path:
        (path / "file").write_text("x")
        assert sweep_unowned(tmp_path) == []
        assert (path / "file").exists()
    assert not (tmp_path / "mine").exists()


def test_a_directory_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "theirs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == b"ready\n"
    assert sweep_unowned(tmp_path) == []
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert sweep_unowned(tmp_path) == ["theirs"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_directory_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    assert sweep_unowned(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_sweeping_nothing_is_fine(tmp_path: Path) -> None:
    assert sweep_unowned(tmp_path / "absent") == []
