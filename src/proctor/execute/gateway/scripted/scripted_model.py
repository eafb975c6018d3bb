"""A scripted model.

As a source of answers in the gateway, and as a real server on the loopback, with faults.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from proctor.execute.gateway.dialects.dialect_routes import find_dialect, likely, listing, route
from proctor.execute.gateway.dialects.interface import COUNT, MODELS, ModelRequest, Refused
from proctor.execute.gateway.dialects.provider_json import parse_request
from proctor.execute.gateway.scripted.script_file import load_script
from proctor.execute.gateway.scripted.scripted_replies import DIALECT_WRITERS, reply_to, tokens
from proctor.execute.gateway.sources.interface import NETWORK, Answer, ForwardedRequest, SourceFault

if TYPE_CHECKING:
    from aiohttp import web


LONG_LINE_BYTES = 10 << 20
_HANG_SECONDS = 3600.0


@dataclass(frozen=True)
class ScriptedReply:
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

    def speak(self, dialect: str, kind: str, asked: ModelRequest, data: bytes, *, events: bool = True) -> ScriptedReply:
        """The answer to a request; without ``events`` a stream comes as one list, as Gemini's does."""
        json = {"content-type": "application/json"}
        if kind == COUNT:
            counted = {"totalTokens": tokens(len(data))} if dialect == "gemini" else {"input_tokens": tokens(len(data))}
            return ScriptedReply(200, json, (orjson.dumps(counted),))
        turn, reply = reply_to(self._script, asked, data)
        if turn.error is not None:
            retry = {} if turn.error.retry_after is None else {"retry-after": str(turn.error.retry_after)}
            body = find_dialect(dialect).error(turn.error.status, "scripted", turn.error.message)
            return ScriptedReply(turn.error.status, {**json, **retry}, (orjson.dumps(body),))
        voice = DIALECT_WRITERS[dialect]
        if asked.stream and events:
            headers, chunks = {"content-type": "text/event-stream"}, voice.stream(reply)
        elif asked.stream:
            headers, chunks = json, [orjson.dumps(list(voice.events(reply)))]
        else:
            headers, chunks = json, [orjson.dumps(voice.whole(reply))]
        headers, chunks = _spoil(turn.fault, headers, chunks)
        return ScriptedReply(200, headers, tuple(chunks), turn.pause_seconds, turn.fault)


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


async def reply_chunks(reply: ScriptedReply) -> AsyncIterator[bytes]:
    """The chunks in their time; what hangs, hangs."""
    for chunk in reply.chunks:
        yield chunk
        if reply.pause_seconds:
            await asyncio.sleep(reply.pause_seconds)
    if reply.fault == "hang":
        await asyncio.sleep(_HANG_SECONDS)


class Scripted:
    """A scripted model as the source of a gateway's answers."""

    def __init__(self, script: bytes) -> None:
        self._engine = Engine(script)

    @asynccontextmanager
    async def open(self, forward: ForwardedRequest) -> AsyncIterator[Answer]:
        events = forward.dialect != "gemini" or "alt=sse" in forward.query
        reply = self._engine.speak(forward.dialect, forward.kind, forward.asked, forward.data, events=events)
        yield Answer(reply.status, reply.headers, self._chunks(reply))

    async def close(self) -> None:
        """Nothing is held."""

    async def _chunks(self, reply: ScriptedReply) -> AsyncIterator[bytes]:
        async for chunk in reply_chunks(reply):
            yield chunk
        if reply.fault == "cut":
            raise SourceFault(NETWORK, "the answer broke off: as scripted")


HOST = "127.0.0.1"
_REQUEST_BYTES = 64 << 20
_SHUTDOWN_SECONDS = 0.2


def application(engine: Engine, key: str = "") -> web.Application:
    """The server's application; with a ``key``, requests without it are answered with 401."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        found = route(request.method, request.path)
        dialect = find_dialect(found.dialect) if found is not None else likely(request.path)
        if key and not any(key in value for value in request.headers.values()):
            return _json(401, dialect.error(401, "key", f"no key, or a wrong one; this server knows {key}"))
        if found is None:
            return _json(404, dialect.error(404, "path", "no such path"))
        try:
            if found.kind == MODELS:
                return _json(200, listing(found, {"scripted": ""}))
            data = await request.read()
            asked = dialect.asked(parse_request(data), found)
        except Refused as refused:
            return _json(refused.status, dialect.error(refused.status, refused.code, refused.message))
        events = found.dialect != "gemini" or request.query.get("alt") == "sse"
        reply = engine.speak(found.dialect, found.kind, asked, data, events=events)
        response = web.StreamResponse(status=reply.status, headers=reply.headers)
        await response.prepare(request)
        async for chunk in reply_chunks(reply):
            await response.write(chunk)
        if reply.fault == "cut" and request.transport is not None:
            request.transport.abort()
            return response
        await response.write_eof()
        return response

    app = web.Application(client_max_size=_REQUEST_BYTES)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


@contextmanager
def scripted_server(script: bytes, *, port: int = 0, key: str = "") -> Iterator[str]:
    """The URL of a scripted provider, which serves for the time of a ``with`` block in a thread of its own."""
    from aiohttp import web

    app = application(Engine(script), key)
    listener = socket.create_server((HOST, port))
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    def turn() -> None:
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS)
        loop.run_until_complete(runner.setup())
        loop.run_until_complete(web.SockSite(runner, listener).start())
        loop.call_soon(ready.set)
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=turn, name="scripted-server", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _json(status: int, body: object) -> web.Response:
    from aiohttp import web

    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")
