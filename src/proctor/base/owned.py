"""Directories that belong to a living process.

The owner holds a lock on the directory itself, which the kernel drops when the owner dies, however it dies. Whoever
can take the lock knows that the directory is nobody's.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.erase import erase


@contextmanager
def owned_directory(path: Path) -> Iterator[Path]:
    """A new directory that is this process's for the time of a ``with`` block, and is removed after it."""
    handle = _made_and_locked(path)
    try:
        yield path
    finally:
        erase(path)
        os.close(handle)


def sweep_unowned(parent: Path) -> list[str]:
    """Remove the directories below ``parent`` that no living process owns, and return their names."""
    removed = []
    for path in sorted(parent.iterdir()) if parent.is_dir() else ():
        handle = _locked(path)
        if handle is not None:
            try:
                erase(path)
                removed.append(path.name)
            finally:
                os.close(handle)
    return removed


def _made_and_locked(path: Path) -> int:
    """Make ``path`` and own it; a sweep may take it away in between, and then it is made again."""
    while True:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = _locked(path)
        if handle is None:
            continue
        if path.is_dir() and os.path.samestat(os.fstat(handle), path.stat()):
            return handle
        os.close(handle)


def _locked(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
