"""The state that all calls of one gateway share: its source, meter, event recorder and tape."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace

from proctor.execute.gateway.dialects.interface import GENERATE, ModelAnswer, Refused, Usage
from proctor.execute.gateway.gateway_settings import Settings
from proctor.execute.gateway.model_cassette import ModelCassette, RecordedCall
from proctor.execute.gateway.model_events import Failure, ModelEventRecorder
from proctor.execute.gateway.provider_outages import GIVEN_UP, Conversations, Outage, SilenceWatch
from proctor.execute.gateway.sources.interface import TIMEOUT, Diverged, ForwardedRequest, Source
from proctor.execute.gateway.spend_reservation import Meter, TooMuch, most_input

_POLL_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class GatewayState:
    """The state of a gateway; changed in its loop only."""

    def __init__(self, settings: Settings, source: Source, recorder: ModelEventRecorder, meter: Meter) -> None:
        self.settings = settings
        self.source = source
        self.recorder = recorder
        self.meter = meter
        self.gate = asyncio.Event()
        self.gate.set()
        self._talks = Conversations()
        self.divergences: list[str] = []
        self.calls = self.refused = self.errors = 0
        self._numbers = 0
        self._changed = asyncio.Event()
        self._failed: dict[str, int] = {}
        self._taped: list[RecordedCall] = []
        self._room = settings.limits.tape_bytes
        self._gaps: list[str] = []
        self.given_up: str | None = None
        """Why the gateway gave the provider up, if it did."""
        limits = settings.limits
        self.silence = SilenceWatch(limits.silence_seconds, limits.most_silence_seconds, recorder.event, self._give_up)

    def next_number(self) -> int:
        """The number of a new request; requests after the limit are only counted."""
        self._numbers += 1
        return self._numbers

    @property
    def full(self) -> bool:
        return self._numbers >= self.settings.limits.requests

    def answers(self, dialect: str) -> bool:
        """Whether a provider or a cassette answers in ``dialect``."""
        everything = self.settings.script is not None or self.settings.tape is not None
        return everything or dialect in self.settings.upstreams

    async def reserve(self, forward: ForwardedRequest) -> tuple[int, int | None]:
        """Reserve spend for ``forward``, waiting for running calls if necessary, or :class:`Refused`.

        Returns the number of the reservation, and the output limit that the budget needs, if it needs one.
        """
        asked, limits = forward.asked, self.settings.limits
        wanted, limit, waited = asked.max_output or limits.assumed_output_tokens, None, 0.0
        input_tokens = most_input(len(forward.data), asked)
        while True:
            output = ((limit or wanted) + asked.more_output) * asked.choices
            got = self.meter.reserve(asked.model, input_tokens, output)
            if not isinstance(got, TooMuch):
                return got, limit
            if not got.later:
                left = (self.meter.affordable(asked.model, input_tokens) or 0) // asked.choices - asked.more_output
                if left < limits.least_output_tokens or left >= (limit or wanted):
                    raise Refused("budget", f"the budget of this run does not allow it: {got.message}", 403)
                limit = left
            elif waited >= limits.affordable_seconds:
                raise Refused("budget", f"the budget of this run does not allow it: {got.message}", 403)
            else:
                waited += await self._wait_for_others()

    async def _wait_for_others(self) -> float:
        """Wait until a call in flight settles, for a moment at most; the seconds of a wait that came to nothing."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), _POLL_SECONDS)
        except TimeoutError:
            return _POLL_SECONDS
        return 0.0

    def settle(
        self,
        number: int,
        forward: ForwardedRequest,
        answered: ModelAnswer,
        reservation: int,
        usage: Usage | None,
        estimated: bool,
    ) -> None:
        """Settle one reservation; without usage the call cost nothing.

        The amount is an estimate too where another model answered, or the price table does not know the model or tier.
        """
        if usage is None:
            self.meter.cancel(reservation)
        else:
            asked, tier = forward.asked.model, answered.tier
            model = self.meter.charged_as(asked, answered.model, usage, tier)
            self.meter.settle(reservation, usage, model, tier)
            estimated = estimated or model != asked or not self.meter.table.knows(model, tier)
            self.recorder.usage(number, model, usage, estimated=estimated, tier=tier)
        self._changed.set()

    def retry_of(self, forward: ForwardedRequest) -> int | None:
        """The failed call that ``forward`` repeats."""
        return self._failed.pop(_digest(forward), None)

    def failed(self, number: int, forward: ForwardedRequest, failure: Failure, body: bytes, retry_after: str) -> None:
        """A call came to nothing."""
        self.errors += 1
        if len(self._failed) < _MOST_REMEMBERED:
            self._failed[_digest(forward)] = number
        if forward.kind == GENERATE and self._talks.is_setup(forward, failure):
            failure = replace(failure, is_setup=True)
        if forward.kind == GENERATE and failure.infrastructure:
            why = f"call {number}: {failure.kind}: {self.recorder.texts.quoted(failure.message)[:300]}"
            self._talks.failed(forward, Outage(failure.kind, why))
        self.recorder.error(number, failure, body, retry_after)

    def succeeded(self, forward: ForwardedRequest) -> None:
        """A call came to its end; a count of tokens says nothing about the model."""
        if forward.kind == GENERATE:
            self._talks.answered(forward)

    @property
    def outage(self) -> Outage | None:
        """How the provider or the set-up failed, if the agent's main conversation did not recover from it."""
        if self.given_up is not None:
            return Outage(TIMEOUT, self.given_up)
        return self._talks.outage

    def _give_up(self, seconds: float) -> None:
        if self.given_up is not None:
            return
        most = self.silence.most_seconds
        self.given_up = f"the provider was silent for {seconds:.0f} s in all; a run waits for at most {most:g} s"
        self.recorder.event(GIVEN_UP, {"seconds": f"{seconds:.3f}", "most_seconds": f"{most:.3f}"})

    def diverged(self, number: int, diverged: Diverged) -> None:
        """A request is not on the cassette."""
        self.divergences.append(f"call {number} at {diverged.difference.pointer or '/'}"[:300])
        self.recorder.diverged(number, diverged)

    def tape_chunk(self, chunks: list[tuple[int, bytes]], at: int, chunk: bytes) -> None:
        """Keep a chunk for the cassette, if one is recorded."""
        if self.settings.cassette == "record":
            chunks.append((at, chunk))

    def tape(self, taped: RecordedCall) -> None:
        """Keep a call for the cassette, as long as there is room."""
        if self.settings.cassette != "record":
            return
        self._room -= len(taped.body) + sum(len(chunk) for _, chunk in taped.chunks)
        if self._room < 0:
            self._gaps.append("the cassette is full")
            return
        self._taped.append(taped)

    def finished_tape(self) -> ModelCassette:
        """Everything that was kept."""
        return ModelCassette(tuple(self._taped), tuple(self._gaps[:20]))


def _digest(forward: ForwardedRequest) -> str:
    return hashlib.sha256(forward.path.encode() + b"\n" + forward.data).hexdigest()
