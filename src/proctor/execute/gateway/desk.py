"""What all calls of one gateway share: its source, meter, voice and tape, and how things stand."""

from __future__ import annotations

import hashlib

import orjson

from proctor.execute.gateway.cassette import Tape, Taped
from proctor.execute.gateway.dialects.interface import Refused, Usage
from proctor.execute.gateway.meter import Meter, TooMuch, most_input
from proctor.execute.gateway.settings import Settings
from proctor.execute.gateway.sources.interface import Diverged, Forward, Source
from proctor.execute.gateway.telling import Failure, Teller

_POLL_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class _Talk:
    """A conversation, which is known by its beginning: its calls that came to an end, and how the last one failed."""

    def __init__(self) -> None:
        self.calls = 0
        self.outage: str | None = None


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
        self._talks: dict[str, _Talk] = {}
        self._latest: _Talk | None = None
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

    async def reserve(self, forward: Forward) -> tuple[int, int | None]:
        """Set spend aside for ``forward``, waiting for calls in flight if need be, or :class:`Refused`.

        Returns the number of the reservation, and the output limit that the budget needs, if it needs one.
        """
        asked, limits = forward.asked, self.settings.limits
        wanted, limit, waited = asked.max_output or limits.assumed_output_tokens, None, 0.0
        input_tokens = most_input(len(forward.data), len(asked.messages), tools=bool(asked.tools))
        while True:
            output = ((limit or wanted) + asked.more_output) * asked.choices
            got = self.meter.reserve(asked.model, input_tokens, output)
            if not isinstance(got, TooMuch):
                return got, limit
            if not got.later:
                left = (self.meter.affordable(asked.model, input_tokens) or 0) // asked.choices - asked.more_output
                if left < limits.least_output_tokens or left >= (limit or wanted):
                    raise Refused("budget", f"the budget of this run does not allow it: {got.words}", 403)
                limit = left
            elif waited >= limits.affordable_seconds:
                raise Refused("budget", f"the budget of this run does not allow it: {got.words}", 403)
            else:
                waited += await self._wait_for_others()

    async def _wait_for_others(self) -> float:
        """Wait until a call in flight settles, for a moment at most; the seconds of a wait that came to nothing."""
        import asyncio

        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), _POLL_SECONDS)
        except TimeoutError:
            return _POLL_SECONDS
        return 0.0

    def settle(self, number: int, model: str, reservation: int, usage: Usage | None, *, estimated: bool) -> None:
        """Settle one reservation; without usage the call cost nothing."""
        if usage is None:
            self.meter.cancel(reservation)
        else:
            self.meter.settle(reservation, usage)
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
            why = f"call {number}: {failure.kind}: {self.teller.texts.quoted(failure.words)[:300]}"
            self._heard(forward, why)
        self.teller.error(number, failure, body, retry_after)

    def succeeded(self, forward: Forward) -> None:
        """A call came to its end."""
        self._heard(forward, None)

    @property
    def outage(self) -> str | None:
        """How the provider failed in the agent's main conversation, if no call of it has succeeded since.

        The last call that offered tools belongs to it. Where no call offers any, it is the conversation with the most
        calls, and the last of several. So a small call besides, such as one for a title, neither hides an outage nor
        causes one.
        """
        if self._latest is not None:
            return self._latest.outage
        longest = max(reversed(self._talks.values()), key=lambda talk: talk.calls, default=None)
        return longest.outage if longest is not None else None

    def _heard(self, forward: Forward, outage: str | None) -> None:
        asked = forward.asked
        start = next((place for place, one in enumerate(asked.messages) if one.role == "user"), 0)
        first = [[one.role, one.text] for one in asked.messages[: start + 1]]
        name = hashlib.sha256(orjson.dumps(first)).hexdigest()
        if name not in self._talks and len(self._talks) >= _MOST_REMEMBERED:
            return
        talk = self._talks.setdefault(name, _Talk())
        talk.calls += 1
        talk.outage = outage
        if asked.tools:
            self._latest = talk

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
