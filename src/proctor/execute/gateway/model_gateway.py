"""The agents' side of the gateway: HTTP on sockets that the caller passes.

A connection that never finishes its request, a body that is too large or too slow and an unknown path end here, bounded
and recorded. A client that disconnects ends its call; one that only stops reading does not.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

import orjson

from proctor.execute.gateway.dialects.dialect_routes import PLUG_INS, find_dialect, likely, listing, route
from proctor.execute.gateway.dialects.interface import GENERATE, MODELS, Refused, Route
from proctor.execute.gateway.forwarded_request import prepare
from proctor.execute.gateway.gateway_state import GatewayState
from proctor.execute.gateway.model_call_streaming import End, Head, ModelCall
from proctor.execute.gateway.sources.interface import STOPPED, TIMEOUT, ForwardedRequest

if TYPE_CHECKING:
    from aiohttp import web
import hashlib
import threading
from collections.abc import Coroutine
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.execute.gateway.gateway_settings import Settings
from proctor.execute.gateway.model_cassette import ModelCassette, dump, load
from proctor.execute.gateway.model_events import Keep, ModelEventRecorder, Record
from proctor.execute.gateway.scripted.scripted_model import Scripted
from proctor.execute.gateway.sources.cassette_replay import Player
from proctor.execute.gateway.sources.interface import Source
from proctor.execute.gateway.sources.provider import Provider
from proctor.execute.gateway.spend_reservation import Meter

_NO_RETRY = {"x-should-retry": "false"}
_LEAVE_SECONDS = 1.0
"""How long the gateway waits at its end for requests that are not calls yet."""


class _Closed:
    """The protocol of a connection that is not served."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing is held."""


