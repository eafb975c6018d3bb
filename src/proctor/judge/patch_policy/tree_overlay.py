"""The changes to the base in the judge's tree: the patch, then restored files, then files of the judge.

A pure record of writes and removals, later ones winning. Putting a file in place always succeeds: a file or link that
the patch left on the way to it, or a directory where the file belongs, gives way. Nothing here follows links, so a
link cannot lead a hidden file elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

ReadBase = Callable[[bytes], tuple[int, bytes] | None]
"""The mode and bytes of a file of the base, or ``None``."""

Write = tuple[bytes, int, bytes]


class TreeOverlay:
    """Writes and removals above a base, by path relative to the tree.

    ``_directories`` are all that something was ever written below, so that placing a file looks for what it displaces
    only where there may be something.
    """

    def __init__(self, writes: tuple[Write, ...] = (), removals: tuple[bytes, ...] = ()) -> None:
        self._writes = {path: (mode, data) for path, mode, data in writes}
        self._removals = set(removals)
        self._directories = {above for path in self._writes for above in ancestors(path)}

    def copy(self) -> TreeOverlay:
        """The same placement, to be changed on its own."""
        return TreeOverlay(self.writes(), self.removals())

    def touched(self) -> tuple[bytes, ...]:
        """Every path that is written or removed, in order."""
        return tuple(sorted(self._writes.keys() | self._removals))

    def put(self, path: bytes, mode: int, data: bytes) -> None:
        """Let ``path`` hold ``data``, whatever was placed there, on the way to it or below it."""
        for above in ancestors(path):
            self._writes.pop(above, None)
        if path in self._directories:
            below = path + b"/"
            for other in [name for name in self._writes if name.startswith(below)]:
                del self._writes[other]
        self._removals.discard(path)
        self._writes[path] = (mode, data)
        self._directories.update(ancestors(path))

    def remove(self, path: bytes) -> None:
        """Let ``path`` hold nothing."""
        self._writes.pop(path, None)
        self._removals.add(path)

    def restore(self, path: bytes, read_base: ReadBase) -> bool:
        """Let ``path`` be as in the base again; whether that changed anything."""
        found = read_base(path)
        if found is None:
            if path not in self._writes:
                return False
            self.remove(path)
            return True
        if self._writes.get(path) == found and path not in self._removals:
            return False
        self.put(path, *found)
        return True

    def read(self, path: bytes, read_base: ReadBase) -> tuple[int, bytes] | None:
        """What ``path`` holds above a base that is read with ``read_base``."""
        if path in self._writes:
            return self._writes[path]
        if path in self._removals or any(above in self._writes for above in ancestors(path)):
            return None
        return read_base(path)

    def writes(self) -> tuple[Write, ...]:
        """The files to write, in order."""
        return tuple((path, mode, data) for path, (mode, data) in sorted(self._writes.items()))

    def removals(self) -> tuple[bytes, ...]:
        """The paths to remove, in order: none that a written file, or a directory above one, takes the place of."""
        needed = {above for path in self._writes for above in ancestors(path)}
        return tuple(sorted(path for path in self._removals if path not in self._writes and path not in needed))


def ancestors(path: bytes) -> Iterator[bytes]:
    """The directories above ``path``, nearest first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path
