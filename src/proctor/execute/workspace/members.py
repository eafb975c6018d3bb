"""Members of an archive, whatever its format: names as bytes, kinds, and contents read once, in bounds.

Formats yield members; ``archive`` decides what to do with them. Nothing here writes to the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from proctor.base.errors import ProctorError
from proctor.base.names import name_text

KINDS = ("file", "directory", "link", "hard link", "fifo", "device")


class BadArchive(ProctorError):
    """An archive that cannot be used: hostile, damaged, too large or of an unknown kind."""

    exit_code = 2


class TooLarge(BadArchive):
    """An archive exceeds the limits."""


class Encrypted(BadArchive):
    """A member is encrypted."""


@dataclass(frozen=True)
class ArchiveLimits:
    """The most that is taken out of one archive.

    ``ratio`` bounds what comes out for each byte of the archive, once more than ``free_bytes`` came out.
    """

    total_bytes: int = 4 << 30
    members: int = 200_000
    ratio: int = 250
    free_bytes: int = 64 << 20


@dataclass(frozen=True)
class Member:
    """One member: ``target`` is where a link or hard link leads; ``read`` yields a file's bytes, at once or never."""

    name: bytes
    kind: str
    executable: bool
    target: bytes
    mtime: int
    read: Callable[[], Iterator[bytes]]


class Meter:
    """Counts what comes out of one archive and refuses what is too much."""

    def __init__(self, limits: ArchiveLimits, archive_bytes: int) -> None:
        self._limits = limits
        self._allowed = min(limits.total_bytes, max(limits.free_bytes, limits.ratio * archive_bytes))
        self._bytes = 0
        self._members = 0

    def member(self) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise TooLarge(f"more than {self._limits.members} members")

    def data(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._allowed:
            raise TooLarge(f"unpacks to more than {self._allowed} bytes", hint="an archive like this is a bomb")


def bounded_chunks(file: BinaryIO, meter: Meter) -> Iterator[bytes]:
    """The bytes of ``file``, counted."""
    while part := file.read(1 << 18):
        meter.data(len(part))
        yield part


def relative_parts(name: bytes, what: str = "member") -> tuple[bytes, ...]:
    """The components of a member's name; :class:`BadArchive` where it is absolute or climbs."""
    if name.startswith(b"/"):
        raise BadArchive(f"{what} with an absolute path: {name_text(name)}")
    parts = tuple(part for part in name.split(b"/") if part not in (b"", b"."))
    if b".." in parts:
        raise BadArchive(f"{what} that climbs out of the archive: {name_text(name)}")
    return parts