class Server:
    """Serves one gateway; created and used inside its loop."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state
        self._limits = state.settings.limits
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
        if self._running and self._state.given_up is None:
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
        package = self._dialect_of_package()
        try:
            with PLUG_INS.at_work(package, asyncio.CancelledError, GeneratorExit) if package else nullcontext():
                return await self._serve(request)
        except ProctorError as fault:
            self._state.recorder.problem = self._state.recorder.problem or fault
            return self._error("chat", Refused("closed", "the record of this run is closed", 503))
        finally:
            self._open_bytes.pop(request.protocol, None)

    def _dialect_of_package(self) -> str:
        """The dialect of an installed package that the model is talked to in; its errors are faults of the package."""
        return next(iter(self._state.settings.of_packages), "")

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self._silent.discard(request.protocol)
        state = self._state
        if state.recorder.problem is not None:
            return self._error(likely(request.path).name, Refused("closed", "the record of this run is closed", 503))
        found = route(request.method, request.path, state.settings.of_packages)
        dialect = found.dialect if found is not None else likely(request.path).name
        number = state.next_number()
        body = b""
        try:
            if state.full:
                raise Refused("too-many", "there have been too many requests", 403)
            if state.recorder.texts.kept_bytes > self._limits.kept_bytes:
                raise Refused("too-much", "the messages of this run are larger than its record may be", 403)
            if found is None:
                raise Refused("unknown-path", f"{request.method} {request.path[:200]} is not served here", 404)
            if found.kind == MODELS:
                return self._json(200, listing(found, state.settings.models))
            body = await self._body(request)
            call = await self._start(number, found, body, request)
        except Refused as refused:
            state.refused += 1
            if not state.full:
                what = refused.code, refused.message, refused.status
                state.recorder.refused(number, dialect, request.path, *what, body)
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
            message = f"the request did not arrive within {self._limits.body_seconds:g} seconds"
            raise Refused("too-slow", message, 408) from None
        except web.RequestPayloadError:
            raise Refused("malformed", "the body does not have the encoding that the request names") from None
        return bytes(data)

    async def _start(self, number: int, found: Route, body: bytes, request: web.Request) -> ModelCall:
        """Forward a request, once it may be and can be afforded."""
        state = self._state
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not state.answers(found.dialect):
            raise Refused("no-endpoint", f"no endpoint is set for the dialect {found.dialect}", 404)
        prepared = prepare(found, body, headers, request.query_string, state.settings)
        self._bound(prepared.forward)
        reservation, limit = await state.reserve(prepared.forward) if found.kind == GENERATE else (None, None)
        if limit is not None:
            prepared = prepare(found, body, headers, request.query_string, state.settings, limit)
        try:
            await state.gate.wait()
        except asyncio.CancelledError:
            if reservation is not None:
                state.meter.cancel(reservation)
            raise
        reserved = state.meter.reserved(reservation) if reservation is not None else None
        state.calls += 1
        state.recorder.request(number, prepared, body, reserved, state.retry_of(prepared.forward))
        call = ModelCall(state, number, prepared, reservation)
        task = asyncio.get_running_loop().create_task(call.run())
        self._running[task] = call
        task.add_done_callback(self._ended)
        return call

    def _bound(self, forward: ForwardedRequest) -> None:
        """Refuse requests with too many messages to record."""
        messages = sum(1 + len(message.results) for message in forward.asked.messages)
        if messages > self._limits.messages or self._state.recorder.messages_recorded > self._limits.recorded_messages:
            raise Refused("too-many-messages", f"more messages than can be recorded: {messages} in this request")

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            package = self._dialect_of_package()
            problem = PLUG_INS.fault_of(package, error) if package else error
            self._state.recorder.problem = self._state.recorder.problem or problem

    async def _pass(self, call: ModelCall, request: web.Request) -> web.StreamResponse:
        """Send the agent the answer; if it disconnects, the answer is read for a while to know its cost."""
        try:
            return await self._answer(call, request)
        except (asyncio.CancelledError, ConnectionError):
            call.is_abandoned = True
            if self._state.silence.is_silent:
                call.aborted = TIMEOUT
            self._state.silence.leave(call.number)
            for task, running in list(self._running.items()):
                if running is call:
                    asyncio.get_running_loop().call_later(self._limits.abandoned_seconds, task.cancel)
            raise

    async def _answer(self, call: ModelCall, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        first = await call.take()
        if not isinstance(first, Head):
            failure = first.failure if isinstance(first, End) else None
            message = failure.message if failure is not None else "no answer"
            status, code = (502, failure.kind) if failure is not None else (500, "gateway")
            if code == "diverged":
                return self._error(call.forward.dialect, Refused(code, message, 400))
            return self._json(status, find_dialect(call.forward.dialect).error(status, code, message))
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
        body = find_dialect(dialect).error(refused.status, refused.code, f"Proctor: {refused.message}")
        return self._json(refused.status, body, _NO_RETRY)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
        from aiohttp import web

        return web.Response(status=status, body=orjson.dumps(body), headers=headers, content_type="application/json")


T = TypeVar("T")
_START_SECONDS = 30


@dataclass(frozen=True)
class Summary:
    """The summary of a gateway. ``outage`` says how the provider or the set-up failed if the agent did not recover.

    ``given_up`` is whether the provider was silent for too long.
    """

    calls: int
    refused: int
    errors: int
    outage: str | None
    outage_class: str
    replayable: bool
    why: tuple[str, ...]
    diverged: tuple[str, ...]
    unplayed: tuple[int, ...]
    cassette: bytes | None
    sha256: str
    given_up: bool = False

    def payload(self) -> dict[str, Any]:
        """The summary as a record holds it, without the cassette's bytes."""
        counts = {"calls": self.calls, "refused": self.refused, "errors": self.errors, "unplayed": len(self.unplayed)}
        replay = {"replayable": self.replayable, "why": list(self.why), "diverged": list(self.diverged)}
        first = {"first_unplayed": self.unplayed[0]} if self.unplayed else {}
        unused = {"never_called": not self.calls and not self.refused}
        outage = {"outage": self.outage} | ({"outage_class": self.outage_class} if self.outage_class else {})
        return {**counts, **first, **replay, **unused, **outage, "cassette": self.sha256}


