"""Scan a live workspace while processes write to it, and compare it with its layers."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from dataclasses import dataclass

from proctor.base.untrusted_directories import LINK, file_mode, in_reach, join, open_top, parents_of
from proctor.execute.sandbox.interface import Tree
from proctor.execute.workspace.file_tree import GIT, Entry, entry_of
from proctor.execute.workspace.layer_stack import Found, Merged, is_opaque
from proctor.execute.workspace.workspace import Workspace

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
    """The content of a file or link: ``data`` is ``None`` if it was only digested."""

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
    """A descriptor of the directory ``name``, or ``None`` if it no longer exists."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        if is_gone(error):
            return None
        raise


def open_path(top: int, path: bytes) -> int | None:
    """A descriptor of the directory ``path`` below ``top``, or ``None`` if it no longer exists."""
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


FRESH_NS = 100_000_000
"""A stamp younger than this may hide a change that came right after it."""


@dataclass(frozen=True)
class ScanLimits:
    """The limits of one scan: names that it walks over, files and bytes that it reads.

    Files over ``digest_bytes`` are compared by their size alone. The bytes of files up to ``data_bytes`` are passed on.
    """

    names: int = 200_000
    files: int = 5_000
    total_bytes: int = 128 << 20
    digest_bytes: int = 256 << 20
    data_bytes: int = 1 << 20


@dataclass(frozen=True)
class Pair:
    """One path: what the layers have there, and what was found."""

    base: Entry | None
    now: Entry | None


class Look:
    """What one look found."""

    def __init__(self) -> None:
        self.pairs: dict[bytes, Pair] = {}
        self.data: dict[bytes, bytes] = {}
        self.truncated = False
        self._unseen: set[bytes] = set()

    def leave_out(self, path: bytes) -> None:
        """Nothing is known of ``path`` and the paths below it."""
        self._unseen.add(path)

    def saw(self, path: bytes) -> bool:
        """Whether a path that is not among the pairs is known to be as in the layers."""
        return not (self.truncated or path in self._unseen or self._unseen.intersection([b"", *parents_of(path)]))


class WorkspaceScanner:
    """Looks at one workspace again and again."""

    def __init__(self, workspace: Workspace, limits: ScanLimits | None = None) -> None:
        self._base = workspace.base
        self._top = workspace.upper / "workspace"
        self._whole = isinstance(workspace.view(), Tree)
        self._limits = limits or ScanLimits()
        self._known: dict[bytes, tuple[Stamp, Entry, bool]] = {}
        self._base_entries: dict[bytes, Entry | None] = {}
        self._base_trees: dict[bytes, tuple[bytes, ...]] = {}

    def look(self) -> Look:
        """How the workspace differs from its layers."""
        return _Looking(self, self._limits).run()


