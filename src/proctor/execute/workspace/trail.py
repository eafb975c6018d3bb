"""Going from directory to directory of one tree without starting at its top each time.

A walk that goes down first finds the directory above still open, so a deep tree costs as much as a flat one with as
many names. Only the ``KEPT`` innermost directories stay open; what lies above them is opened again when the way leads
back there. What :meth:`Trail.at` gives is open until its next call. Nothing may be at work in the tree meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from proctor.base.handles import open_inner, open_top

KEPT = 32

Level = TypeVar("Level")


class Trail(Generic[Level]):
    """The way from a top to the directory that was asked for last; it owns ``top`` and all that it enters."""

    def __init__(self, top: Level, enter: Callable[[Level, bytes], Level], close: Callable[[Level], None]) -> None:
        self._enter = enter
        self._close = close
        self._parts: list[bytes] = []
        self._levels: dict[int, Level] = {0: top}

    def at(self, path: bytes) -> Level:
        """The directory ``path``, where ``b""`` is the top."""
        parts = path.split(b"/") if path else []
        self._leave(_shared(self._parts, parts))
        depth = max(self._levels)
        del self._parts[depth:]
        for part in parts[depth:]:
            self._levels[depth + 1] = self._enter(self._levels[depth], part)
            depth += 1
            self._parts.append(part)
            if depth > KEPT and depth - KEPT in self._levels:
                self._close(self._levels.pop(depth - KEPT))
        return self._levels[depth]

    def _leave(self, depth: int) -> None:
        """Close whatever lies deeper than ``depth``."""
        for level in [level for level in self._levels if level > depth]:
            self._close(self._levels.pop(level))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(-1)


def trail_below(root: Path, *, open_up: bool = True) -> Trail[int]:
    """A trail of directory descriptors below ``root``, which follows no link."""
    return Trail(open_top(root, open_up=open_up), partial(open_inner, open_up=open_up), os.close)


def _shared(one: list[bytes], other: list[bytes]) -> int:
    """How many leading parts two paths share."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
