"""Where answers come from: what is asked of a source, what it gives, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from proctor.execute.gateway.dialects.interface import Body, ModelRequest, Usage
from proctor.execute.gateway.request_comparison import Difference, Reordered

NETWORK, TIMEOUT, STOPPED = "network", "timeout", "stopped"


class SourceFault(Exception):
    """No answer, or not the whole of it; ``kind`` is the class of ``model.error``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Diverged(Exception):
    """A request that is not on the cassette: how it differs from the nearest call there, and which that is."""

    def __init__(self, difference: Difference, nearest: int | None) -> None:
        super().__init__(f"not on the cassette: differs at {difference.pointer or 'the whole'}")
        self.difference = difference
        self.nearest = nearest


@dataclass(frozen=True)
class ForwardedRequest:
    """A request as it is forwarded: ``body`` and ``data`` are the same, parsed and as bytes."""

    dialect: str
    kind: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Body
    data: bytes
    asked: ModelRequest


@dataclass(frozen=True)
class Answer:
    """An answer whose body is still to come.

    ``counted`` is usage that a cassette gives for it, ``reordered`` the parts of its request in another order.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    counted: Usage | None = None
    estimated: bool = False
    reordered: tuple[Reordered, ...] = ()


class Source(Protocol):
    """Answers requests."""

    def open(self, forward: ForwardedRequest, /) -> AbstractAsyncContextManager[Answer]:
        """The answer to ``forward``, for the time of an ``async with`` block."""
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...
