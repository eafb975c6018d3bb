"""Disk and inodes that a workspace takes up, counted while processes write to it.

A look visits a bounded number of names and the next one goes on from there, so a tree of a million files costs no
more per look than a small one; until a pass is through, the answer is what the last pass found, or this one if that is
more already. A name counts as one inode; a file with several names is shared out between them. A copy starts with a
whole tree in it, which does not count.

Not counted: files without a name that a process still holds open (see ``processes``), and directories that may not be
read or lie out of reach, which ``unread`` counts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.base.handles import in_reach, join, open_top
from proctor.execute.observe.live import open_path, status_of
from proctor.execute.sandbox.interface import Tree
from proctor.execute.workspace.workspace import Workspace

LOOK_NAMES = 20_000
BLOCK_BYTES = 512


@dataclass(frozen=True)
class DiskUse:
    """What was counted; ``complete`` when a pass over everything came to its end."""

    bytes: int = 0
    inodes: int = 0
    unread: int = 0
    complete: bool = True


def disk_of(workspace: Workspace, look_names: int = LOOK_NAMES) -> Disk:
    """The count for a workspace: of the upper directory of an overlay, or of what a copy has grown by from now on."""
    disk = Disk(workspace.upper, look_names=look_names)
    if isinstance(workspace.view(), Tree):
        disk.start_here()
    return disk


class Disk:
    """Counts what lies below one directory."""

    def __init__(self, top: Path, *, look_names: int = LOOK_NAMES) -> None:
        self._top = top
        self._look_names = look_names
        self._base = DiskUse()
        self._last = DiskUse()
        self._pass: Generator[DiskUse, None, None] | None = None

    def start_here(self) -> None:
        """What lies there now does not count."""
        self.close()
        while not self.look().complete:
            pass
        self._base = self._last

    def look(self) -> DiskUse:
        """Go on counting for one look; what is known after it."""
        if self._pass is None:
            self._pass = self._count()
        found = next(self._pass)
        if found.complete:
            self.close()
            self._last = found
        return DiskUse(
            max(0, found.bytes - self._base.bytes, self._last.bytes - self._base.bytes),
            max(0, found.inodes - self._base.inodes, self._last.inodes - self._base.inodes),
            max(found.unread, self._last.unread),
            found.complete,
        )

    def close(self) -> None:
        """Let go of the directory that a look may have stopped in; the next look begins a new pass."""
        if self._pass is not None:
            self._pass.close()
            self._pass = None

    def _count(self) -> Generator[DiskUse, None, None]:
        """One pass: what was found so far at the end of each look, and at last everything."""
        size = names = unread = 0
        left = self._look_names
        for status in self._walk():
            if left == 0:
                yield DiskUse(size, names, unread, complete=False)
                left = self._look_names
            left -= 1
            if status is None:
                unread += 1
            else:
                names += 1
                size += _share(status)
        yield DiskUse(size, names, unread)

    def _walk(self) -> Iterator[os.stat_result | None]:
        """The status of every name; ``None`` for a directory that cannot be looked into."""
        waiting = [b""]
        top = open_top(self._top)
        try:
            while waiting:
                path = waiting.pop()
                try:
                    handle = open_path(top, path)
                except PermissionError:
                    yield None
                    continue
                if handle is None:
                    continue
                try:
                    for name, status in _names(handle):
                        yield status
                        inner = join(path, name)
                        if stat.S_ISDIR(status.st_mode):
                            if in_reach(inner):
                                waiting.append(inner)
                            else:
                                yield None
                except PermissionError:  # names can be listed, but nothing can be known about them
                    yield None
                finally:
                    os.close(handle)
        finally:
            os.close(top)


def _names(directory: int) -> Iterator[tuple[bytes, os.stat_result]]:
    """The names in an open directory, as they come; those that vanish meanwhile are left out."""
    with os.scandir(directory) as entries:
        for entry in entries:
            status = status_of(directory, name := os.fsencode(entry.name))
            if status is not None:
                yield name, status


def _share(status: os.stat_result) -> int:
    """The bytes on disk that one name stands for."""
    size = status.st_blocks * BLOCK_BYTES
    if stat.S_ISDIR(status.st_mode) or status.st_nlink <= 1:
        return size
    return -(-size // status.st_nlink)
