"""One call of a model, from the forwarded request to its settled spend.

The answer is read as fast as its provider sends it, even if the agent does not read it: a slow or frozen agent delays
nothing, and a running call settles by itself. The end of the answer is passed to the client only after the call is
recorded, so that its next request comes later in the trace.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

import orjson

from proctor.execute.gateway.dialects.dialect_routes import find_dialect
from proctor.execute.gateway.dialects.interface import GENERATE, Message, ModelAnswer, Usage
from proctor.execute.gateway.dialects.provider_json import shallow
from proctor.execute.gateway.forwarded_request import Prepared
from proctor.execute.gateway.gateway_settings import Limits
from proctor.execute.gateway.gateway_state import GatewayState
from proctor.execute.gateway.message_analysis import PlacedMessage
from proctor.execute.gateway.model_cassette import RecordedCall
from proctor.execute.gateway.model_events import Failure, Scrubber, Timing
from proctor.execute.gateway.provider_answers import (
    STREAM,
    WHOLE,
    EventSplitter,
    Piece,
    failure_in,
    failure_of,
    form_of,
    passed_headers,
)
from proctor.execute.gateway.provider_outages import NANOSECONDS
from proctor.execute.gateway.sources.interface import TIMEOUT, Answer, Diverged, SourceFault
from proctor.execute.gateway.spend_reservation import charge

CLIENT_ABORT = "client-abort"
ERROR_BYTES = 1 << 20
CUT = frozenset(("length", "max_tokens", "max_output_tokens", "MAX_TOKENS"))
"""How dialects call an answer that reached its output limit."""

_THINKING_SECONDS = 0.02
"""The shortest time of a provider; the request is recorded in this time, or else with its answer."""


@dataclass(frozen=True)
class Head:
    """The beginning of what the agent gets."""

    status: int
    headers: dict[str, str]


@dataclass(frozen=True)
class End:
    """The end of it; ``failure`` when not all of it came."""

    failure: Failure | None


class ModelCall:
    """A call in flight; what the agent gets is a head, bytes, and an end."""

    def __init__(
        self,
        state: GatewayState,
        number: int,
        prepared: Prepared,
        reservation: int | None,
    ) -> None:
        self.number = number
        self.forward = prepared.forward
        self.is_abandoned = False
        self._pieces: asyncio.Queue[Head | bytes | End] = asyncio.Queue()
        self._taken: Head | End | None = None
        self.aborted = CLIENT_ABORT
        self._state = state
        self._limits: Limits = state.settings.limits
        self._dialect = find_dialect(self.forward.dialect)
        self._limit = prepared.limit
        self._reservation = reservation
        self._fresh: list[PlacedMessage] | None = None
        self._parent = ""
        self._collector = self._dialect.collector(prepared.changes)
        self._started = time.monotonic_ns()
        self._first: int | None = None
        self._answer: Answer | None = None
        self._body = bytearray()
        self._chunks: list[tuple[int, bytes]] = []
        self._answered: ModelAnswer | None = None
        self._problems: list[str] = []
        self._has_begun = False
        self._failure: Failure | None = None
        self._is_said = False
        """Whether the provider's answer says why the call failed, so that the agent gets the reason from there."""
        self._settled = False
        self._counted: tuple[Usage | None, bool] = (None, False)

    async def run(self) -> None:
        """Read the answer to its end and settle; whatever happens, an end is put last."""
        asyncio.get_running_loop().call_later(_THINKING_SECONDS, self._tell_messages)
        self._state.silence.begin(self.number)
        try:
            async with asyncio.timeout(self._limits.call_seconds), self._state.source.open(self.forward) as answer:
                self._answer = answer
                self._state.silence.hear(self.number)
                if answer.reordered:
                    self._state.recorder.reordered(self.number, answer.reordered)
                await self._read(answer)
        except SourceFault as fault:
            self._fail(Failure(fault.kind, fault.message, self._status))
        except Diverged as diverged:
            self._state.diverged(self.number, diverged)
            self._fail(Failure("diverged", str(diverged)))
        except TimeoutError:
            message = f"the call took more than {self._limits.call_seconds:g} seconds"
            self._fail(Failure(TIMEOUT, message, self._status))
        except asyncio.CancelledError:
            if self.is_abandoned and self._answer is None and self._lasted_seconds >= self._limits.silence_seconds:
                self.aborted = TIMEOUT
            self._fail(Failure(self.aborted, "the answer was not waited for", self._status))
            raise
        finally:
            self._state.silence.leave(self.number)
            self._finish()

    def _finish(self) -> None:
        """Settle what is not settled, and send the agent the end, even if events can no longer be recorded."""
        end = End(Failure("closed", "the record of this run is closed", self._status))
        try:
            self._settle()
            self._tape()
            self._read_words()
            if self._state.recorder.problem is None:
                end = End(None if self._is_said else self._failure)
        finally:
            self._pieces.put_nowait(end)

    async def take(self) -> Head | bytes | End:
        """What comes next, with all bytes that are there already in one."""
        if self._taken is not None:
            taken, self._taken = self._taken, None
            return taken
        piece = await self._pieces.get()
        if not isinstance(piece, bytes):
            return piece
        parts = [piece]
        while not self._pieces.empty():
            more = self._pieces.get_nowait()
            if not isinstance(more, bytes):
                self._taken = more
                break
            parts.append(more)
        return b"".join(parts)

    def _tell_messages(self) -> None:
        """Record the new messages, once."""
        if self._fresh is None and self._state.recorder.problem is None:
            asked = self.forward.asked.messages if self.forward.kind == GENERATE else ()
            self._fresh, self._parent = self._state.recorder.messages(self.number, asked)

    @property
    def _status(self) -> int:
        return self._answer.status if self._answer is not None else 0

    def _fail(self, failure: Failure) -> None:
        """An error after the full answer has arrived is not a failure."""
        if not self._settled:
            self._failure = self._failure or failure

    async def _read(self, answer: Answer) -> None:
        form = form_of(answer.headers)
        if answer.status != 200:
            await self._read_error(answer)
        elif form == STREAM:
            self._pieces.put_nowait(Head(200, self._passed(answer)))
            await self._read_stream(answer)
        elif form == WHOLE:
            await self._read_whole(answer)
        else:
            kind = self._state.recorder.texts.short(answer.headers.get("content-type", "none"))[:100]
            self._failure = Failure("malformed", f"an answer of the content type {kind!r}", answer.status)
            await self._take(answer, ERROR_BYTES)

    def _passed(self, answer: Answer) -> dict[str, str]:
        """The headers that the agent sees, in which a provider may say a key too."""
        short = self._state.recorder.texts.short
        return {name: short(value) for name, value in passed_headers(answer.headers).items()}

    async def _take(self, answer: Answer, limit: int) -> bool:
        """Read the body up to ``limit``; whether that was all."""
        scrub = Scrubber(self._state.settings.keys)
        async for chunk in answer.chunks:
            self._state.silence.hear(self.number)
            self._keep(scrub.feed(chunk))
            if len(self._body) > limit:
                return False
        self._keep(scrub.rest())
        return True

    def _keep(self, chunk: bytes) -> None:
        now = time.monotonic_ns() - self._started
        if self._first is None:
            self._first = now
        if chunk:
            self._body += chunk
            self._state.tape_chunk(self._chunks, now, chunk)

    async def _read_error(self, answer: Answer) -> None:
        await self._take(answer, ERROR_BYTES)
        message = bytes(self._body[:500]).decode("utf-8", "replace")
        self._failure = failure_of(answer.status, message, self.forward.data)
        if answer.status >= 400:
            self._settle()
            self._pieces.put_nowait(Head(answer.status, self._passed(answer)))
            self._pieces.put_nowait(bytes(self._body))

    async def _read_whole(self, answer: Answer) -> None:
        if not await self._take(answer, self._limits.answer_bytes):
            self._failure = self._too_large()
            return
        body = bytes(self._body)
        if self.forward.kind == GENERATE:
            try:
                value = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                self._failure = Failure("malformed", f"an answer that is not JSON: {error.msg}", 200)
                return
            if not shallow(value):
                self._failure = Failure("malformed", "an answer that is nested too deep", 200)
                return
            self._answered = self._dialect.answered(value)
        self._settle()
        self._pieces.put_nowait(Head(200, self._passed(answer)))
        self._pieces.put_nowait(body)

    async def _read_stream(self, answer: Answer) -> None:
        splitter = EventSplitter(self._limits.event_bytes)
        scrub = Scrubber(self._state.settings.keys)
        async for chunk in answer.chunks:
            clean = scrub.feed(chunk)
            self._keep(clean)
            for place, piece in enumerate(splitter.feed(clean)):
                await self._pass(piece)
                if place == 0:
                    await asyncio.sleep(0)
            if len(self._body) > self._limits.answer_bytes:
                self._failure = self._too_large()
                return
        last = scrub.rest()
        self._keep(last)
        for piece in (*splitter.feed(last), *splitter.rest()):
            await self._pass(piece)

    async def _pass(self, piece: Piece) -> None:
        shown = True
        if piece.problem:
            self._problems.append(piece.problem)
        elif piece.data is not None:
            self._state.silence.hear(self.number)  # a comment that keeps a connection open is not part of an answer
            self._has_begun = True
            shown = self._collector.feed(piece.data)
        if piece.done or self._collector.ended:
            # The agent gets what came before while the record is written.
            await asyncio.sleep(0)
            self._settle(done=True)
        if shown:
            self._pieces.put_nowait(piece.raw)

    def _too_large(self) -> Failure:
        return Failure("too-large", f"an answer of more than {self._limits.answer_bytes} bytes", self._status)

    def _settle(self, *, done: bool = False) -> None:
        """Record the call and settle its spend, once."""
        if self._settled:
            return
        self._settled = True
        self._tell_messages()
        answered = self._answered or self._collector.answered()
        if self._failure is None and self.forward.kind == GENERATE:
            self._failure = self._flaw(answered, done)
        now = time.monotonic_ns() - self._started
        if self._status == 200 and self.forward.kind == GENERATE:
            answered = answered if self._failure is None else _broken(answered)
            timing = Timing(self._first, now)
            index = len(self.forward.asked.messages)
            cut = self._limit is not None and answered.finish in CUT
            result = self.number, answered, bytes(self._body), self._parent, index, timing
            self._state.recorder.answer(*result, is_cut_by_budget=cut)
        self._account(answered)
        failure = self._failure
        if failure is None and answered.is_filtered:
            message = f"a filter of the provider ended the answer: {answered.finish}"
            failure = Failure("content-filter", message, self._status)
        elif failure is None and self.is_abandoned:
            failure = Failure(CLIENT_ABORT, "the agent did not wait for the answer, which was read to its end", 200)
        if failure is not None:
            retry_after = self._answer.headers.get("retry-after", "") if self._answer is not None else ""
            body = bytes(self._body) if self._status != 200 else b""
            self._state.failed(self.number, self.forward, failure, body, retry_after)
        else:
            self._state.succeeded(self.forward)

    def _read_words(self) -> None:
        """Apply the text rules to the new messages of the conversation."""
        for result in self._fresh or ():
            self._state.recorder.text_hits(self.number, result.index, result.message)
        message = (self._answered or self._collector.answered()).message
        self._state.recorder.text_hits(self.number, len(self.forward.asked.messages), message)

    def _flaw(self, answered: ModelAnswer, done: bool) -> Failure | None:
        """What is wrong with an answer that came with a good status."""
        if answered.error:
            self._is_said = True
            return failure_in(answered.error, self.forward.data)
        if answered.whole or done:
            return None
        if self._problems:
            return Failure("malformed", f"{self._problems[0]}; {len(self._problems)} such", 200)
        is_empty = not self._has_begun and answered.message == Message("assistant")
        return Failure("malformed" if is_empty else "network", "the answer ended before its end", 200)

    def _account(self, answered: ModelAnswer) -> None:
        """Settle what was reserved: by what the provider counted, else by an estimate, else by nothing."""
        if self._reservation is None:
            return
        usage: Usage | None = self._answer.counted if self._answer is not None else None
        estimated = self._answer.estimated if self._answer is not None else False
        if usage is None and self._may_be_billed:
            usage, estimated = charge(
                answered.usage,
                self._state.meter.reserved(self._reservation),
                self.forward.asked,
                len(self.forward.data),
                answered.message,
                came_bytes=len(self._body),
                whole=self._failure is None,
            )
        self._state.settle(self.number, self.forward, answered, self._reservation, usage, estimated)
        self._counted = usage, estimated

    @property
    def _lasted_seconds(self) -> float:
        return (time.monotonic_ns() - self._started) / NANOSECONDS

    @property
    def _may_be_billed(self) -> bool:
        """Whether the provider may have worked on the request: it answered, or was not waited for any longer."""
        kind = self._failure.kind if self._failure is not None else ""
        return self._status == 200 or kind == self.aborted or (self._status == 0 and kind == TIMEOUT)

    def _tape(self) -> None:
        headers = tuple(self._passed(self._answer).items()) if self._answer is not None else ()
        fault = self._failure if self._failure is not None and self._is_fault(self._failure) else None
        self._state.tape(
            RecordedCall(
                dialect=self.forward.dialect,
                path=self.forward.path,
                body=self.forward.data,
                status=self._status,
                headers=tuple((name.lower(), value) for name, value in headers),
                chunks=tuple(self._chunks),
                usage=self._counted[0],
                estimated=self._counted[1],
                fault=fault.kind if fault else "",
                fault_words=fault.message if fault else "",
            )
        )

    def _is_fault(self, failure: Failure) -> bool:
        """Whether a failure is not part of the received bytes, so that the tape has to record it."""
        return self._status == 0 or failure.kind in (TIMEOUT, "network", self.aborted)


def _broken(answered: ModelAnswer) -> ModelAnswer:
    return replace(answered, whole=False)
