"""Copy everything that a workspace has changed, and restore a mounted workspace from such a copy."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import (
    digest_file,
    erase_at,
    file_mode,
    in_reach,
    join,
    names_in,
    open_top,
    opened,
    status_of,
)
from proctor.execute.monitor.sensors.workspace_scan import open_path
from proctor.execute.sandbox.interface import owner
from proctor.execute.workspace.layer_stack import Found, Merged, Stack, is_opaque, is_whiteout, opaque_attribute

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20


@dataclass(frozen=True)
class SnapshotLimits:
    """The most that a copy takes in; ``total_bytes`` counts holes too, since digests have to read them."""

    names: int = 500_000
    total_bytes: int = 4 << 30


class TooLarge(InfrastructureFault):
    """What is to be copied exceeds the limits."""


class Snapshot:
    """Copies directories; ``files`` and ``total_bytes`` count what was copied.

    ``closed`` are directories that their owner may not use.
    """

    def __init__(self, limits: SnapshotLimits) -> None:
        self.files = 0
        self.total_bytes = 0
        self.closed: dict[bytes, int] = {}
        self._names_left = limits.names
        self._bytes_left = limits.total_bytes

    def copy(self, source: int, target: int, path: bytes) -> None:
        """Copy what an open directory holds into an empty one, and give that the same marks, permissions and times."""
        for name in names_in(source, self._names_left + 1):
            status = status_of(source, name)
            if status is None:
                continue
            inner = join(path, name)
            self._count(inner, status)
            if stat.S_ISDIR(status.st_mode):
                os.mkdir(name, 0o700, dir_fd=target)
                with entered(source, name) as below, entered(target, name) as copy:
                    self.copy(below, copy, inner)
                    self._dress(copy, inner, status)
            elif is_whiteout(status):
                os.mknod(name, stat.S_IFCHR, 0, dir_fd=target)
            else:
                self.files += copy_name(source, name, status, target)
        if is_opaque(source):
            os.setxattr(target, opaque_attribute(), b"y")

    def copy_top(self, source: int, target: int, name: bytes) -> None:
        """Copy the directory ``name`` from one open directory to another."""
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        os.mkdir(name, 0o700, dir_fd=target)
        with entered(source, name) as below, entered(target, name) as copy:
            self.copy(below, copy, name)
            self._dress(copy, name, status)

    def _count(self, path: bytes, status: os.stat_result) -> None:
        self._names_left -= 1
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        self.total_bytes += size
        self._bytes_left -= size
        if self._names_left < 0 or self._bytes_left < 0 or not in_reach(path):
            raise TooLarge("too large or too deep for a checkpoint", where=name_text(path))

    def _dress(self, handle: int, path: bytes, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o700 != 0o700:
            self.closed[path] = mode
        os.fchown(handle, *owner())
        os.fchmod(handle, mode | 0o700)
        os.utime(handle, ns=(status.st_atime_ns, status.st_mtime_ns))


def copy_name(source: int, name: bytes, status: os.stat_result, target: int) -> bool:
    """Copy a file, link or fifo from one open directory to another in which it is not there; whether it was one."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        _dress_name(name, target, status)
    elif kind == stat.S_IFIFO:
        os.mkfifo(name, 0o600, dir_fd=target)
        os.chmod(name, stat.S_IMODE(status.st_mode) & 0o777, dir_fd=target)
        _dress_name(name, target, status)
    elif kind == stat.S_IFREG:
        with opened(source, name) as reading:
            writing = os.open(name, _NEW, 0o600, dir_fd=target)
            try:
                copy_bytes(reading, writing)
                os.fchown(writing, *owner())
                os.fchmod(writing, stat.S_IMODE(status.st_mode) & 0o777)
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(writing)
    else:
        return False
    return True


def _dress_name(name: bytes, directory: int, status: os.stat_result) -> None:
    """Give a link or fifo its owner and its times."""
    os.chown(name, *owner(), dir_fd=directory, follow_symlinks=False)
    os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=directory, follow_symlinks=False)


def copy_bytes(reading: int, writing: int) -> None:
    """Copy a whole file and leave its holes holes."""
    size = os.fstat(reading).st_size
    end = 0
    while end < size:
        try:
            start = os.lseek(reading, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no more data, only a hole
                raise
            break
        end = os.lseek(reading, start, os.SEEK_HOLE)
        os.lseek(writing, start, os.SEEK_SET)
        _copy_data(reading, writing, start, end)
    os.ftruncate(writing, size)


def _copy_data(reading: int, writing: int, start: int, end: int) -> None:
    while start < end and (part := os.pread(reading, min(_CHUNK, end - start), start)):
        start += len(part)
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(writing, rest) :]


