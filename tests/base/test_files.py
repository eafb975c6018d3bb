"""Files are whole or absent, reads are bounded, and trees can be removed whatever was done to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, sync_directory, write_whole
from proctor.base.untrusted_directories import erase

AsUser = Callable[[Callable[[], None]], None]


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_written_and_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    write_whole(path, b"one", sync=sync)
    write_whole(path, b"two", mode=0o600, sync=sync)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_the_mode_does_not_depend_on_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").write_text("x")
    with pytest.raises(OSError):
        write_whole(tmp_path / "taken", b"data")
    assert os.listdir(tmp_path) == ["taken"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "absent" / "file", b"data")


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"mine"
    assert not (tmp_path / "link").is_symlink()


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), b"x")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"x"


def test_directories_are_synced_and_files_are_no_directories(tmp_path: Path) -> None:
    sync_directory(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        sync_directory(tmp_path / "file")


def test_reads_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bounded(tmp_path / "file", 5) == b"12345"
    with pytest.raises(InfrastructureFault, match="larger than 4 bytes"):
        read_bounded(tmp_path / "file", 4)
    (tmp_path / "empty").write_bytes(b"")
    assert read_bounded(tmp_path / "empty", 0) == b""


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("secret")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError):
        read_bounded(tmp_path / "link", 10)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InfrastructureFault, match="not a regular file"):
        read_bounded(tmp_path / "fifo", 10)
    with pytest.raises((InfrastructureFault, IsADirectoryError)):
        read_bounded(tmp_path, 10)
    with pytest.raises(InfrastructureFault, match="not a regular file"):
        read_bounded(Path("/dev/zero"), 10)
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "absent", 10)


def test_a_tree_is_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "file").write_text("x")
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "link").symlink_to(tmp_path / "keep")
    (tree / os.fsdecode(b"\xff\n")).write_text("x")
    os.mkfifo(tree / "fifo")
    erase(tree)
    assert not tree.exists()
    assert (tmp_path / "keep" / "file").exists()


def test_a_file_a_link_and_nothing_are_removed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("link", "dangling", "absent"):
        erase(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]
    erase(tmp_path / "file")
    assert os.listdir(tmp_path) == []


def test_an_ordinary_user_removes_directories_without_permissions(
    open_directory: Path, as_ordinary_user: AsUser
) -> None:
    tree = open_directory / "tree"

    def act() -> None:
        (tree / "closed" / "inner").mkdir(parents=True)
        (tree / "closed" / "inner" / "file").write_text("x")
        (tree / "closed" / "inner").chmod(0)
        (tree / "closed").chmod(0o400)
        tree.chmod(0)
        erase(tree)
        assert not tree.exists()

    as_ordinary_user(act)
    assert not tree.exists()
