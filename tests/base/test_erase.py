"""Removing what an agent left."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.base.untrusted_directories import erase


def test_absent_files_links_and_directories(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "file").write_text("x")
    (tmp_path / "tree" / "a" / "b").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "file").write_text("x")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "keep")
    os.mkfifo(tmp_path / "tree" / "pipe")
    erase(tmp_path / "tree")
    erase(tmp_path / "tree")
    erase(tmp_path / "no" / "such" / "place")
    (tmp_path / "link").symlink_to("keep")
    erase(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]
    assert (tmp_path / "keep" / "file").read_text() == "x"


def test_deep_nesting(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    handle = os.open(tmp_path / "tree", os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    erase(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