class Gateway:
    """A gateway, from ``start`` to ``stop``."""

    def __init__(self, settings: Settings, record: Record, keep: Keep, meter: Meter) -> None:
        self._settings = settings
        self._meter = meter
        self._recorder = ModelEventRecorder(settings, record, keep)
        self._tape = self._load_tape()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._state: GatewayState | None = None
        self._server: Server | None = None
        self._source: Source | None = None
        self._summary: Summary | None = None
        self._unplayed: tuple[int, ...] = ()

    def start(self) -> None:
        """Begin; nothing is served before :meth:`serve`."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="proctor-gateway", daemon=True)
        self._thread.start()
        self._do(self._open(), _START_SECONDS)

    def serve(self, listener: socket.socket) -> None:
        """Serve a listening socket, which belongs to the gateway from now on."""
        assert self._server is not None
        self._do(self._server.serve(listener), _START_SECONDS)

    def hold(self, seconds: float) -> bool:
        """Let no new call begin and read those in flight to their end; whether all have settled in time."""
        return self._do(self._hold(seconds), seconds + _START_SECONDS)

    def release(self) -> None:
        """Let calls begin again."""
        self._do(self._release(), _START_SECONDS)

    def stop(self) -> Summary:
        """End everything and sum up; safe to call twice."""
        if self._summary is None:
            self._summary = self._end()
        problem = self._recorder.problem
        if problem is not None:
            told = f": {problem.message}" if isinstance(problem, InfrastructureFault) else ""
            raise InfrastructureFault(f"the gateway is closed: its calls cannot be recorded{told}") from problem
        return self._summary

    def _end(self) -> Summary:
        loop, thread, state = self._loop, self._thread, self._state
        if loop is None or thread is None:
            raise InfrastructureFault("the gateway was never started")
        try:
            self._do(self._close(), self._settings.limits.close_seconds + _START_SECONDS)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_START_SECONDS)
            if not thread.is_alive():
                loop.close()
        if state is None:
            raise InfrastructureFault("the gateway did not start")
        return self._sum_up(state)

    def _sum_up(self, state: GatewayState) -> Summary:
        cassette, why = None, []
        if self._settings.cassette == "record":
            tape = state.finished_tape()
            cassette, why = dump(tape), list(tape.gaps)
        elif self._settings.cassette == "off" and self._settings.script is None and state.calls:
            why.append("model calls were not recorded on a cassette")
        if state.divergences:
            why.append(f"{len(state.divergences)} calls were not on the cassette")
        data = cassette or self._settings.tape
        return Summary(
            calls=state.calls,
            refused=state.refused,
            errors=state.errors,
            outage=state.outage.message if state.outage is not None else None,
            outage_class=state.outage.kind if state.outage is not None else "",
            replayable=not why,
            why=tuple(why),
            diverged=tuple(state.divergences[:100]),
            unplayed=self._unplayed,
            cassette=cassette,
            sha256=hashlib.sha256(data).hexdigest() if data is not None else "",
            given_up=state.given_up is not None,
        )

    def _turn(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(self._wrong)
        self._loop.run_forever()

    def _wrong(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What goes wrong outside of every call closes the gateway, and ``stop`` says it."""
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self._recorder.problem = self._recorder.problem or error

    def _do(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run ``work`` in the gateway's loop and wait for it."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise InfrastructureFault("the gateway is not running")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)
        except TimeoutError:
            raise InfrastructureFault(f"the gateway did not answer within {seconds:g} seconds") from None

    async def _open(self) -> None:
        self._source = self._make_source()
        self._state = GatewayState(self._settings, self._source, self._recorder, self._meter)
        self._server = Server(self._state)
        await self._server.open()

    def _load_tape(self) -> ModelCassette | None:
        return load(self._settings.tape) if self._settings.tape is not None else None

    def _make_source(self) -> Source:
        if self._tape is not None:
            return Player(self._tape, paced=self._settings.paced)
        if self._settings.script is not None:
            return Scripted(self._settings.script)
        return Provider(self._settings.upstreams, self._settings.limits)

    async def _hold(self, seconds: float) -> bool:
        assert self._state is not None and self._server is not None
        self._state.gate.clear()
        return await self._server.settle(seconds)

    async def _release(self) -> None:
        assert self._state is not None
        self._state.gate.set()

    async def _close(self) -> None:
        if self._state is not None:
            self._state.gate.set()
        if self._server is not None:
            await self._server.close()
        self._unplayed = self._source.unplayed if isinstance(self._source, Player) else ()
        if self._source is not None:
            await self._source.close()