class _Looking:
    """One look under way."""

    def __init__(self, picture: WorkspaceScanner, limits: ScanLimits) -> None:
        self._picture = picture
        self._limits = limits
        self._look = Look()
        self._names_left = limits.names
        self._files_left = limits.files
        self._bytes_left = limits.total_bytes
        self._known: dict[bytes, tuple[Stamp, Entry, bool]] = {}

    def run(self) -> Look:
        try:
            top = open_top(self._picture._top, open_up=False)
        except PermissionError:
            self._look.leave_out(b"")
            return self._look
        try:
            waiting = [(b"", self._picture._whole)]
            while waiting and not self._look.truncated:
                path, hides = waiting.pop()
                waiting.extend(self._directory(top, path, hides))
        finally:
            os.close(top)
        self._picture._known = {**self._picture._known, **self._known} if self._look.truncated else self._known
        return self._look

    def _directory(self, top: int, path: bytes, hides: bool) -> list[tuple[bytes, bool]]:
        """Compare one directory; the directories in it that are still to be compared."""
        try:
            handle = open_path(top, path)
        except PermissionError:
            self._look.leave_out(path)
            return []
        if handle is None:
            self._look.leave_out(path)
            return []
        try:
            hides = hides or is_opaque(handle)
            with self._picture._base.directory(path) as below:
                return self._names(path, handle, below, hides)
        except PermissionError:  # names can be listed, but nothing can be known about them
            self._look.leave_out(path)
            return []
        finally:
            os.close(handle)

    def _names(self, path: bytes, directory: int, below: Merged | None, hides: bool) -> list[tuple[bytes, bool]]:
        former = {found.name: found for found in below.shown()} if hides and below else {}
        inner: list[tuple[bytes, bool]] = []
        seen: set[bytes] = set()
        with os.scandir(directory) as entries:
            for entry in entries:
                self._names_left -= 1
                if self._names_left < 0:
                    self._look.truncated = True
                    return []
                name = os.fsencode(entry.name)
                seen.add(name)
                status = status_of(directory, name) if name != GIT else None
                if status is not None:
                    found = below.find(name) if below else None
                    if self._name(join(path, name), Found(directory, name, status), found):
                        inner.append((join(path, name), hides))
        for name in former.keys() - seen - {GIT}:
            self._removed(join(path, name), former[name])
        return inner

    def _name(self, path: bytes, now: Found, below: Found | None) -> bool:
        """Compare one name; whether it is a directory to look into."""
        mode = file_mode(now.status)
        name = now.name.lower()
        if name == GIT or (name == b".gitmodules" and mode == LINK) or not in_reach(path):
            if below and in_reach(path):
                self._removed(path, below)
            return False
        if stat.S_ISDIR(now.status.st_mode):
            if below and not stat.S_ISDIR(below.status.st_mode):
                self._removed(path, below)
            return True
        if below and (mode is None or stat.S_ISDIR(below.status.st_mode)):
            self._removed(path, below)  # a whiteout is not a file either
            below = None
        if mode is not None:
            self._file(path, now, below)
        return False

    def _file(self, path: bytes, now: Found, below: Found | None) -> None:
        stamp = stamp_of(now.status)
        known = self._picture._known.get(path)
        if known is None or known[0] != stamp or known[2]:
            known = self._read(path, now, stamp)
        if known is None:
            self._look.leave_out(path)
            return
        self._known[path] = known
        self._look.pairs[path] = Pair(self._base_entry(path, below), known[1])

    def _read(self, path: bytes, now: Found, stamp: Stamp) -> tuple[Stamp, Entry, bool] | None:
        """Read a file, if this look has room for it and the file holds still."""
        if stamp.size > self._limits.digest_bytes:
            return stamp, Entry(path, file_mode(now.status) or 0, stamp.size, ""), False
        if self._files_left <= 0 or self._bytes_left <= 0:
            return None
        self._files_left -= 1
        self._bytes_left -= stamp.size
        begin = time.time_ns()
        try:
            reading = read(now.directory, now.name, data_bytes=self._limits.data_bytes)
        except PermissionError:
            return None
        if reading is None:
            return None
        if reading.data is not None:
            self._look.data[path] = reading.data
        entry = Entry(path, reading.mode, reading.size, reading.sha256)
        return reading.stamp, entry, begin - reading.stamp.changed_ns < FRESH_NS

    def _base_entry(self, path: bytes, below: Found | None) -> Entry | None:
        """What the layers have at ``path``; they never change, so it is read once."""
        entries = self._picture._base_entries
        if path not in entries:
            entries[path] = entry_of(below.directory, below.name, path, below.status) if below else None
        return entries[path]

    def _removed(self, path: bytes, gone: Found) -> None:
        """Everything that the layers have at ``path`` is no longer there."""
        if not stat.S_ISDIR(gone.status.st_mode):
            entry = self._base_entry(path, gone)
            if entry is not None:
                self._look.pairs[path] = Pair(entry, None)
            return
        trees = self._picture._base_trees
        if path not in trees:
            trees[path] = tuple(self._files_below(path))
        for inner in trees[path]:
            self._look.pairs[inner] = Pair(self._picture._base_entries[inner], None)

    def _files_below(self, path: bytes) -> list[bytes]:
        files: list[bytes] = []
        for directory, shown in self._picture._base.walk(path):
            shown[:] = [found for found in shown if found.name.lower() != GIT and in_reach(join(directory, found.name))]
            for found in shown:
                inner = join(directory, found.name)
                if file_mode(found.status) is not None and self._base_entry(inner, found) is not None:
                    files.append(inner)
        return files
