"""The walk over a run directory: ordered, bounded, and never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.record.seal import MAX_DEPTH, DirectoryEntry, hash_file, open_regular, walk


def names(root: Path) -> list[str]:
    return [found.path for found in walk(root, lambda path: True)]


def test_everything_is_seen_in_order(tmp_path: Path) -> None:
    (tmp_path / "b" / "inner").mkdir(parents=True)
    (tmp_path / "b" / "inner" / "file").touch()
    (tmp_path / "a").touch()
    (tmp_path / ".hidden").touch()
    assert names(tmp_path) == [".hidden", "a", "b", "b/inner", "b/inner/file"]


def test_only_wanted_directories_are_entered(tmp_path: Path) -> None:
    (tmp_path / "yes").mkdir()
    (tmp_path / "no").mkdir()
    (tmp_path / "yes" / "file").touch()
    (tmp_path / "no" / "file").touch()
    assert [found.path for found in walk(tmp_path, lambda path: path == "yes")] == ["no", "yes", "yes/file"]


def test_links_are_seen_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to(".")
    assert names(tmp_path) == ["loop", "up"]


def test_the_lock_is_passed_over_only_at_the_top_and_empty(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / ".lock").touch()
    assert names(tmp_path) == ["inner", "inner/.lock"]
    (tmp_path / ".lock").write_bytes(b"x")
    assert ".lock" in names(tmp_path)


def test_depth_is_bounded(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(MAX_DEPTH + 20):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    assert len(names(tmp_path)) == MAX_DEPTH + 1


def test_a_directory_exchanged_for_a_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)

    def exchange(path: str) -> bool:
        (root / "inner").rmdir()
        (root / "inner").symlink_to(tmp_path / "outside")
        return True

    found = list(walk(root, exchange))
    assert [one.path for one in found] == ["inner", "inner"]
    assert "cannot be entered" in found[1].problem


def test_a_file_exchanged_for_something_else_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        for name in (b"pipe", b"link"):
            with pytest.raises(OSError, match=r"regular|symbolic links"):
                open_regular(DirectoryEntry(name.decode(), name, handle, None))
    finally:
        os.close(handle)


def test_hashing_stops_at_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 36)
    handle = os.open(path, os.O_RDONLY)
    try:
        size, _ = hash_file(handle, 1000)
    finally:
        os.close(handle)
    assert 1000 < size <= 2 << 20
