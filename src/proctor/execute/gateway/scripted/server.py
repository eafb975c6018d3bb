"""A scripted model behind a real server on the loopback: a provider for tests and demonstrations."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson

from proctor.execute.gateway.dialects.interface import MODELS, Refused
from proctor.execute.gateway.dialects.reading import parse_request
from proctor.execute.gateway.dialects.table import DIALECTS, likely, route
from proctor.execute.gateway.offered import listing
from proctor.execute.gateway.scripted.source import Engine, spoken_chunks

if TYPE_CHECKING:
    from aiohttp import web

HOST = "127.0.0.1"
_REQUEST_BYTES = 64 << 20
_SHUTDOWN_SECONDS = 0.2


def application(engine: Engine, key: str = "") -> web.Application:
    """The server's application; with a ``key``, requests without it are answered with 401."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        found = route(request.method, request.path)
        dialect = DIALECTS[found.dialect] if found is not None else likely(request.path)
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
        spoken = engine.speak(found.dialect, found.kind, asked, data, events=events)
        response = web.StreamResponse(status=spoken.status, headers=spoken.headers)
        await response.prepare(request)
        async for chunk in spoken_chunks(spoken):
            await response.write(chunk)
        if spoken.fault == "cut" and request.transport is not None:
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
