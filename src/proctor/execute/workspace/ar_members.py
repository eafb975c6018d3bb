"""Members of an ``ar`` archive, the outer form of a Debian package, in one forward pass.

A header gives each name in 16 bytes and each size in decimal digits. Names of the GNU form end in a slash. The long
names of static libraries are not resolved, because no Debian package has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from proctor.execute.workspace.members import BadArchive, Member, Meter

MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_CHUNK_BYTES = 1 << 18


def ar_members(path: Path, meter: Meter) -> Iterator[Member]:
    """The members of the archive ``path``."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise BadArchive("not an ar archive")
        while header := file.read(_HEADER_BYTES):
            name, size = _fields(header)
            start = file.tell()
            meter.member()
            yield Member(name, "file", False, b"", 0, lambda start=start, size=size: _read(file, start, size, meter))  # type: ignore[misc]
            file.seek(start + size + size % 2)


def _fields(header: bytes) -> tuple[bytes, int]:
    """Name and size of the member that follows ``header``."""
    size = header[48:58].strip()
    if len(header) != _HEADER_BYTES or header[58:] != b"`\n" or not size.isdigit():
        raise BadArchive("damaged: not a header of an ar archive")
    return header[:16].rstrip().rstrip(b"/"), int(size)


def _read(file: BinaryIO, start: int, size: int, meter: Meter) -> Iterator[bytes]:
    """The ``size`` bytes at ``start``, counted by ``meter``."""
    file.seek(start)
    while size > 0:
        part = file.read(min(size, _CHUNK_BYTES))
        if not part:
            raise BadArchive("cut short")
        size -= len(part)
        meter.data(len(part))
        yield part
