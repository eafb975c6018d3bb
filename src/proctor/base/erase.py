"""Removing trees that others wrote, however deep they nest and whatever permissions they took away.

It climbs with ``..`` and checks that it comes out where it went in, so neither depth nor path length matter. Nothing
may be at work in the tree at that time.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.handles import names_in, open_inner, open_top, status_of


def erase(path: Path) -> None:
    """Remove ``path`` and all below it; absent is fine."""
    try:
        parent = open_top(path.parent)
    except FileNotFoundError:
        return
    try:
        erase_at(parent, os.fsencode(path.name))
    finally:
        os.close(parent)


def erase_at(directory: int, name: bytes) -> None:
    """Remove ``name`` and all below it from an open directory; absent is fine."""
    status = status_of(directory, name)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=directory)
        return
    _erase_directory(directory, name)


def _erase_directory(start: int, name: bytes) -> None:
    """Remove the directory ``name`` with a walk that holds one descriptor at a time."""
    trail: list[tuple[bytes, list[bytes], tuple[int, int]]] = []
    waiting = [name]
    handle = os.dup(start)
    try:
        while waiting or trail:
            if waiting:
                current = waiting.pop()
                trail.append((current, waiting, _identity(handle)))
                handle = _swap(handle, open_inner(handle, current))
                waiting = _unlink_files(handle)
                continue
            current, waiting, above = trail.pop()
            handle = _swap(handle, os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle))
            if _identity(handle) != above:
                raise InfrastructureFault("a directory was moved while it was being removed")
            os.rmdir(current, dir_fd=handle)
    finally:
        os.close(handle)


def _unlink_files(handle: int) -> list[bytes]:
    """Remove everything but the directories from an open directory; the directories."""
    directories: list[bytes] = []
    for name in names_in(handle):
        status = status_of(handle, name)
        if status is not None and stat.S_ISDIR(status.st_mode):
            directories.append(name)
        elif status is not None:
            os.unlink(name, dir_fd=handle)
    return directories


def _identity(handle: int) -> tuple[int, int]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new
