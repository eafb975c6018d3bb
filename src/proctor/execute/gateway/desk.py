"""What all calls of one gateway share: its source, meter, voice and tape, and how things stand."""

from __future__ import annotations

import hashlib

from proctor.execute.gateway.cassette import Tape, Taped
from proctor.execute.gateway.dialects.interface import Refused, Usage
from proctor.execute.gateway.meter import Meter, TooMuch
from proctor.execute.gateway.settings import Settings
from proctor.execute.gateway.sources.interface import Diverged, Forward, Source
from proctor.execute.gateway.telling import Failure, Teller

_POLL_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class Desk:
    """The state of a gateway; used in its loop only, but for what others read."""

    def __init__(self, settings: Settings, source: Source, teller: Teller, meter: Meter) -> None:
        import asyncio

        self.settings = settings
        self.source = source
        self.teller = teller
        self.meter = meter
        self.gate = asyncio.Event()
        self.gate.set()
        self.outage: str | None = None
        self.divergences: list[str] = []
        self.calls = self.refused = self.errors = self.untold = 0
        self._numbers = 0
        self._changed = asyncio.Event()
        self._failed: dict[str, int] = {}
        self._taped: list[Taped] = []
        self._room = settings.limits.tape_bytes
        self._gaps: list[str] = []

    def next_number(self) -> int:
        """The number of a new request; past the bound none is told one by one any more."""
        self._numbers += 1
        return self._numbers

    @property
    def full(self) -> bool:
        return self._numbers >= self.settings.limits.requests

    def answers(self, dialect: str) -> bool:
        """Whether there is anybody who answers in ``dialect``."""
        everything = self.settings.script is not None or self.settings.tape is not None
        return everything or dialect in self.settings.upstreams

    async def reserve(self, forward: Forward) -> int:
        """Set spend aside for ``forward``, waiting for calls in flight if need be, or :class:`Refused`."""
        import asyncio

        asked = forward.asked
        output = (asked.max_output or self.settings.output_tokens) * asked.choices
        waited = 0.0
        while True:
            got = self.meter.reserve(asked.model, len(forward.data), len(asked.messages), output)
            if not isinstance(got, TooMuch):
                return got
            if not got.later or waited >= self.settings.limits.affordable_seconds:
                raise Refused("budget", f"the budget of this run does not allow it: {got.words}", 403)
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), _POLL_SECONDS)
            except TimeoutError:
                waited += _POLL_SECONDS

    def settle(self, number: int, model: str, reservation: int, usage: Usage | None, *, estimated: bool) -> None:
        """Settle one reservation; without usage the call cost nothing."""
        if usage is None:
            self.meter.cancel(reservation)
        else:
            self.meter.settle(reservation, usage.input_tokens, usage.output_tokens)
            self.teller.usage(number, model, usage, estimated=estimated)
        self._changed.set()

    def retry_of(self, forward: Forward) -> int | None:
        """The failed call that ``forward`` repeats."""
        return self._failed.pop(_digest(forward), None)

    def failed(self, number: int, forward: Forward, failure: Failure, body: bytes, retry_after: str) -> None:
        """A call came to nothing."""
        self.errors += 1
        if len(self._failed) < _MOST_REMEMBERED:
            self._failed[_digest(forward)] = number
        if failure.infrastructure:
            self.outage = f"call {number}: {failure.kind}: {self.teller.texts.quoted(failure.words)[:300]}"
        self.teller.error(number, failure, body, retry_after)

    def succeeded(self) -> None:
        """A call came to its end."""
        self.outage = None

    def diverged(self, number: int, diverged: Diverged) -> None:
        """A request is not on the cassette."""
        self.divergences.append(f"call {number} at {diverged.pointer or '/'}"[:300])
        self.teller.diverged(number, diverged)

    def tape_chunk(self, chunks: list[tuple[int, bytes]], at: int, chunk: bytes) -> None:
        """Keep a chunk for the cassette, if one is recorded."""
        if self.settings.cassette == "record":
            chunks.append((at, chunk))

    def tape(self, taped: Taped) -> None:
        """Keep a call for the cassette, as long as there is room."""
        if self.settings.cassette != "record":
            return
        self._room -= len(taped.body) + sum(len(chunk) for _, chunk in taped.chunks)
        if self._room < 0:
            self._gaps.append("the cassette is full")
            return
        self._taped.append(taped)

    def finished_tape(self) -> Tape:
        """Everything that was kept."""
        return Tape(tuple(self._taped), tuple(self._gaps[:20]))


def _digest(forward: Forward) -> str:
    return hashlib.sha256(forward.path.encode() + b"\n" + forward.data).hexdigest()
