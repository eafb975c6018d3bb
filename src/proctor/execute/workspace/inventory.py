"""Everything a layer holds, for its digest, and a bounded sample of it, for the cheap check.

Unlike a tree's entries this covers ``.git``, directories, whiteouts and permissions: whatever changes what a sandbox
would see changes the digest. Owners and times do not count, so the same content has the same digest everywhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.base.handles import (
    digest_file,
    directory_at,
    file_mode,
    in_reach,
    join,
    names_in,
    status_of,
)
from proctor.execute.workspace.stack import is_opaque, is_whiteout
from proctor.execute.workspace.trail import trail_below

SAMPLE = 48


@dataclass(frozen=True)
class Inventory:
    """The digest over everything in a layer, and the paths whose state is compared by the cheap check."""

    digest: str
    sample: tuple[bytes, ...]


def take_inventory(root: Path) -> Inventory:
    """Digest everything below ``root``."""
    lines = sorted((path, _line(directory, name, status)) for path, directory, name, status in _walk(root))
    state = hashlib.sha256(b"proctor layer 1\n")
    for path, line in lines:
        state.update(b"%d %s %s\n" % (len(path), path, line))
    return Inventory("sha256:" + state.hexdigest(), _sample([path for path, _ in lines]))


def sample_state(root: Path, sample: list[bytes] | tuple[bytes, ...]) -> bytes | None:
    """The state of the sampled paths, to be compared later; ``None`` where one is gone."""
    lines: list[str] = []
    for path in sample:
        try:
            status = os.lstat(os.path.join(os.fsencode(root), path))
        except OSError:
            return None
        lines.append(" ".join(str(fact) for fact in _state(status)))
    return "\n".join(lines).encode()


def whole_state(root: Path) -> str:
    """A digest over the state of a file, or of a directory and everything below it. No file is read, so it is cheap.

    Any change gives another one, also a change that was undone, because no user can set the time of a change.
    """
    found = [(b"", _state(os.lstat(root)))]
    if root.is_dir():
        found += sorted((path, _state(status)) for path, _, _, status in _walk(root))
    state = hashlib.sha256()
    for path, facts in found:
        state.update(b"%d %s %s\n" % (len(path), path, repr(facts).encode()))
    return "sha256:" + state.hexdigest()


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What would betray a change. Whiteouts share one inode with others elsewhere, so only their kind counts."""
    if is_whiteout(status):
        return (status.st_mode,)
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, size


def hand_over(root: Path, owner: tuple[int, int]) -> None:
    """Give everything below ``root`` to ``owner``, where the harness may do that; permissions stay."""
    if os.geteuid() != 0:
        return
    os.chown(root, *owner, follow_symlinks=False)
    for _, directory, name, status in _walk(root):
        if (status.st_uid, status.st_gid) != owner:
            os.chown(name, *owner, dir_fd=directory, follow_symlinks=False)


def _walk(root: Path) -> Iterator[tuple[bytes, int, bytes, os.stat_result]]:
    """Everything below ``root``: its path, the open directory that it lies in, its name there and its status."""
    waiting = [b""]
    with trail_below(root) as trail:
        while waiting:
            path = waiting.pop()
            directory = trail.at(path)
            for name in names_in(directory):
                inner = join(path, name)
                status = status_of(directory, name)
                if status is None or not in_reach(inner):
                    continue
                yield inner, directory, name, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(inner)


def _line(directory: int, name: bytes, status: os.stat_result) -> bytes:
    """What one name adds to the digest."""
    kind = b"%o" % status.st_mode
    if stat.S_ISDIR(status.st_mode):
        with directory_at(directory, name) as inner:
            return kind + (b" opaque" if is_opaque(inner) else b"")
    mode = file_mode(status)
    if mode is None:
        return b"%s %d" % (kind, status.st_rdev)
    return b"%s %s" % (kind, digest_file(directory, name, mode).encode())


def _sample(paths: list[bytes]) -> tuple[bytes, ...]:
    """The two tops of a layer and evenly spread paths below them."""
    short = [path for path in paths if len(path) < 1000]
    step = max(1, len(short) // SAMPLE)
    chosen = {path for path in short if b"/" not in path} | set(short[::step][:SAMPLE])
    return tuple(sorted(chosen))
