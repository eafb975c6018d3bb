"""What a tree of files holds: one entry for each file and link, and one digest over all of them.

Modes are git's three: a file, a program, a link. Whatever lies in a directory called ``.git`` is left out, and so are
empty directories. Fifos, sockets and devices cannot be part of a tree; they are named apart.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from proctor.base.handles import (
    digest_file,
    file_mode,
    in_reach,
    join,
    names_in,
    status_of,
)
from proctor.execute.workspace.trail import trail_below

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
    """The entries of the tree at ``root`` and what else lies in it; without ``open_up`` no permissions are changed."""
    entries: list[Entry] = []
    special: list[bytes] = []
    waiting = [b""]
    read = partial(entry_of, hashed=hash, open_up=open_up)
    with trail_below(root, open_up=open_up) as trail:
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
