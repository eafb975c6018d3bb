"""Answers from a cassette: no network, and every request that is not on it is recorded with its first difference.

A request whose texts have the same lines in another order is on it: some agents list their tools or skills in the order
in which they happened to read them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from proctor.execute.gateway.cassette import BadTape, Tape, Taped, masked, shared
from proctor.execute.gateway.masks import first_difference, mask, without_order
from proctor.execute.gateway.sources.interface import Answer, Diverged, Forward, SourceFault

_SHOWN = 300


class Player:
    """Plays one tape; with ``paced`` chunks come when they came."""

    def __init__(self, tape: Tape, *, paced: bool = False) -> None:
        self._paced = paced
        self._waiting: dict[int, tuple[Taped, str, Any]] = {}
        for number, taped in enumerate(tape.calls):
            try:
                self._waiting[number] = taped, *masked(taped.path, orjson.loads(taped.body))
            except orjson.JSONDecodeError:
                raise BadTape(f"the request of call {number} is not JSON", hint="record it again") from None

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The calls that nobody has asked for, counted from 1."""
        return tuple(number + 1 for number in self._waiting)

    @asynccontextmanager
    async def open(self, forward: Forward) -> AsyncIterator[Answer]:
        taped = self._find(forward)
        if taped.status:
            chunks = self._chunks(taped)
            yield Answer(taped.status, dict(taped.headers), chunks, taped.usage, taped.estimated)
        else:
            raise SourceFault(taped.fault, taped.fault_words)

    async def close(self) -> None:
        self._waiting.clear()

    def _find(self, forward: Forward) -> Taped:
        wanted, hidden = masked(forward.path, forward.body)
        for number, (taped, key, _) in self._waiting.items():
            if key == wanted:
                del self._waiting[number]
                return taped
        unordered = mask(forward.path), without_order(hidden)
        for number, (taped, _, expected) in self._waiting.items():
            if (mask(taped.path), without_order(expected)) == unordered:
                del self._waiting[number]
                return taped
        raise self._diverged(forward, hidden)

    def _diverged(self, forward: Forward, hidden: Any) -> Diverged:
        near = [item for item in self._waiting.items() if item[1][0].dialect == forward.dialect]
        if not near:
            return Diverged("", "no further call", forward.path, None)
        number, (taped, _, expected) = max(near, key=lambda item: (shared(item[1][2], hidden), -item[0]))
        found = first_difference(expected, hidden) or ("/path", taped.path, forward.path)
        return Diverged(found[0], _shown(found[1]), _shown(found[2]), number)

    async def _chunks(self, taped: Taped) -> AsyncIterator[bytes]:
        import asyncio

        before = 0
        for at, chunk in taped.chunks:
            if self._paced and at > before:
                await asyncio.sleep((at - before) / 1e9)
            before = at
            yield chunk
        if taped.fault:
            raise SourceFault(taped.fault, taped.fault_words)


def _shown(value: Any) -> str:
    return orjson.dumps(value).decode()[:_SHOWN]
