"""Answers from a script, faults included: the engine behind scripted models and behind the scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson

from proctor.execute.gateway.dialects.interface import COUNT, Asked
from proctor.execute.gateway.dialects.table import DIALECTS
from proctor.execute.gateway.scripted.reply import reply_to, tokens
from proctor.execute.gateway.scripted.script import load_script
from proctor.execute.gateway.scripted.voices import VOICES
from proctor.execute.gateway.sources.interface import NETWORK, Answer, Forward, SourceFault

LONG_LINE_BYTES = 10 << 20
_HANG_SECONDS = 3600.0


@dataclass(frozen=True)
class Spoken:
    """An answer with all its chunks; ``fault`` is cut or hang, after the last of them."""

    status: int
    headers: dict[str, str]
    chunks: tuple[bytes, ...]
    pause_seconds: float = 0
    fault: str = ""


class Engine:
    """One script; the same request gets the same answer."""

    def __init__(self, script: bytes, file: str = "model.yaml") -> None:
        self._script = load_script(script, file)

    def speak(self, dialect: str, kind: str, asked: Asked, data: bytes, *, events: bool = True) -> Spoken:
        """The answer to a request; without ``events`` a stream comes as one list, as Gemini's does."""
        json = {"content-type": "application/json"}
        if kind == COUNT:
            counted = {"totalTokens": tokens(len(data))} if dialect == "gemini" else {"input_tokens": tokens(len(data))}
            return Spoken(200, json, (orjson.dumps(counted),))
        turn, reply = reply_to(self._script, asked, data)
        if turn.error is not None:
            retry = {} if turn.error.retry_after is None else {"retry-after": str(turn.error.retry_after)}
            body = DIALECTS[dialect].error(turn.error.status, "scripted", turn.error.message)
            return Spoken(turn.error.status, {**json, **retry}, (orjson.dumps(body),))
        voice = VOICES[dialect]
        if asked.stream and events:
            headers, chunks = {"content-type": "text/event-stream"}, voice.stream(reply)
        elif asked.stream:
            headers, chunks = json, [orjson.dumps(list(voice.events(reply)))]
        else:
            headers, chunks = json, [orjson.dumps(voice.whole(reply))]
        headers, chunks = _spoil(turn.fault, headers, chunks)
        return Spoken(200, headers, tuple(chunks), turn.pause_seconds, turn.fault)


def _spoil(fault: str, headers: dict[str, str], chunks: list[bytes]) -> tuple[dict[str, str], list[bytes]]:
    """An answer as a broken provider would send it."""
    half = max(1, len(chunks) // 2)
    if fault in ("cut", "hang"):
        return headers, [*chunks[:half], chunks[half % len(chunks)][:20]]
    if fault == "garbage":
        return headers, [*chunks[:half], b'data: {"broken": \n\n', b"\x00\xff not an event\n\n"]
    if fault == "long-line":
        return headers, [*chunks[:half], b"data: " + b"x" * LONG_LINE_BYTES + b"\n\n", *chunks[half:]]
    if fault == "html":
        return {"content-type": "text/html"}, [b"<html>Bad gateway</html>"]
    return headers, chunks


async def spoken_chunks(spoken: Spoken) -> AsyncIterator[bytes]:
    """The chunks in their time; what hangs, hangs."""
    for chunk in spoken.chunks:
        yield chunk
        if spoken.pause_seconds:
            await asyncio.sleep(spoken.pause_seconds)
    if spoken.fault == "hang":
        await asyncio.sleep(_HANG_SECONDS)


class Scripted:
    """A scripted model as the source of a gateway's answers."""

    def __init__(self, script: bytes) -> None:
        self._engine = Engine(script)

    @asynccontextmanager
    async def open(self, forward: Forward) -> AsyncIterator[Answer]:
        events = forward.dialect != "gemini" or "alt=sse" in forward.query
        spoken = self._engine.speak(forward.dialect, forward.kind, forward.asked, forward.data, events=events)
        yield Answer(spoken.status, spoken.headers, self._chunks(spoken))

    async def close(self) -> None:
        """Nothing is held."""

    async def _chunks(self, spoken: Spoken) -> AsyncIterator[bytes]:
        async for chunk in spoken_chunks(spoken):
            yield chunk
        if spoken.fault == "cut":
            raise SourceFault(NETWORK, "the answer broke off: as scripted")
