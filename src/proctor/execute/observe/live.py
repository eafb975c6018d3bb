"""Reading a tree while others write to it.

Nothing is changed, not even permissions, nothing blocks, no link is followed, and what vanishes is simply absent. A
file that changes while it is read is no reading at all: whoever asked looks again later. What may not be read (an
ordinary user's directory without permissions) raises ``PermissionError``, and the caller says that it is unread.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass

from proctor.base.handles import LINK, file_mode

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 20
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE, errno.ENXIO})


@dataclass(frozen=True)
class Stamp:
    """What a file's status says about its content: another stamp may be another content."""

    device: int
    inode: int
    mode: int
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True)
class Reading:
    """What a file or link held: ``data`` is ``None`` where it was only digested."""

    mode: int
    size: int
    sha256: str
    data: bytes | None
    stamp: Stamp


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of a file whose status is known."""
    return Stamp(status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_gone(error: OSError) -> bool:
    """Whether ``error`` only says that something is no longer there, or has become something else."""
    return error.errno in _GONE


def open_directory(directory: int, name: bytes) -> int | None:
    """A descriptor of the directory ``name``, or ``None`` where there is none any more."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        if is_gone(error):
            return None
        raise


def open_path(top: int, path: bytes) -> int | None:
    """A descriptor of the directory ``path`` below ``top``, or ``None`` where there is none any more."""
    handle: int | None = os.dup(top)
    for part in path.split(b"/") if path else ():
        assert handle is not None
        above = handle
        try:
            handle = open_directory(above, part)
        finally:
            os.close(above)
        if handle is None:
            return None
    return handle


def status_of(directory: int, name: bytes) -> os.stat_result | None:
    """What ``name`` is, itself and not what it links to; ``None`` where there is nothing any more."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if is_gone(error):
            return None
        raise


def read(directory: int, name: bytes, *, data_bytes: int) -> Reading | None:
    """Read and digest a file or link, keeping its bytes up to ``data_bytes``; ``None`` where it did not hold still."""
    status = status_of(directory, name)
    mode = file_mode(status) if status else None
    if status is None or mode is None:
        return None
    if mode == LINK:
        return _read_link(directory, name, status)
    try:
        handle = os.open(name, _REGULAR, dir_fd=directory)
    except OSError as error:
        if is_gone(error):
            return None
        raise
    try:
        return _read_open(handle, mode, stamp_of(status), data_bytes)
    finally:
        os.close(handle)


def _read_link(directory: int, name: bytes, status: os.stat_result) -> Reading | None:
    try:
        target = os.readlink(name, dir_fd=directory)
    except OSError as error:
        if is_gone(error) or error.errno == errno.EINVAL:
            return None
        raise
    return Reading(LINK, len(target), hashlib.sha256(target).hexdigest(), target, stamp_of(status))


def _read_open(handle: int, mode: int, expected: Stamp, data_bytes: int) -> Reading | None:
    """Read an open file to its end; it counts only if it is what was expected, before and after."""
    before = os.fstat(handle)
    if not stat.S_ISREG(before.st_mode) or stamp_of(before) != expected:
        return None
    state = hashlib.sha256()
    kept: list[bytes] = []
    size = 0
    while size <= expected.size and (part := os.read(handle, _CHUNK)):
        size += len(part)
        state.update(part)
        if size <= data_bytes:
            kept.append(part)
    if size != expected.size or stamp_of(os.fstat(handle)) != expected:
        return None
    data = b"".join(kept) if size <= data_bytes else None
    return Reading(mode, size, state.hexdigest(), data, expected)
