"""What a tree holds, and its digest."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

from proctor.base.untrusted_directories import erase
from proctor.execute.workspace.file_tree import Entry, scan, scan_tree, tree_digest

Files = dict[bytes, tuple[int, bytes]]

FILES: Files = {
    b"a": (0o100644, b"one\n"),
    b"run": (0o100755, b"#!/bin/sh\n"),
    b"dir/caf\xe9": (0o100644, b""),
    b"dir/link": (0o120000, b"../nowhere"),
}


def test_entries_are_sorted_and_hold_mode_size_and_digest(
    tmp_path: Path, write_tree: Callable[[Path, Files], None]
) -> None:
    write_tree(tmp_path, FILES)
    expected = [
        Entry(path, mode, len(data), hashlib.sha256(data).hexdigest()) for path, (mode, data) in sorted(FILES.items())
    ]
    assert list(scan(tmp_path)) == expected
    assert [entry.sha256 for entry in scan(tmp_path, hash=False)] == [""] * 4


def test_git_and_special_files_are_left_out(tmp_path: Path, write_tree: Callable[[Path, Files], None]) -> None:
    write_tree(tmp_path, {b".git/config": (0o100644, b""), b"sub/.git": (0o100644, b"gitdir: x"), b"a": FILES[b"a"]})
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(tmp_path)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    found = scan_tree(tmp_path)
    assert [entry.path for entry in found.entries] == [b"a"]
    assert found.special == (b"pipe", b"socket")


def test_links_are_never_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to("../outside")
    assert [(entry.path, entry.mode) for entry in scan(tmp_path / "tree")] == [(b"link", 0o120000)]


def test_nesting_without_end_is_cut_off(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    found = scan_tree(tmp_path)
    erase(tmp_path / "d")
    assert not found.entries
    assert [path.count(b"/") for path in found.special] == [256]


def test_the_digest_tells_trees_apart(tmp_path: Path, write_tree: Callable[[Path, Files], None]) -> None:
    variants: list[Files] = [
        FILES,
        FILES | {b"a": (0o100644, b"two\n")},
        FILES | {b"a": (0o100755, b"one\n")},
        FILES | {b"a": (0o120000, b"one\n")},
        FILES | {b"b": FILES[b"a"]},
        {path: file for path, file in FILES.items() if path != b"a"},
    ]
    digests = []
    for number, files in enumerate(variants):
        (tmp_path / str(number)).mkdir()
        write_tree(tmp_path / str(number), files)
        digests.append(tree_digest(scan(tmp_path / str(number))))
    assert len(set(digests)) == len(variants)
    (tmp_path / "again").mkdir()
    write_tree(tmp_path / "again", dict(reversed(FILES.items())))
    assert tree_digest(scan(tmp_path / "again")) == digests[0]
