"""A body that is kept while it is needed: small ones in memory, others in a file of the scratch directory."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proctor.execute.network.stream import PIECE_BYTES
from proctor.execute.network.told import Content

MEMORY_BYTES = 256 << 10
OVERLAP_BYTES = 4 << 10


class Count:
    """The digest and number of bytes that have passed."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self._state.update(piece)
        self.size += len(piece)

    def content(self) -> Content:
        return Content(self._state.hexdigest(), self.size)


class Body:
    """Bytes that are written once and may be read again; closing it gives up the bytes."""

    def __init__(self, scratch: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES, dir=str(scratch))  # noqa: SIM115 - it lives with the body
        self._count = Count()

    def add(self, piece: bytes) -> None:
        self._count.add(piece)
        self._file.write(piece)

    @property
    def size(self) -> int:
        return self._count.size

    def content(self) -> Content:
        return self._count.content()

    def pieces(self) -> Iterator[bytes]:
        """Everything, from the beginning."""
        self._file.seek(0)
        while piece := self._file.read(PIECE_BYTES):
            yield piece

    def windows(self) -> Iterator[bytes]:
        """Everything in pieces that overlap, so that what is searched for is whole in one of them."""
        before = b""
        for piece in self.pieces():
            window = before + piece
            yield window
            before = window[-OVERLAP_BYTES:]

    def close(self) -> None:
        self._file.close()
