"""The gateway of one run: the door of this package.

    gateway = Gateway(settings, record, keep, meter)
    gateway.start()              a thread of its own
    gateway.serve(listener)      any number of listening sockets, such as one inside a sandbox
    gateway.hold(seconds)        before a freeze: new calls wait, calls in flight are read to their end
    gateway.release()
    summary = gateway.stop()

``record`` takes an event's type and payload, ``keep`` stores bytes and gives their digest; both are called from the
gateway's thread, one at a time. When one of them fails, nothing passes any more, and ``stop`` raises.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from proctor.base.errors import InfrastructureFault
from proctor.execute.gateway.cassette import Tape, dump, load
from proctor.execute.gateway.desk import Desk
from proctor.execute.gateway.meter import Meter
from proctor.execute.gateway.scripted.source import Scripted
from proctor.execute.gateway.server import Server
from proctor.execute.gateway.settings import Settings
from proctor.execute.gateway.sources.interface import Source
from proctor.execute.gateway.sources.provider import Provider
from proctor.execute.gateway.sources.tape import Player
from proctor.execute.gateway.telling import Record, Teller
from proctor.execute.gateway.texts import Keep

T = TypeVar("T")
_START_SECONDS = 30


@dataclass(frozen=True)
class Summary:
    """What came of a gateway. ``outage`` says how the provider or the set-up failed if the agent did not recover.

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
        self._teller = Teller(settings, record, keep)
        self._tape = self._load_tape()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._desk: Desk | None = None
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
        if self._teller.problem is not None:
            raise InfrastructureFault("the gateway was closed: its calls cannot be recorded") from self._teller.problem
        return self._summary

    def _end(self) -> Summary:
        loop, thread, desk = self._loop, self._thread, self._desk
        if loop is None or thread is None:
            raise InfrastructureFault("the gateway was never started")
        try:
            self._do(self._close(), self._settings.limits.close_seconds + _START_SECONDS)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_START_SECONDS)
            if not thread.is_alive():
                loop.close()
        if desk is None:
            raise InfrastructureFault("the gateway did not start")
        return self._sum_up(desk)

    def _sum_up(self, desk: Desk) -> Summary:
        cassette, why = None, []
        if self._settings.cassette == "record":
            tape = desk.finished_tape()
            cassette, why = dump(tape), list(tape.gaps)
        elif self._settings.cassette == "off" and self._settings.script is None and desk.calls:
            why.append("model calls were not recorded on a cassette")
        if desk.divergences:
            why.append(f"{len(desk.divergences)} calls were not on the cassette")
        data = cassette or self._settings.tape
        return Summary(
            calls=desk.calls,
            refused=desk.refused,
            errors=desk.errors,
            outage=desk.outage.words if desk.outage is not None else None,
            outage_class=desk.outage.kind if desk.outage is not None else "",
            replayable=not why,
            why=tuple(why),
            diverged=tuple(desk.divergences[:100]),
            unplayed=self._unplayed,
            cassette=cassette,
            sha256=hashlib.sha256(data).hexdigest() if data is not None else "",
            given_up=desk.given_up is not None,
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
            self._teller.problem = self._teller.problem or error

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
        self._desk = Desk(self._settings, self._source, self._teller, self._meter)
        self._server = Server(self._desk)
        await self._server.open()

    def _load_tape(self) -> Tape | None:
        return load(self._settings.tape) if self._settings.tape is not None else None

    def _make_source(self) -> Source:
        if self._tape is not None:
            return Player(self._tape, paced=self._settings.paced)
        if self._settings.script is not None:
            return Scripted(self._settings.script)
        return Provider(self._settings.upstreams, self._settings.limits)

    async def _hold(self, seconds: float) -> bool:
        assert self._desk is not None and self._server is not None
        self._desk.gate.clear()
        return await self._server.settle(seconds)

    async def _release(self) -> None:
        assert self._desk is not None
        self._desk.gate.set()

    async def _close(self) -> None:
        if self._desk is not None:
            self._desk.gate.set()
        if self._server is not None:
            await self._server.close()
        self._unplayed = self._source.unplayed if isinstance(self._source, Player) else ()
        if self._source is not None:
            await self._source.close()
