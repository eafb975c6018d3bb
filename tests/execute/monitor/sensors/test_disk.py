"""Disk and inodes: counted as they are on disk, in bounded looks, while files come and go."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from proctor.execute.monitor.sensors.resource_usage import Disk, DiskUse, disk_of
from proctor.execute.workspace.workspace import Workspace
from tests.execute.monitor.sensors.scene import both_users, scene, small_layer
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory, shell


def blocks(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_every_name_counts_and_links_are_not_followed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "in").mkdir(parents=True)
    (top / "in" / "file").write_bytes(b"x" * 10_000)
    (tmp_path / "large").write_bytes(b"x" * 1_000_000)
    os.symlink(tmp_path / "large", top / "link")
    os.symlink(tmp_path, top / "way-out")
    found = Disk(top).look()
    assert found == DiskUse(blocks(*top.rglob("*")), 4)


def test_a_file_with_two_names_is_on_disk_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    alone = Disk(tmp_path).look()
    os.link(tmp_path / "one", tmp_path / "two")
    assert Disk(tmp_path).look() == DiskUse(alone.bytes, 2)


def test_holes_take_no_room(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    assert Disk(tmp_path).look().bytes < 1 << 20


def test_a_large_tree_is_counted_over_several_looks(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"d{number % 5}").mkdir(exist_ok=True)
        (tmp_path / f"d{number % 5}" / f"f{number}").write_bytes(b"x")
    disk = Disk(tmp_path, look_names=7)
    looks = [disk.look() for _ in range(5)]
    assert [look.inodes for look in looks] == [7, 14, 21, 28, 30]
    assert [look.complete for look in looks] == [False, False, False, False, True]
    assert disk.look().inodes == 30  # the next pass has not come far, so the last one stands
    disk.close()


def test_a_single_huge_directory_is_left_and_taken_up_again(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    disk = Disk(tmp_path, look_names=20)
    assert [disk.look().inodes for _ in range(3)] == [20, 40, 50]


def test_growth_shows_before_the_pass_is_through(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    disk = Disk(tmp_path, look_names=10)
    assert disk.look().inodes == 1
    for number in range(100):
        (tmp_path / f"n{number}").touch()
    assert disk.look() == DiskUse(0, 10, complete=False)
    disk.close()


def test_what_nests_out_of_reach_is_unread(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    found = Disk(tmp_path).look()
    assert found.unread == 1 and found.inodes == 257


def test_an_ordinary_user_counts_what_may_not_be_read_and_changes_nothing() -> None:
    def look() -> None:
        with open_directory() as top:
            (top / "closed" / "inner").mkdir(parents=True)
            (top / "closed").chmod(0)
            found = Disk(top).look()
            assert (found.inodes, found.unread) == (1, 1)
            assert (top / "closed").stat().st_mode & 0o777 == 0

    as_ordinary_user(look)


def test_a_tree_that_changes_under_the_look(tmp_path: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for number in range(20):
                (tmp_path / f"d{number}").mkdir(exist_ok=True)
                (tmp_path / f"d{number}" / "f").touch()
            for number in range(20):
                (tmp_path / f"d{number}" / "f").unlink()
                (tmp_path / f"d{number}").rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert all(Disk(tmp_path, look_names=9).look().inodes <= 40 for _ in range(300))
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("overlays", [True, False])
def test_only_what_was_written_counts(overlays: bool) -> None:
    def look() -> None:
        with scene(overlays=overlays) as at:
            disk = disk_of(at.workspace)
            before = disk.look()
            shell(at.box, "mkdir new && head -c 1000000 /dev/zero > new/big && touch a.txt")
            after = disk.look()
            assert 1_000_000 <= after.bytes - before.bytes < 1_100_000
            assert after.inodes - before.inodes == (3 if overlays else 2)

    both_users(look)


def test_a_copy_starts_at_nothing(tmp_path: Path) -> None:
    with Workspace.create((small_layer(tmp_path),), tmp_path / "scratch", overlays=False) as workspace:
        assert disk_of(workspace).look() == DiskUse()
