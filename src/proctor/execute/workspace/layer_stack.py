"""Layers seen as one tree, as an overlay mount shows them, without a mount.

The rules are the kernel's: the topmost name wins; a character device 0:0 hides the name below it; directories of the
same name are merged down to the first that is marked opaque or that is not a directory. The mark is an attribute that
only the kernel and the harness can set: ``trusted.overlay.opaque`` where overlays are mounted with privilege, else
``user.overlay.opaque``, which such a mount keeps from the processes inside. The other spelling is plain data that an
agent may have written and is not looked at. Redirects and metadata-only copies are switched off at mounting.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.base.untrusted_directories import file_mode, join, names_in, open_inner, open_top, read_file, status_of
from proctor.execute.workspace.file_tree import DirectoryCursor

READ_BYTES = 64 << 20


def opaque_attribute() -> str:
    """The attribute with which overlays mark a directory that hides the layers below it."""
    return "trusted.overlay.opaque" if os.geteuid() == 0 else "user.overlay.opaque"


def is_opaque(directory: int) -> bool:
    """Whether an open directory of a layer hides the layers below it."""
    try:
        return os.getxattr(directory, opaque_attribute()) == b"y"
    except OSError:
        return False


def is_whiteout(status: os.stat_result) -> bool:
    """Whether a name of a layer only hides the same name below."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


@dataclass(frozen=True)
class Found:
    """A name that a merged directory shows, and the layer's directory that it comes from."""

    directory: int
    name: bytes
    status: os.stat_result


class Merged:
    """One directory of a stack: the open directories that are merged in it, topmost first."""

    def __init__(self, handles: list[int]) -> None:
        self._handles = handles

    def find(self, name: bytes) -> Found | None:
        """What the merged directory shows as ``name``."""
        for handle in self._handles:
            status = status_of(handle, name)
            if status is not None:
                return None if is_whiteout(status) else Found(handle, name, status)
        return None

    def shown(self) -> list[Found]:
        """Everything that the merged directory shows, sorted by name."""
        names = {name for handle in self._handles for name in names_in(handle)}
        return [found for name in sorted(names) if (found := self.find(name))]

    def is_empty(self) -> bool:
        """Whether the merged directory shows nothing."""
        return not any(self.find(name) for handle in self._handles for name in names_in(handle))

    def enter(self, name: bytes) -> Merged | None:
        """The merged directory ``name`` in this one; ``None`` where there is none."""
        inner = Merged([])
        try:
            for handle in self._handles:
                status = status_of(handle, name)
                if status is None:
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    break
                inner._handles.append(open_inner(handle, name))
                if is_opaque(inner._handles[-1]):
                    break
        except BaseException:
            inner.close()
            raise
        return inner if inner._handles else None

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())


class Stack:
    """The tree that ``roots`` show together, topmost first. It opens nothing for longer than a call."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self.roots = roots

    @contextmanager
    def directory(self, path: bytes) -> Iterator[Merged | None]:
        """The merged directory ``path``; ``None`` if there is none, or if a part of the path is a link."""
        current: Merged | None = self._top()
        try:
            for part in path.split(b"/") if path else ():
                if current is None:
                    break
                inner = current.enter(part)
                current.close()
                current = inner
            yield current
        finally:
            if current is not None:
                current.close()

    def trail(self) -> DirectoryCursor[Merged | None]:
        """Going from one merged directory to the next."""
        return DirectoryCursor(self._top(), _enter, _close)

    def file(self, path: bytes, limit_bytes: int = READ_BYTES) -> tuple[int, bytes] | None:
        """Mode and bytes of the file or link ``path`` (a link's bytes are its target); ``None`` for anything else."""
        parent, _, name = path.rpartition(b"/")
        with self.directory(parent) as directory:
            return _file_in(directory, name, limit_bytes)

    def read(self, path: bytes) -> bytes | None:
        """The bytes of the file or link ``path``."""
        found = self.file(path)
        return found[1] if found else None

    @contextmanager
    def reading(self, limit_bytes: int = READ_BYTES) -> Iterator[Callable[[bytes], tuple[int, bytes] | None]]:
        """What ``file`` does, for many paths: in sorted order each costs little more than reading it."""
        with self.trail() as trail:

            def read(path: bytes) -> tuple[int, bytes] | None:
                parent, _, name = path.rpartition(b"/")
                return _file_in(trail.at(parent), name, limit_bytes)

            yield read

    def walk(self, path: bytes = b"") -> Iterator[tuple[bytes, list[Found]]]:
        """Every merged directory at and below ``path`` with what it shows; what is found is open for that step only.

        The caller may take directories out of the list, and the walk then leaves them out.
        """
        waiting = [path]
        with self.trail() as trail:
            while waiting:
                current = waiting.pop()
                directory = trail.at(current)
                if directory is None:
                    continue
                shown = directory.shown()
                yield current, shown
                waiting.extend(join(current, found.name) for found in shown if stat.S_ISDIR(found.status.st_mode))

    def _top(self) -> Merged:
        top = Merged([])
        try:
            for root in self.roots:
                top._handles.append(open_top(root))
        except BaseException:
            top.close()
            raise
        return top


def _enter(directory: Merged | None, name: bytes) -> Merged | None:
    return directory.enter(name) if directory else None


def _close(directory: Merged | None) -> None:
    if directory is not None:
        directory.close()


def _file_in(directory: Merged | None, name: bytes, limit_bytes: int) -> tuple[int, bytes] | None:
    found = directory.find(name) if directory else None
    mode = file_mode(found.status) if found else None
    if found is None or mode is None:
        return None
    return mode, read_file(found.directory, name, mode, limit_bytes)
