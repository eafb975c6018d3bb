"""A workspace.

The tree that one sandbox works on, above layers that stay unchanged; also a plain copy where overlays cannot be
mounted, and changes from outside before a run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from proctor.base.untrusted_directories import (
    LINK,
    directory_at,
    erase,
    erase_at,
    in_reach,
    join,
    open_inner,
    open_top,
    opened,
    parents_of,
    split,
    status_of,
)
from proctor.execute.sandbox.interface import Overlay, Tree, owner
from proctor.execute.workspace.diff import Changes, DiffLimits, compare, everything
from proctor.execute.workspace.layer_stack import READ_BYTES, Found, Stack, opaque_attribute
from proctor.execute.workspace.layer_store import Layer, hold
from proctor.execute.workspace.patch import Application

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20


def copy_tree(source: Stack, destination: Path) -> None:
    """Fill the empty directory ``destination`` with what ``source`` shows."""
    made: list[tuple[bytes, os.stat_result]] = []
    top = open_top(destination)
    try:
        for path, shown in source.walk():
            shown[:] = [found for found in shown if in_reach(join(path, found.name))]
            with directory_at(top, path) as directory:
                for found in shown:
                    _copy(found, directory)
            made.extend((join(path, found.name), found.status) for found in shown if _is_directory(found))
        for path, status in reversed(made):
            with directory_at(top, path) as directory:
                os.utime(directory, ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fchmod(directory, stat.S_IMODE(status.st_mode))
    finally:
        os.close(top)


def _is_directory(found: Found) -> bool:
    return stat.S_ISDIR(found.status.st_mode)


def _copy(found: Found, directory: int) -> None:
    """Copy one name into an open directory; a directory is only made."""
    times = (found.status.st_atime_ns, found.status.st_mtime_ns)
    kind = stat.S_IFMT(found.status.st_mode)
    if kind == stat.S_IFDIR:
        os.mkdir(found.name, 0o700, dir_fd=directory)
        os.chown(found.name, *owner(), dir_fd=directory, follow_symlinks=False)
    elif kind == stat.S_IFLNK:
        os.symlink(os.readlink(found.name, dir_fd=found.directory), found.name, dir_fd=directory)
        os.chown(found.name, *owner(), dir_fd=directory, follow_symlinks=False)
        os.utime(found.name, ns=times, dir_fd=directory, follow_symlinks=False)
    elif kind == stat.S_IFREG:
        with opened(found.directory, found.name) as source:
            target = os.open(found.name, _NEW, 0o600, dir_fd=directory)
            try:
                _copy_bytes(source, target)
                os.fchown(target, *owner())
                os.fchmod(target, stat.S_IMODE(found.status.st_mode) & 0o777)
                os.utime(target, ns=times)
            finally:
                os.close(target)


def _copy_bytes(source: int, target: int) -> None:
    """Copy a whole file, inside the kernel where it can."""
    try:
        while os.copy_file_range(source, target, _CHUNK):
            pass
    except OSError:
        os.lseek(source, 0, os.SEEK_SET)
        os.lseek(target, 0, os.SEEK_SET)
        os.ftruncate(target, 0)
        while part := os.read(source, _CHUNK):
            os.write(target, part)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
            handle = os.open(name, _NEW_FILE, 0o600, dir_fd=directory)
            with os.fdopen(handle, "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fchown(handle, *owner())
                os.fchmod(handle, mode & 0o777)

    def remove(self, paths: Iterable[bytes]) -> None:
        """Remove ``paths``; they need not exist. See ``prune`` for the directories they leave."""
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
        """Remove the directories above ``paths`` that are empty now."""
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
        """Make one directory; if it replaces something, it also has to hide the layers below it."""
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


PARTS = ("workspace", "setup")


def base_stack(layers: tuple[Layer, ...]) -> Stack:
    """The tree below ``/workspace`` that ``layers``, topmost first, show before anything changes it."""
    return Stack(tuple(layer.path / "workspace" for layer in layers))


class Workspace:
    """One workspace on disk. Create it with :meth:`create`, remove it with :meth:`discard`."""

    def __init__(self, layers: tuple[Layer, ...], scratch: Path, overlays: bool) -> None:
        self._layers = layers
        self._scratch = scratch
        self._overlays = overlays
        self._top = scratch / ("upper" if overlays else "tree")
        self._base = base_stack(layers)
        self._upper = Upper(self._top / "workspace", self._base.roots if overlays else ())
        self._held: list[int] = []

    @classmethod
    def create(
        cls, layers: tuple[Layer, ...], scratch: Path, *, overlays: bool, application: Application | None = None
    ) -> Workspace:
        """A fresh workspace above ``layers`` (topmost first) in the directory ``scratch``, with a patch applied."""
        workspace = cls(layers, scratch, overlays)
        try:
            workspace._build()
            if application is not None:
                workspace.apply(application)
        except BaseException:
            workspace.discard()
            raise
        return workspace

    def view(self) -> Overlay | Tree:
        """What a sandbox mounts."""
        if not self._overlays:
            return Tree(self._top)
        return Overlay(tuple(layer.path for layer in self._layers), self._top, self._scratch / "work")

    @property
    def upper(self) -> Path:
        """The directory that holds every change, in the form of a layer; the whole tree where that is a copy."""
        return self._top

    @property
    def base(self) -> Stack:
        """The tree below ``/workspace`` as the layers show it."""
        return self._base

    def apply(self, application: Application) -> None:
        """Bring an applied patch into the tree."""
        self._upper.remove(application.removals)
        for path, mode, data in application.writes:
            self._upper.put(path, data, mode)
        self._upper.prune(application.removals)

    def put(self, path: bytes, data: bytes, mode: int = 0o100644) -> None:
        """Write a file or link before mounting, over whatever is in its way."""
        self._upper.put(path, data, mode)

    def remove(self, path: bytes) -> None:
        """Remove a file or directory before mounting, and the directories that it leaves empty."""
        self._upper.remove([path])
        self._upper.prune([path])

    def changes(self, limits: DiffLimits | None = None, *, counts: Callable[[bytes], bool] = everything) -> Changes:
        """The differences from the layers; ``counts`` says which paths count for the limits."""
        whole = not self._overlays
        return compare(self._base, self._top / "workspace", whole=whole, limits=limits, counts=counts)

    def file(self, path: bytes, limit_bytes: int = READ_BYTES) -> tuple[int, bytes] | None:
        """Mode and bytes of a file or link as the sandbox sees it; ``None`` for anything else."""
        return self._upper.shown.file(path, limit_bytes)

    def read(self, path: bytes, limit_bytes: int = READ_BYTES) -> bytes | None:
        """The bytes of a file, or the target of a link, as the sandbox sees it; no link is followed on the way."""
        found = self.file(path, limit_bytes)
        return found[1] if found else None

    def base_file(self, path: bytes, limit_bytes: int = READ_BYTES) -> tuple[int, bytes] | None:
        """Mode and bytes of a file or link as the layers have it."""
        return self._base.file(path, limit_bytes)

    def read_base(self, path: bytes) -> bytes | None:
        """The bytes of a file, or the target of a link, as the layers have it."""
        return self._base.read(path)

    def discard(self) -> None:
        """Remove the workspace; the layers stay. Safe to call twice."""
        erase(self._scratch)
        while self._held:
            os.close(self._held.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def _build(self) -> None:
        self._held.extend(hold(layer) for layer in self._layers)
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        directories = [self._top, *(self._top / part for part in PARTS)]
        if self._overlays:
            directories.append(self._scratch / "work")
        for directory in directories:
            directory.mkdir()
            os.chown(directory, *owner())
            directory.chmod(0o755)
        if not self._overlays:
            for part in PARTS:
                copy_tree(Stack(tuple(layer.path / part for layer in self._layers)), self._top / part)
