"""What changed between layers and the tree that was made from them, read from the changed side alone.

An overlay's upper directory holds exactly what was touched, so only that is walked; a plain copy is walked as if its
top were an upper directory that hides everything below. Either way contents decide: a file that was touched but holds
the same bytes and mode is not a change. git is not used.

Left out: ``.git`` at any depth, and empty directories. Listed separately, because no patch can carry them: ``special``
files (fifos, sockets, devices, names that git refuses, paths out of reach) and files ``too_large`` to be read.
``truncated`` says that the limits were exceeded. Paths that do not count have limits of their own, so that they never
displace others; paths over those limits are ``omitted``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proctor.base.untrusted_directories import (
    LINK,
    digest_file,
    file_mode,
    in_reach,
    join,
    names_in,
    status_of,
)
from proctor.execute.workspace.file_tree import GIT, Entry, cursor_below, entry_of
from proctor.execute.workspace.layer_stack import Found, Merged, Stack, is_opaque, is_whiteout


@dataclass(frozen=True)
class DiffLimits:
    """The most that a difference takes in: bytes of files, files that differ, names that were not there before."""

    file_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    changed_files: int = 20_000
    new_names: int = 200_000


@dataclass(frozen=True)
class Change:
    """One path that differs: ``change`` is ``added``, ``modified`` or ``deleted``."""

    path: bytes
    change: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True)
class Changes:
    """Everything that differs, sorted by path."""

    changes: tuple[Change, ...] = ()
    special: tuple[bytes, ...] = ()
    too_large: tuple[bytes, ...] = ()
    truncated: bool = False
    omitted: bool = False


def everything(path: bytes) -> bool:
    """Counts every path."""
    return True


def compare(
    before: Stack,
    after: Path,
    *,
    whole: bool,
    limits: DiffLimits | None = None,
    counts: Callable[[bytes], bool] = everything,
) -> Changes:
    """The changes from ``before`` to the tree at ``after``.

    ``after`` is an upper directory above ``before``, or with ``whole`` a complete plain tree. ``counts`` says whether a
    path counts for the limits.
    """
    return _Comparison(before, whole, limits or DiffLimits(), counts).run(after)


class _Room:
    """How much was taken in."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0


