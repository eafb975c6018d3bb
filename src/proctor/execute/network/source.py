"""Where answers come from: the interface of what stands behind the proxy, and the requests that it is asked.

Upstream servers are one source (``upstream``), a recording of them another (``recorder``), a cassette the third
(``player``). A source answers requests that are already allowed; it decides nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from proctor.execute.network.body import Body
from proctor.execute.network.messages import Headers
from proctor.execute.network.told import Content


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
    """There is no answer: ``status`` and the message are what the sandbox is told.

    ``refused`` is true when the source says no by rule, and false when something failed.
    """

    def __init__(self, message: str, status: int = 502, *, refused: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.refused = refused


class Answer:
    """An answer under way: its head, and its body piece by piece.

    ``length`` is ``None`` when nobody knows it yet. ``bodiless`` answers keep their headers about length as they are.
    ``pieces`` raises ``Ended`` or ``Malformed`` when the source fails on the way; ``close`` is called in the end.
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
