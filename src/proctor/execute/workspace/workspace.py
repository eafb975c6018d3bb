"""A workspace: the tree that one sandbox works on, above layers that stay untouched.

With overlays it is made in constant time, whatever the size of the tree: two empty directories, and the files of a
patch where one is given. Without, it is a plain copy. A workspace is changed from outside only before a sandbox opens
it, and read only after every process in that sandbox has ended. Paths are relative to ``/workspace``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from proctor.base.erase import erase
from proctor.execute.sandbox.interface import Overlay, Tree, owner
from proctor.execute.workspace.copy import copy_tree
from proctor.execute.workspace.diff import Changes, DiffLimits, compare, everything
from proctor.execute.workspace.patch import Application
from proctor.execute.workspace.stack import READ_BYTES, Stack
from proctor.execute.workspace.store import Layer, hold
from proctor.execute.workspace.upper import Upper

PARTS = ("workspace", "setup")


def base_stack(layers: tuple[Layer, ...]) -> Stack:
    """The tree below ``/workspace`` that ``layers``, topmost first, show before anything changes it."""
    return Stack(tuple(layer.path / "workspace" for layer in layers))


class Workspace:
    """One workspace on disk. Make it with :meth:`create`, take it away with :meth:`discard`."""

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
        """Take a file or directory away before mounting, and the directories that it leaves empty."""
        self._upper.remove([path])
        self._upper.prune([path])

    def changes(self, limits: DiffLimits | None = None, *, counts: Callable[[bytes], bool] = everything) -> Changes:
        """What differs from the layers; ``counts`` says which paths are held against the limits."""
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
        """Take the workspace away; the layers stay. Safe to call twice."""
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
