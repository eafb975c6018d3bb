"""Directories with untrusted content: walk them, remove them, and own them while a process lives.

A tree may hold links, fifos, sockets, devices, directories without permissions, names of any bytes and nesting without
end. Directories are opened one component at a time and never through a link, regular files never block, and what is
deeper than ``DEPTH`` directories or has a path over ``PATH_BYTES`` is skipped on purpose. Directories that their
owner may not read are opened up, which changes nothing that a patch carries; trees of users are read without that
(``open_up=False``). Overlay layers are not handled here.

Removal goes up with ``..`` and checks that it arrives in the directory that it left, so neither depth nor path length
matter. No process may write to the tree at that time.

The owner of a directory holds a lock on the directory itself, which the kernel drops when the owner ends. A process
that can take the lock knows that the directory has no owner.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.reversible_escapes import name_text

DEPTH = 256
PATH_BYTES = 4000

FILE = 0o100644
PROGRAM = 0o100755
LINK = 0o120000

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WAY = getattr(os, "O_PATH", os.O_RDONLY)
"""For a directory that is only passed through. Systems without ``O_PATH`` need the right to list it."""
_CHUNK = 1 << 20
_LOOK = 0o500


def join(directory: bytes, name: bytes) -> bytes:
    """The path of ``name`` in ``directory``, where ``b""`` is the top."""
    return directory + b"/" + name if directory else name


def split(path: bytes) -> tuple[bytes, ...]:
    """The components of a relative ``path``; ``ValueError`` unless it is plain (no ``..``, no empty component)."""
    parts = tuple(path.split(b"/"))
    if any(part in (b"", b".", b"..") or b"\0" in part for part in parts):
        raise ValueError(f"not a plain relative path: {name_text(path)}")
    return parts


def parents_of(path: bytes) -> Iterator[bytes]:
    """The parent directories of ``path``, innermost first, without the top."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def in_reach(path: bytes) -> bool:
    """Whether ``path`` is short and shallow enough to be part of a tree here."""
    return len(path) <= PATH_BYTES and path.count(b"/") < DEPTH


def file_mode(status: os.stat_result) -> int | None:
    """The mode that git would give a file, or ``None`` for what is neither a regular file nor a link."""
    if stat.S_ISREG(status.st_mode):
        return PROGRAM if status.st_mode & 0o100 else FILE
    return LINK if stat.S_ISLNK(status.st_mode) else None


def status_of(directory: int, name: bytes) -> os.stat_result | None:
    """What ``name`` is in an open directory, itself and not what it links to."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def open_top(path: Path, *, open_up: bool = True) -> int:
    """A descriptor of the directory ``path`` itself, which must not be a link.

    With ``open_up`` its owner can read it afterwards, whatever its permissions said; without, nothing is changed.
    """
    try:
        handle = os.open(path, _DIRECTORY)
    except PermissionError:
        if not open_up:
            raise
        _open_up_top(path)
        return os.open(path, _DIRECTORY)
    if open_up and os.geteuid() != 0:
        status = os.fstat(handle)
        if status.st_mode & _LOOK != _LOOK and status.st_uid == os.geteuid():
            os.fchmod(handle, stat.S_IMODE(status.st_mode) | 0o700)
    return handle


def open_inner(directory: int, name: bytes, *, open_up: bool = True) -> int:
    """A descriptor of the directory ``name`` in an open directory."""
    try:
        inner = os.open(name, _DIRECTORY, dir_fd=directory)
    except PermissionError:
        if not open_up:
            raise
        _open_up(directory, name)
        return os.open(name, _DIRECTORY, dir_fd=directory)
    if open_up and os.geteuid() != 0 and os.fstat(inner).st_mode & 0o700 != 0o700:
        os.fchmod(inner, 0o700)
    return inner


@contextmanager
def directory_at(top: int, path: bytes) -> Iterator[int]:
    """A descriptor of the directory ``path`` below ``top``, reached without following a link."""
    handle = os.dup(top)
    try:
        for part in path.split(b"/") if path else ():
            inner = open_inner(handle, part)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def names_in(directory: int, limit: int | None = None) -> list[bytes]:
    """The names in an open directory, sorted; at most ``limit`` of them where one is given."""
    names: list[bytes] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if limit is not None and len(names) >= limit:
                break
            names.append(os.fsencode(entry.name))
    names.sort()
    return names


def read_file(directory: int, name: bytes, mode: int, limit_bytes: int) -> bytes:
    """The bytes of a regular file, or the target of a link; a fault where there are more than ``limit_bytes``."""
    if mode == LINK:
        return os.readlink(name, dir_fd=directory)
    with opened(directory, name) as handle:
        parts: list[bytes] = []
        size = 0
        while part := os.read(handle, _CHUNK):
            size += len(part)
            if size > limit_bytes:
                raise InfrastructureFault(f"larger than {limit_bytes} bytes", where=name_text(name))
            parts.append(part)
    return b"".join(parts)


def digest_file(directory: int, name: bytes, mode: int, *, open_up: bool = True) -> str:
    """The hexadecimal SHA-256 of a regular file's bytes, or of a link's target."""
    if mode == LINK:
        return hashlib.sha256(os.readlink(name, dir_fd=directory)).hexdigest()
    state = hashlib.sha256()
    with opened(directory, name, open_up=open_up) as handle:
        while part := os.read(handle, _CHUNK):
            state.update(part)
    return state.hexdigest()


@contextmanager
def opened(directory: int, name: bytes, *, open_up: bool = True) -> Iterator[int]:
    """A descriptor of a regular file, whatever its permissions say; they are as before afterwards."""
    try:
        handle = os.open(name, _REGULAR, dir_fd=directory)
    except PermissionError:
        if not open_up:
            raise
        before = _open_up(directory, name)
        handle = os.open(name, _REGULAR, dir_fd=directory)
        os.fchmod(handle, before)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InfrastructureFault("not a regular file", where=name_text(name))
        yield handle
    finally:
        os.close(handle)


def _open_up_top(path: Path) -> None:
    """Let the owner use the directory ``path``, if the way to it is open."""
    parent = os.open(path.parent, _WAY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _open_up(parent, os.fsencode(path.name))
    finally:
        os.close(parent)


def _open_up(directory: int, name: bytes) -> int:
    """Let the owner use ``name``, which is no link; the permissions that it had."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise InfrastructureFault("a link where none is allowed", where=name_text(name))
    before = stat.S_IMODE(status.st_mode)
    os.chmod(name, before | (0o700 if stat.S_ISDIR(status.st_mode) else 0o400), dir_fd=directory)
    return before


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


@contextmanager
def owned_directory(path: Path) -> Iterator[Path]:
    """A new directory that this process owns during a ``with`` block and that is removed afterwards."""
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
    """Make ``path`` and own it; if a sweep removes it before it is locked, it is made again."""
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