class _Comparison:
    """One comparison under way."""

    def __init__(self, before: Stack, whole: bool, limits: DiffLimits, counts: Callable[[bytes], bool]) -> None:
        self._before = before
        self._whole = whole
        self._limits = limits
        self._counts = counts
        self._counted = _Room()
        self._uncounted = _Room()
        self._changes: list[Change] = []
        self._special: list[bytes] = []
        self._too_large: list[bytes] = []
        self._fresh = 0
        self._truncated = False
        self._omitted = False

    def run(self, after: Path) -> Changes:
        with cursor_below(after) as now, self._before.trail() as before:
            waiting = [(b"", self._whole)]
            while waiting and not self._truncated:
                path, hides = waiting.pop()
                directory = now.at(path)
                hides = hides or (path != b"" and is_opaque(directory))
                waiting.extend(reversed(self._visit(path, directory, before.at(path), hides)))
        return Changes(
            tuple(sorted(self._changes, key=lambda change: change.path)),
            tuple(sorted(self._special)),
            tuple(sorted(self._too_large)),
            self._truncated,
            self._omitted,
        )

    def _visit(self, path: bytes, directory: int, below: Merged | None, hides: bool) -> list[tuple[bytes, bool]]:
        """Compare one directory; the directories below it that are still to be compared."""
        former = {found.name: found for found in below.shown()} if hides and below else {}
        names = names_in(directory, self._limits.new_names + 1 - self._fresh + len(former))
        self._fresh += sum(name not in former for name in names)
        self._truncated = self._fresh > self._limits.new_names
        inner: list[tuple[bytes, bool]] = []
        for name in names:
            if self._truncated:
                return []
            status = status_of(directory, name)
            if name != GIT and status is not None:
                found = below.find(name) if below else None
                inner.extend(self._name(join(path, name), Found(directory, name, status), found, hides))
        for name in former.keys() - set(names) - {GIT}:
            self._removed(join(path, name), former[name])
        return inner

    def _name(self, path: bytes, now: Found, below: Found | None, hides: bool) -> list[tuple[bytes, bool]]:
        """Compare one name; the directory that it is, where that has to be looked into."""
        if not _expressible(path, now.status):
            self._special.append(path)
            if below and in_reach(path):
                self._removed(path, below)
            return []
        if is_whiteout(now.status) and not self._whole:
            if below:
                self._removed(path, below)
            return []
        if not stat.S_ISDIR(now.status.st_mode):
            if below and stat.S_ISDIR(below.status.st_mode):
                self._removed(path, below)
                below = None
            self._file(path, now, below)
            return []
        if below and not stat.S_ISDIR(below.status.st_mode):
            self._removed(path, below)
        return [(path, hides)]

    def _file(self, path: bytes, now: Found, below: Found | None) -> None:
        """Compare a file, link or special file with what was there."""
        if file_mode(now.status) is None:
            self._special.append(path)
            if below:
                self._removed(path, below)
            return
        if below and not _expressible(path, below.status):
            self._special.append(path)
            return
        if below and _same_file(now, below):
            return
        room = self._room(path, now, below)
        if room is None:
            return
        after = entry_of(now.directory, now.name, path, now.status)
        before = entry_of(below.directory, below.name, path, below.status) if below else None
        room.bytes += now.status.st_size + (below.status.st_size if below else 0)
        self._add(room, Change(path, "modified" if before else "added", before, after))

    def _add(self, room: _Room, change: Change) -> None:
        room.files += 1
        self._changes.append(change)

    def _removed(self, path: bytes, gone: Found) -> None:
        """Everything at ``path`` is no longer there."""
        if not stat.S_ISDIR(gone.status.st_mode):
            self._removed_file(path, gone)
            return
        if not _expressible(path, gone.status):
            return
        for directory, shown in self._before.walk(path):
            shown[:] = [found for found in shown if _expressible(join(directory, found.name), found.status)]
            for found in shown:
                if self._truncated:
                    return
                if not stat.S_ISDIR(found.status.st_mode):
                    self._removed_file(join(directory, found.name), found)

    def _removed_file(self, path: bytes, gone: Found) -> None:
        if file_mode(gone.status) is None or not _expressible(path, gone.status):
            return
        room = self._room(path, gone, None)
        if room is None:
            return
        before = entry_of(gone.directory, gone.name, path, gone.status)
        room.bytes += gone.status.st_size
        self._add(room, Change(path, "deleted", before, None))

    def _room(self, path: bytes, *sides: Found | None) -> _Room | None:
        """Where there is room for a change of ``path``; nowhere is noted."""
        counted = self._counts(path)
        room = self._counted if counted else self._uncounted
        sizes = [side.status.st_size for side in sides if side]
        if max(sizes) > self._limits.file_bytes or (counted and self._is_full(room, sum(sizes))):
            self._too_large.append(path)
        elif room.files < self._limits.changed_files and not self._is_full(room, sum(sizes)):
            return room
        elif counted:
            self._truncated = True
        else:
            self._omitted = True
        return None

    def _is_full(self, room: _Room, more: int) -> bool:
        return room.bytes + more > self._limits.total_bytes


def _same_file(now: Found, below: Found) -> bool:
    """Whether two files hold the same bytes under the same mode, however large they are."""
    mode = file_mode(now.status)
    if mode is None or mode != file_mode(below.status) or now.status.st_size != below.status.st_size:
        return False
    return digest_file(now.directory, now.name, mode) == digest_file(below.directory, below.name, mode)


def _expressible(path: bytes, status: os.stat_result) -> bool:
    """Whether git lets a file of this name into a tree, and the path is in reach."""
    name = path.rpartition(b"/")[2].lower()
    if name == GIT or (name == b".gitmodules" and file_mode(status) == LINK):
        return False
    return in_reach(path)
