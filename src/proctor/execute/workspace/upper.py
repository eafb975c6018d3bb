"""Changing a workspace from outside, before anything runs in it.

The top directory is an overlay's upper directory above ``below``, or a plain tree with nothing below. What is written
wins over whatever is in the way, links and directories included, and no link is followed. What is removed from an
overlay leaves a whiteout; a directory that thereby shows nothing goes too, as git does it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.erase import erase_at
from proctor.base.handles import LINK, open_inner, open_top, parents_of, split, status_of
from proctor.execute.sandbox.interface import owner
from proctor.execute.workspace.stack import Stack, opaque_attribute

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Upper:
    """The writable top of a workspace."""

    def __init__(self, top: Path, below: tuple[Path, ...]) -> None:
        self._top = top
        self._below = Stack(below)
        self._layered = bool(below)
        self.shown = Stack((top, *below))

    def put(self, path: bytes, data: bytes, mode: int) -> None:
        """Make ``path`` a file with these bytes, or a link to them; ``mode`` is one of git's three."""
        *parents, name = split(path)
        with self._parent(parents) as directory:
            erase_at(directory, name)
            if mode == LINK:
                os.symlink(data, name, dir_fd=directory)
                os.chown(name, *owner(), dir_fd=directory, follow_symlinks=False)
                return
            handle = os.open(name, _NEW, 0o600, dir_fd=directory)
            with os.fdopen(handle, "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fchown(handle, *owner())
                os.fchmod(handle, mode & 0o777)

    def remove(self, paths: Iterable[bytes]) -> None:
        """Take ``paths`` away; those that are not there are fine. See ``prune`` for the directories they leave."""
        for path in paths:
            *parents, name = split(path)
            parent = b"/".join(parents)
            with self.shown.directory(parent) as directory:
                if directory is None or directory.find(name) is None:
                    continue
            with self._parent(parents) as handle:
                erase_at(handle, name)
                if self._layered and self._still_shown(parent, name):
                    os.mknod(name, stat.S_IFCHR, 0, dir_fd=handle)

    def prune(self, paths: Iterable[bytes]) -> None:
        """Take away the directories above ``paths`` that show nothing any more."""
        parents = {parent for path in paths for parent in parents_of(path)}
        for parent in sorted(parents, key=lambda path: path.count(b"/"), reverse=True):
            with self.shown.directory(parent) as directory:
                empty = directory is not None and directory.is_empty()
            if empty:
                self.remove([parent])

    def _still_shown(self, parent: bytes, name: bytes) -> bool:
        with self.shown.directory(parent) as directory:
            return directory is not None and directory.find(name) is not None

    @contextmanager
    def _parent(self, parts: list[bytes]) -> Iterator[int]:
        """The directory ``parts`` in the top itself, made where it is missing."""
        handle = open_top(self._top)
        try:
            for depth, part in enumerate(parts):
                status = status_of(handle, part)
                if status is None or not stat.S_ISDIR(status.st_mode):
                    self._make(handle, parts[: depth + 1], in_the_way=status is not None)
                inner = open_inner(handle, part)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def _make(self, handle: int, parts: list[bytes], *, in_the_way: bool) -> None:
        """Make one directory; where it replaces something it has to hide what lies below it as well."""
        name = parts[-1]
        if in_the_way:
            os.unlink(name, dir_fd=handle)
        os.mkdir(name, 0o700, dir_fd=handle)
        inner = open_inner(handle, name)
        try:
            if in_the_way and self._layered:
                os.setxattr(inner, opaque_attribute(), b"y")
            os.fchown(inner, *owner())
            os.fchmod(inner, 0o755 if in_the_way else self._mode_below(parts))
        finally:
            os.close(inner)

    def _mode_below(self, parts: list[bytes]) -> int:
        """The permissions of the directory that a new one is merged with."""
        with self._below.directory(b"/".join(parts[:-1])) as directory:
            found = directory.find(parts[-1]) if directory else None
            if found and stat.S_ISDIR(found.status.st_mode):
                return stat.S_IMODE(found.status.st_mode)
        return 0o755
