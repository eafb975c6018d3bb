"""What lies in a run directory, seen without following a link and without opening anything but regular files.

Directories are walked by descriptor, so that a directory exchanged for a link in the meantime is an error and not a
way out. Names are bytes on disk and text (``base.names``) in the records.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from proctor.base.names import name_text
from proctor.record.rundir import LOCK_NAME

_CHUNK_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_DEPTH = 32


@dataclass(frozen=True)
class Found:
    """Something in the directory: its path as text, what the kernel says of it, and how to open it.

    ``handle`` is the descriptor of the directory that holds it, valid until the walk goes on. ``problem`` is set when
    it could not even be looked at.
    """

    path: str
    name: bytes
    handle: int
    information: os.stat_result | None
    problem: str = ""


def walk(root: Path, enter: Callable[[str], bool]) -> Iterator[Found]:
    """Everything below ``root`` in the order of names; a directory is entered when ``enter`` says yes to its path.

    The lock of the run is left out as long as it is an empty regular file.
    """
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield from _walk(handle, "", enter, 0)
    finally:
        os.close(handle)


def _walk(handle: int, prefix: str, enter: Callable[[str], bool], depth: int) -> Iterator[Found]:
    for name in sorted(os.fsencode(name) for name in os.listdir(handle)):
        path = prefix + name_text(name)
        try:
            information = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            yield Found(path, name, handle, None, error.strerror or "cannot be looked at")
            continue
        if path == LOCK_NAME and stat.S_ISREG(information.st_mode) and not information.st_size:
            continue
        yield Found(path, name, handle, information)
        if not stat.S_ISDIR(information.st_mode) or depth >= MAX_DEPTH or not enter(path):
            continue
        try:
            inner = os.open(name, _READ | os.O_DIRECTORY, dir_fd=handle)
        except OSError as error:
            yield Found(path, name, handle, None, f"cannot be entered: {error.strerror}")
            continue
        try:
            yield from _walk(inner, path + "/", enter, depth + 1)
        finally:
            os.close(inner)


def open_regular(found: Found) -> int:
    """A descriptor for reading; ``OSError`` when it is no regular file any more or cannot be read."""
    handle = os.open(found.name, _READ | os.O_NONBLOCK, dir_fd=found.handle)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a regular file")
    return handle


def hash_file(handle: int, limit_bytes: int) -> tuple[int, str]:
    """How many bytes an open file holds and their digest; reading stops once ``limit_bytes`` are exceeded."""
    state = sha256()
    size = 0
    while size <= limit_bytes and (chunk := os.read(handle, _CHUNK_BYTES)):
        size += len(chunk)
        state.update(chunk)
    return size, state.hexdigest()
