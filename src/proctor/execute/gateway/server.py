"""The side of the gateway that agents see: HTTP on sockets that were handed in.

A connection that never finishes its request, a body that is too large or too slow and a path that nobody knows end
here, bounded and on record. A client that goes away ends its call; one that only stops reading does not.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

import orjson

from proctor.execute.gateway.call import End, Head, ModelCall
from proctor.execute.gateway.desk import Desk
from proctor.execute.gateway.dialects.interface import GENERATE, MODELS, Refused, Route
from proctor.execute.gateway.dialects.table import DIALECTS, likely, route
from proctor.execute.gateway.forwarding import prepare
from proctor.execute.gateway.offered import listing
from proctor.execute.gateway.sources.interface import STOPPED, TIMEOUT, Forward

if TYPE_CHECKING:
    from aiohttp import web

_NO_RETRY = {"x-should-retry": "false"}
_LEAVE_SECONDS = 1.0
"""How long requests that are no calls yet are waited for at the end."""


class _Closed:
    """The protocol of a connection that nobody serves."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing is held."""


class Server:
    """Serves one desk; made and used inside its loop."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._limits = desk.settings.limits
        self._listeners: list[asyncio.Server] = []
        self._running: dict[asyncio.Task[None], ModelCall] = {}
        self._silent: set[Any] = set()
        self._coming = 0
        self._open_bytes: dict[Any, int] = {}
        """What has come of the bodies of requests that are not answered yet, by connection."""
        self._runner: web.AppRunner | None = None

    async def open(self) -> None:
        """Get ready to serve."""
        from aiohttp import web

        quiet = logging.getLogger("proctor.gateway")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        app = web.Application(logger=quiet)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_LEAVE_SECONDS, logger=quiet
        )
        await self._runner.setup()

    async def serve(self, listener: socket.socket) -> None:
        """Take connections from ``listener``."""
        loop = asyncio.get_running_loop()
        self._listeners.append(await loop.create_server(self._connection, sock=listener))

    async def settle(self, seconds: float) -> bool:
        """Wait until no call is in flight; whether that came in time."""
        if self._running:
            await asyncio.wait(list(self._running), timeout=seconds)
        return not self._running

    async def close(self) -> None:
        """End every call and connection."""
        for listener in self._listeners:
            listener.close()
        if self._running and self._desk.given_up is None:
            await asyncio.wait(list(self._running), timeout=self._limits.abandoned_seconds)
        for task, call in list(self._running.items()):
            call.aborted = call.aborted if call.is_abandoned else STOPPED
            task.cancel()
        if self._running:
            await asyncio.wait(list(self._running), timeout=self._limits.close_seconds)
        if self._runner is not None and self._runner.server is not None:
            for connection in self._runner.server.connections:
                if connection.transport is not None:
                    connection.transport.abort()
            await asyncio.sleep(0)
            await self._runner.cleanup()

    def _connection(self) -> Any:
        """The protocol of a new connection; one too many is closed at once."""
        assert self._runner is not None and self._runner.server is not None
        if len(self._runner.server.connections) + self._coming >= self._limits.connections:
            return _Closed()
        made = self._runner.server()
        loop = asyncio.get_running_loop()
        self._coming += 1
        self._silent.add(made)
        loop.call_soon(self._came)
        loop.call_later(self._limits.head_seconds, self._close_silent, made)
        return made

    def _came(self) -> None:
        """A connection counts among those of the runner from now on."""
        self._coming -= 1

    def _close_silent(self, connection: Any) -> None:
        """Close a connection whose first request has not come in time."""
        if connection in self._silent:
            self._silent.discard(connection)
            connection.force_close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._serve(request)
        finally:
            self._open_bytes.pop(request.protocol, None)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self._silent.discard(request.protocol)
        desk = self._desk
        if desk.teller.problem is not None:
            return self._error(likely(request.path).name, Refused("closed", "the record of this run is closed", 503))
        found = route(request.method, request.path)
        dialect = found.dialect if found is not None else likely(request.path).name
        number = desk.next_number()
        body = b""
        try:
            if desk.full:
                raise Refused("too-many", "there have been too many requests", 403)
            if desk.teller.texts.kept_bytes > self._limits.kept_bytes:
                raise Refused("too-much", "more has been said than is kept of a run", 403)
            if found is None:
                raise Refused("unknown-path", f"{request.method} {request.path[:200]} is not served here", 404)
            if found.kind == MODELS:
                return self._json(200, listing(found, desk.settings.models))
            body = await self._body(request)
            call = await self._start(number, found, body, request)
        except Refused as refused:
            desk.refused += 1
            if not desk.full:
                what = refused.code, refused.message, refused.status
                desk.teller.refused(number, dialect, request.path, *what, body)
            return self._error(dialect, refused)
        return await self._pass(call, request)

    async def _body(self, request: web.Request) -> bytes:
        from aiohttp import web

        data = bytearray()
        limit = self._limits.request_bytes
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.content.iter_any():
                    data += chunk
                    if len(data) > limit:
                        raise Refused("too-large", f"a request of more than {limit} bytes", 413)
                    self._open_bytes[request.protocol] = len(data)
                    if sum(self._open_bytes.values()) > self._limits.open_bytes:
                        raise Refused("too-much-at-once", "all open requests together are too large", 429)
        except TimeoutError:
            words = f"the request did not come within {self._limits.body_seconds:g} seconds"
            raise Refused("too-slow", words, 408) from None
        except web.RequestPayloadError:
            raise Refused("malformed", "the body is not encoded as the request says") from None
        return bytes(data)

    async def _start(self, number: int, found: Route, body: bytes, request: web.Request) -> ModelCall:
        """Forward a request, once it may be and can be afforded."""
        desk = self._desk
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not desk.answers(found.dialect):
            raise Refused("no-endpoint", f"no endpoint is set for the dialect {found.dialect}", 404)
        prepared = prepare(found, body, headers, request.query_string, desk.settings)
        self._bound(prepared.forward)
        reservation, limit = await desk.reserve(prepared.forward) if found.kind == GENERATE else (None, None)
        if limit is not None:
            prepared = prepare(found, body, headers, request.query_string, desk.settings, limit)
        try:
            await desk.gate.wait()
        except asyncio.CancelledError:
            if reservation is not None:
                desk.meter.cancel(reservation)
            raise
        reserved = desk.meter.reserved(reservation) if reservation is not None else None
        desk.calls += 1
        desk.teller.request(number, prepared, body, reserved, desk.retry_of(prepared.forward))
        call = ModelCall(desk, number, prepared, reservation)
        task = asyncio.get_running_loop().create_task(call.run())
        self._running[task] = call
        task.add_done_callback(self._ended)
        return call

    def _bound(self, forward: Forward) -> None:
        """Refuse what would be too much to tell."""
        messages = sum(1 + len(message.results) for message in forward.asked.messages)
        if messages > self._limits.messages or self._desk.teller.told > self._limits.told_messages:
            raise Refused("too-many-messages", f"more messages than can be told: {messages} in this request")

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if not task.cancelled() and task.exception() is not None:
            self._desk.teller.problem = self._desk.teller.problem or task.exception()

    async def _pass(self, call: ModelCall, request: web.Request) -> web.StreamResponse:
        """Give the agent what comes; when it goes away, the answer is read for a while, to know what it costs."""
        try:
            return await self._answer(call, request)
        except (asyncio.CancelledError, ConnectionError):
            call.is_abandoned = True
            if self._desk.silence.is_silent:
                call.aborted = TIMEOUT
            self._desk.silence.leave(call.number)
            for task, running in list(self._running.items()):
                if running is call:
                    asyncio.get_running_loop().call_later(self._limits.abandoned_seconds, task.cancel)
            raise

    async def _answer(self, call: ModelCall, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        first = await call.take()
        if not isinstance(first, Head):
            failure = first.failure if isinstance(first, End) else None
            words = failure.words if failure is not None else "no answer"
            status, code = (502, failure.kind) if failure is not None else (500, "gateway")
            if code == "diverged":
                return self._error(call.forward.dialect, Refused(code, words, 400))
            return self._json(status, DIALECTS[call.forward.dialect].error(status, code, words))
        response = web.StreamResponse(status=first.status, headers=first.headers)
        await response.prepare(request)
        while not isinstance(piece := await call.take(), End):
            if isinstance(piece, bytes):
                await response.write(piece)
        if piece.failure is not None and first.status == 200 and request.transport is not None:
            request.transport.abort()
            return response
        await response.write_eof()
        return response

    def _error(self, dialect: str, refused: Refused) -> web.Response:
        body = DIALECTS[dialect].error(refused.status, refused.code, f"Proctor: {refused.message}")
        return self._json(refused.status, body, _NO_RETRY)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
        from aiohttp import web

        return web.Response(status=status, body=orjson.dumps(body), headers=headers, content_type="application/json")
