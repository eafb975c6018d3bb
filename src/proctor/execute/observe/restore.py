"""Making a mounted workspace show again what a checkpoint holds, by plain work on the mount.

Changing an upper directory under its overlay is undefined, so nothing is done there: files are removed and written
through the mount itself, and the overlay keeps its own books. What has to be looked at is what lies in the upper
directory now or did at the checkpoint; everything else comes from the layers on both sides. Nothing else may be at
work meanwhile. A plain tree has no layers, and all of it is compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.base.erase import erase_at
from proctor.base.handles import digest_file, file_mode, join, names_in, open_top, status_of
from proctor.execute.observe.live import open_path
from proctor.execute.observe.snapshot import copy_name, entered
from proctor.execute.sandbox.interface import owner
from proctor.execute.workspace.stack import Found, Merged, Stack, is_opaque


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
        """The names that lie in either upper directory; ``None`` where only one of them hides the layers."""
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
