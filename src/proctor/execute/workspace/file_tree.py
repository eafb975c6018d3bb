"""The content of a tree of files: one entry for each file and link, and one digest over all of them.

Modes are git's three: a file, a program, a link. Everything in a directory called ``.git`` is left out, and so are
empty directories. Fifos, sockets and devices cannot be part of a tree; they are listed separately.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from proctor.base.untrusted_directories import (
    digest_file,
    file_mode,
    in_reach,
    join,
    names_in,
    open_inner,
    open_top,
    status_of,
)

KEPT = 32

Level = TypeVar("Level")


class DirectoryCursor(Generic[Level]):
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
        """Close all descriptors deeper than ``depth``."""
        for level in [level for level in self._levels if level > depth]:
            self._close(self._levels.pop(level))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(-1)


def cursor_below(root: Path, *, open_up: bool = True) -> DirectoryCursor[int]:
    """A trail of directory descriptors below ``root``, which follows no link."""
    return DirectoryCursor(open_top(root, open_up=open_up), partial(open_inner, open_up=open_up), os.close)


def _shared(one: list[bytes], other: list[bytes]) -> int:
    """How many leading parts two paths share."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


GIT = b".git"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Entry:
    """One file or link: its path in the tree, git's mode, its size and the hexadecimal digest of its bytes.

    The bytes of a link are its target. ``sha256`` is empty where nothing was hashed.
    """

    path: bytes
    mode: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Scan:
    """All entries of a tree, sorted by path, and the paths of what cannot be an entry."""

    entries: tuple[Entry, ...]
    special: tuple[bytes, ...]


def scan(root: Path, *, hash: bool = True) -> tuple[Entry, ...]:  # noqa: A002
    """The entries of the tree at ``root``, sorted by path."""
    return scan_tree(root, hash=hash).entries


def scan_tree(root: Path, *, hash: bool = True, open_up: bool = True) -> Scan:  # noqa: A002
    """The entries of the tree at ``root`` and everything else in it; without ``open_up`` no permissions are changed."""
    entries: list[Entry] = []
    special: list[bytes] = []
    waiting = [b""]
    read = partial(entry_of, hashed=hash, open_up=open_up)
    with cursor_below(root, open_up=open_up) as trail:
        while waiting:
            path = waiting.pop()
            _scan_directory(trail.at(path), path, read, entries, special, waiting)
    entries.sort(key=lambda entry: entry.path)
    return Scan(tuple(entries), tuple(sorted(special)))


def entry_of(
    directory: int, name: bytes, path: bytes, status: os.stat_result, *, hashed: bool = True, open_up: bool = True
) -> Entry | None:
    """The entry for ``name`` in an open directory; ``None`` for what is neither a file nor a link."""
    mode = file_mode(status)
    if mode is None:
        return None
    if hashed and status.st_size == 0:
        return Entry(path, mode, 0, EMPTY_SHA256)
    return Entry(path, mode, status.st_size, digest_file(directory, name, mode, open_up=open_up) if hashed else "")


def entry_with(path: bytes, mode: int, data: bytes) -> Entry:
    """The entry of a file or link that holds ``data``."""
    return Entry(path, mode, len(data), hashlib.sha256(data).hexdigest())


def tree_digest(entries: Iterable[Entry]) -> str:
    """One digest over paths, modes and contents; equal exactly when the trees are."""
    state = hashlib.sha256(b"proctor tree 1\n")
    for entry in entries:
        state.update(
            b"%o %s %d %d\n%s\n" % (entry.mode, entry.sha256.encode(), entry.size, len(entry.path), entry.path)
        )
    return "sha256:" + state.hexdigest()


def _scan_directory(
    directory: int,
    path: bytes,
    read: Callable[[int, bytes, bytes, os.stat_result], Entry | None],
    entries: list[Entry],
    special: list[bytes],
    waiting: list[bytes],
) -> None:
    for name in names_in(directory):
        if name == GIT:
            continue
        inner = join(path, name)
        status = status_of(directory, name)
        if status is None:
            continue
        if not in_reach(inner):
            special.append(inner)
        elif stat.S_ISDIR(status.st_mode):
            waiting.append(inner)
        elif entry := read(directory, name, inner, status):
            entries.append(entry)
        else:
            special.append(inner)
