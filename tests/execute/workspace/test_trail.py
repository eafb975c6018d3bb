"""Going from directory to directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.base.untrusted_directories import names_in
from proctor.execute.workspace.file_tree import KEPT, DirectoryCursor, cursor_below
from proctor.execute.workspace.layer_stack import Stack


class Counted:
    """Levels that are their own paths, and which of them are open."""

    def __init__(self) -> None:
        self.open = {b""}
        self.entered = 0
        self.most = 0

    def trail(self) -> DirectoryCursor[bytes]:
        return DirectoryCursor(b"", self._enter, self.open.remove)

    def _enter(self, above: bytes, name: bytes) -> bytes:
        assert above in self.open
        path = above + b"/" + name
        self.open.add(path)
        self.entered += 1
        self.most = max(self.most, len(self.open))
        return path


def test_the_way_down_opens_each_directory_once_and_keeps_few_open() -> None:
    counted = Counted()
    with counted.trail() as trail:
        for depth in range(200):
            path = b"/".join([b"d"] * depth)
            assert trail.at(path) == b"/d" * depth
        assert counted.entered == 199
        assert counted.most <= KEPT + 2
        for depth in reversed(range(200)):
            assert trail.at(b"/".join([b"d"] * depth)) == b"/d" * depth
        assert counted.entered < 199 * (200 // KEPT + 1)
    assert counted.open == set()


def test_any_order_of_paths_leads_to_the_right_directory(tmp_path: Path) -> None:
    paths = [b"a/b/c", b"a", b"", b"a/b", b"x/y", b"a/b/c", b"x", b"ab"]
    for path in paths:
        place = tmp_path / os.fsdecode(path)
        place.mkdir(parents=True, exist_ok=True)
        (place / (path.hex() or "top")).touch()
    with cursor_below(tmp_path) as trail:
        for path in paths:
            assert (path.hex().encode() or b"top") in names_in(trail.at(path))


def test_a_failed_step_leaves_the_trail_usable(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    with cursor_below(tmp_path) as trail:
        with pytest.raises(FileNotFoundError):
            trail.at(b"a/absent/c")
        with pytest.raises(OSError, match=r"link|directory"):
            trail.at(b"link/b")
        assert names_in(trail.at(b"a")) == [b"b"]


def test_files_of_a_stack_are_read_in_any_order(tmp_path: Path) -> None:
    for root, files in (("one", {"a/x": "1"}), ("two", {"a/x": "2", "a/y": "3", "b/z": "4"})):
        for path, text in files.items():
            (tmp_path / root / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / root / path).write_text(text)
    stack = Stack((tmp_path / "one", tmp_path / "two"))
    with stack.reading() as read:
        for name in (b"b/z", b"a/x", b"a/y", b"absent/x", b"a/none", b"a", b"a/x"):
            assert read(name) == stack.file(name)
        assert read(b"a/x") == (0o100644, b"1")
