"""Benches that were killed leave nothing for long, and living ones keep what they have."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path

import pytest

Place = Callable[[], AbstractContextManager[Path]]

HOLDS = """
from bench.place import place
with place() as directory:
    (directory / "file").write_text("")
    print(directory, flush=True)
    input()
"""


@pytest.fixture
def place(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    made: Place = import_module("bench.place").place
    yield made
    tempfile.tempdir = None


def test_a_killed_bench_leaves_nothing_for_the_next_but_one_and_a_living_one_is_left_alone(
    place: Place, project: Path
) -> None:
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        held = Path(child.stdout.readline().strip())
        with place() as mine:
            assert (held / "file").exists() and mine.is_dir()
        assert not mine.exists()
        child.kill()
        child.wait()
    assert (held / "file").exists()
    with place() as mine:
        assert not held.exists()
    assert list(held.parent.iterdir()) == []


def test_a_place_that_others_can_write_to_is_refused(place: Place, tmp_path: Path) -> None:
    with place() as mine:
        parent = mine.parent
    parent.chmod(0o777)
    with pytest.raises(SystemExit, match="not a directory of this user alone"), place():
        pass
    parent.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SystemExit, match="not a directory of this user alone"), place():
        pass