@contextmanager
def entered(directory: int, name: bytes, *, give_back: bool = True) -> Iterator[int]:
    """A descriptor of the directory ``name``, whatever its permissions say, which are given back afterwards."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    closed = os.geteuid() != 0 and status.st_mode & 0o700 != 0o700
    if closed and stat.S_ISDIR(status.st_mode):
        os.chmod(name, stat.S_IMODE(status.st_mode) | 0o700, dir_fd=directory)
    handle = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        yield handle
        if closed and give_back:
            os.fchmod(handle, stat.S_IMODE(status.st_mode))
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Sides:
    """A workspace: its upper directory now, the copy of it, and the layers; no layers for a plain tree.

    ``closed`` are the permissions of directories that the copy has opened up.
    """

    now: Path
    saved: Path
    layers: tuple[Path, ...]
    closed: Mapping[bytes, int] = field(default_factory=dict)


def restore(root: int, sides: Sides, names: tuple[str, ...]) -> int:
    """Make the directories ``names`` below the open ``root`` show what was saved; how many names were changed."""
    restoring = _Restoring(sides)
    return sum(restoring.top(root, os.fsencode(name)) for name in names)


class _Restoring:
    """One restoration under way."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._saved = Stack((sides.saved, *sides.layers))

    def top(self, root: int, name: bytes) -> int:
        """Restore one directory that is there on both sides."""
        with self._saved.directory(b"") as saved:
            wanted = saved.find(name) if saved else None
            assert wanted is not None
        with entered(root, name, give_back=False) as mount:
            changed = self.directory(mount, name, everything=not self._sides.layers)
            self._dress(mount, name, wanted.status)
        return changed

    def directory(self, mount: int, path: bytes, *, everything: bool) -> int:
        """Restore what one open directory of the mount holds."""
        with self._saved.directory(path) as saved:
            assert saved is not None
            touched = None if everything else self._touched(path)
            everything = touched is None
            names = {found.name for found in saved.shown()} | set(names_in(mount)) if touched is None else touched
            return sum(self._name(mount, path, name, saved, everything) for name in sorted(names))

    def _touched(self, path: bytes) -> set[bytes] | None:
        """The names in either upper directory; ``None`` if only one of them hides the layers."""
        names: set[bytes] = set()
        opaque: list[bool] = []
        for root in (self._sides.now, self._sides.saved):
            top = open_top(root)
            try:
                handle = open_path(top, path)
            finally:
                os.close(top)
            if handle is None:
                opaque.append(False)
                continue
            try:
                opaque.append(is_opaque(handle))
                names.update(names_in(handle))
            finally:
                os.close(handle)
        return names if opaque[0] == opaque[1] else None

    def _name(self, mount: int, path: bytes, name: bytes, saved: Merged, everything: bool) -> int:
        """Restore one name; how many were changed at and below it."""
        wanted, have = saved.find(name), status_of(mount, name)
        if wanted is not None and stat.S_ISSOCK(wanted.status.st_mode):
            wanted = None
        if wanted is None:
            if have is None:
                return 0
            erase_at(mount, name)
            return 1
        if not stat.S_ISDIR(wanted.status.st_mode):
            return self._file(mount, name, wanted, have)
        changed = 0
        if have is None or not stat.S_ISDIR(have.st_mode):
            if have is not None:
                erase_at(mount, name)
            os.mkdir(name, 0o700, dir_fd=mount)
            os.chown(name, *owner(), dir_fd=mount, follow_symlinks=False)
            changed, everything = 1, True
        with entered(mount, name, give_back=False) as inner:
            changed += self.directory(inner, join(path, name), everything=everything)
            self._dress(inner, join(path, name), wanted.status)
        return changed

    def _file(self, mount: int, name: bytes, wanted: Found, have: os.stat_result | None) -> int:
        if have is not None and _same(Found(mount, name, have), wanted):
            return 0
        erase_at(mount, name)
        copy_name(wanted.directory, name, wanted.status, mount)
        return 1

    def _dress(self, handle: int, path: bytes, status: os.stat_result) -> None:
        """Give an open directory its permissions and times, where they differ."""
        now = os.fstat(handle)
        mode = self._sides.closed.get(path, stat.S_IMODE(status.st_mode))
        if stat.S_IMODE(now.st_mode) != mode:
            os.fchmod(handle, mode)
        if now.st_mtime_ns != status.st_mtime_ns:
            os.utime(handle, ns=(status.st_atime_ns, status.st_mtime_ns))


def _same(have: Found, wanted: Found) -> bool:
    """Whether a file needs no change: contents, permissions and time of change."""
    one, other = have.status, wanted.status
    if (one.st_mode, one.st_size, one.st_mtime_ns) != (other.st_mode, other.st_size, other.st_mtime_ns):
        return False
    mode = file_mode(one)
    if mode is None:
        return True
    return digest_file(have.directory, have.name, mode) == digest_file(wanted.directory, wanted.name, mode)
