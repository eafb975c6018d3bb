"""Answers from a cassette: no network, and every request that is not on it is recorded with its first difference.

A request that differs only in the order of lists is on it, and the answer says so: some agents list their tools or
skills in the order in which they happened to read them. See ``differences`` for where order does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from proctor.execute.gateway.model_cassette import BadModelCassette, ModelCassette, RecordedCall, masked, shared
from proctor.execute.gateway.request_comparison import Difference, Reordered, difference, mask, reordered
from proctor.execute.gateway.sources.interface import Answer, Diverged, ForwardedRequest, SourceFault


class Player:
    """Plays one tape; with ``paced`` chunks come when they came."""

    def __init__(self, tape: ModelCassette, *, paced: bool = False) -> None:
        self._paced = paced
        self._waiting: dict[int, tuple[RecordedCall, str, Any]] = {}
        for number, taped in enumerate(tape.calls):
            try:
                self._waiting[number] = taped, *masked(taped.path, orjson.loads(taped.body))
            except orjson.JSONDecodeError:
                raise BadModelCassette(f"the request of call {number} is not JSON", hint="record it again") from None

    @property
    def unplayed(self) -> tuple[int, ...]:
        """The calls that were not requested, counted from 1."""
        return tuple(number + 1 for number in self._waiting)

    @asynccontextmanager
    async def open(self, forward: ForwardedRequest) -> AsyncIterator[Answer]:
        taped, order = self._find(forward)
        if taped.status:
            chunks = self._chunks(taped)
            yield Answer(taped.status, dict(taped.headers), chunks, taped.usage, taped.estimated, order)
        else:
            raise SourceFault(taped.fault, taped.fault_words)

    async def close(self) -> None:
        self._waiting.clear()

    def _find(self, forward: ForwardedRequest) -> tuple[RecordedCall, tuple[Reordered, ...]]:
        wanted, hidden = masked(forward.path, forward.body)
        for number, (taped, key, _) in self._waiting.items():
            if key == wanted:
                del self._waiting[number]
                return taped, ()
        for number, (taped, _, expected) in self._waiting.items():
            order = reordered(expected, hidden) if mask(taped.path) == mask(forward.path) else None
            if order is not None:
                del self._waiting[number]
                return taped, order
        raise self._diverged(forward, hidden)

    def _diverged(self, forward: ForwardedRequest, hidden: Any) -> Diverged:
        near = [item for item in self._waiting.items() if item[1][0].dialect == forward.dialect]
        if not near:
            return Diverged(Difference("", "the whole request", "", "no further call", forward.path, "", 1, 0), None)
        number, (taped, _, expected) = max(near, key=lambda item: (shared(item[1][2], hidden), -item[0]))
        path = Difference("/path", "path", "", taped.path, forward.path, "", 1, 0)
        return Diverged(difference(expected, hidden, forward.body) or path, number)

    async def _chunks(self, taped: RecordedCall) -> AsyncIterator[bytes]:
        before = 0
        for at, chunk in taped.chunks:
            if self._paced and at > before:
                await asyncio.sleep((at - before) / 1e9)
            before = at
            yield chunk
        if taped.fault:
            raise SourceFault(taped.fault, taped.fault_words)
