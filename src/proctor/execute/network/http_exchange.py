"""One HTTP exchange: the request, its body, the answer, and the interface of what answers.

Upstream servers are one source of answers (``upstream``); a recording of them and a cassette are the others
(``record_replay``). A source answers requests that are already allowed; it decides nothing else. Small bodies are in
memory, others in a file of the scratch directory.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from proctor.execute.network.http_messages import PIECE_BYTES, Headers
from proctor.execute.network.network_events import Content

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


@dataclass(frozen=True)
class Request:
    """One request, whichever way it came: ``target`` is its path with the query, ``headers`` are end to end."""

    method: str
    scheme: str
    host: str
    port: int
    target: str
    headers: Headers
    content: Content

    @property
    def authority(self) -> str:
        """The value of a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"


class NoAnswer(Exception):
    """There is no answer: the sandbox gets ``status`` and the message.

    ``refused`` is true if the source refuses by rule, and false if something failed.
    """

    def __init__(self, message: str, status: int = 502, *, refused: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.refused = refused


class Answer:
    """A streamed answer: its head, and its body piece by piece.

    ``length`` is ``None`` if it is not known yet. ``bodiless`` answers keep their headers about length as they are.
    ``pieces`` raises ``Ended`` or ``Malformed`` if the source fails during it; ``close`` is called at the end.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        headers: Headers,
        pieces: Iterator[bytes],
        *,
        length: int | None = None,
        bodiless: bool = False,
        replayed: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.headers = headers
        self.pieces = pieces
        self.length = length
        self.bodiless = bodiless
        self.replayed = replayed
        self.close = close


class Source(Protocol):
    """Something that answers requests; called from many threads."""

    def answer(self, request: Request, body: Body) -> Answer:
        """The answer, or :class:`NoAnswer`."""
        ...
