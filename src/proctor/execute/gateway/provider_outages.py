"""When a provider is silent, and whether its faults kept an agent from its work.

Silence: calls are running, and no byte of any answer has come for longer than the grace. The time until the first byte
of an answer is the agent's time, up to the grace. After that the agent's clock stops until a byte comes, a call begins
or no call is left. The sum of these times has a maximum, after which the run is given up as an outage. A new call ends
a silence, a provider that answers is never silent, and an agent that has disconnected does not wait for its call. An
agent can gain from this: a long call that is not streamed looks like silence, so the agent's computing time during it
is not counted, up to the maximum.

Outages are judged by conversation, which is known by its beginning, up to the first message of the user. If the agent
offers tools, only the conversations that offer tools count; if it never does, the one with the most calls counts. The
outage of a conversation ends when a later call of it is answered, or when another conversation is answered that began
before it (an agent continues without its sub-agent) or after the failure (an agent starts again with a shorter
history).

All of it is pure except :class:`SilenceWatch`, which gives :class:`Silence` the time of an event loop.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.base.clock import seconds_text
from proctor.execute.gateway.model_events import OVERFLOW, REJECTED, Failure
from proctor.execute.gateway.sources.interface import ForwardedRequest

PROVIDER_SILENCE = "provider-silence"
"""The code of a run that was ended because the provider of its model was silent for too long."""
NANOSECONDS = 10**9
SILENT, HEARD, GIVEN_UP = "model.silent", "model.heard", "model.unavailable"
"""The events at which the agent's clock stops and continues, and at which the run is given up."""


class Silence:
    """The silences of one gateway, in nanoseconds of any steady clock."""

    def __init__(self, grace_ns: int, most_ns: int) -> None:
        self._grace_ns = grace_ns
        self._most_ns = most_ns
        self._calls: set[int] = set()
        self._sign_ns = 0
        self._since_ns: int | None = None
        self._ended_ns = 0

    @property
    def is_silent(self) -> bool:
        return self._since_ns is not None

    @property
    def calls(self) -> int:
        """How many calls are waited for."""
        return len(self._calls)

    def waited_ns(self, now: int) -> int:
        """How long the provider has been silent beyond the grace, in all."""
        return self._ended_ns + (0 if self._since_ns is None else now - self._since_ns)

    def is_too_long(self, now: int) -> bool:
        """Whether the silences have reached their maximum."""
        return self.waited_ns(now) >= self._most_ns

    def begin(self, call: int, now: int) -> int | None:
        """A call begins; how long the silence was that this ends, if it ends one."""
        self._calls.add(call)
        return self.hear(call, now)

    def hear(self, call: int, now: int) -> int | None:
        """A byte came; how long the silence was that this ends, if it ends one."""
        if call not in self._calls:
            return None
        self._sign_ns = now
        return self._end(now)

    def leave(self, call: int, now: int) -> int | None:
        """A call ended, or its agent disconnected; how long the silence was, if it was the last call."""
        self._calls.discard(call)
        return self._end(now) if not self._calls else None

    def look(self, now: int) -> int | None:
        """Begin a silence if it is time; else nanoseconds until it may be, or ``None`` without calls."""
        if not self._calls or self.is_silent:
            return None
        left = self._sign_ns + self._grace_ns - now
        if left > 0:
            return left
        self._since_ns = now
        return 0

    def _end(self, now: int) -> int | None:
        if self._since_ns is None:
            return None
        lasted = now - self._since_ns
        self._since_ns = None
        self._ended_ns += lasted
        return lasted


class SilenceWatch:
    """Reports when silences begin and end; ``give_up`` is called once they are too long. Used in one loop."""

    def __init__(
        self,
        grace_seconds: float,
        most_seconds: float,
        notify: Callable[[str, Mapping[str, Any]], object],
        give_up: Callable[[float], None],
    ) -> None:
        self.most_seconds = most_seconds
        self._silence = Silence(int(grace_seconds * NANOSECONDS), int(most_seconds * NANOSECONDS))
        self._grace_seconds = grace_seconds
        self._notify = notify
        self._give_up = give_up
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_silent(self) -> bool:
        return self._silence.is_silent

    def begin(self, call: int) -> None:
        """A call was sent to the provider."""
        self._heard(self._silence.begin(call, time.monotonic_ns()))
        if self._timer is None:
            self._look()

    def hear(self, call: int) -> None:
        """A byte of an answer came."""
        self._heard(self._silence.hear(call, time.monotonic_ns()))
        if self._timer is None:
            self._look()

    def leave(self, call: int) -> None:
        """A call came to its end, or its agent does not wait for it any more."""
        self._heard(self._silence.leave(call, time.monotonic_ns()))

    def _look(self) -> None:
        """Begin a silence that is due, and look again when the next one may be."""
        self._timer = None
        silence, now = self._silence, time.monotonic_ns()
        if silence.is_silent and silence.is_too_long(now):
            self._give_up(silence.waited_ns(now) / NANOSECONDS)
            return
        left = silence.look(now)
        if left == 0:
            self._notify(SILENT, {"calls": silence.calls, "grace_seconds": f"{self._grace_seconds:.3f}"})
        if silence.is_silent:
            left = int(self.most_seconds * NANOSECONDS) - silence.waited_ns(now)
        if left is not None:
            self._wait(left)

    def _wait(self, nanoseconds: int) -> None:
        self._timer = asyncio.get_running_loop().call_later(nanoseconds / NANOSECONDS, self._look)

    def _heard(self, lasted_ns: int | None) -> None:
        if lasted_ns is not None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._notify(HEARD, {"seconds": seconds_text(lasted_ns)})


MOST_CONVERSATIONS = 10_000
SMALL_REQUEST_BYTES = 128 << 10
"""About 32,000 tokens: a model that cannot take a request of this size is too small for the work of an agent."""

_GROWTH = 2
_WORK = 3
"""A conversation with this many calls is more than a title or a summary: an agent may work without tools."""


@dataclass(frozen=True)
class Outage:
    """A fault that was not recovered from: its class, and a sentence."""

    kind: str
    message: str


class _Conversation:
    """One conversation; times are numbers of calls that ended."""

    def __init__(self, began: int, first_bytes: int, *, has_tools: bool) -> None:
        self.began = began
        self.first_bytes = first_bytes
        self.has_tools = has_tools
        self.calls = 0
        self.answered = 0
        self.failed = 0
        self.outage: Outage | None = None


class Conversations:
    """All conversations of one run."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Conversation] = {}
        self._now = 0
        self._most_output = 0

    def answered(self, forward: ForwardedRequest) -> None:
        """A call was answered."""
        found = self._of(forward)
        self._most_output = max(self._most_output, forward.asked.max_output or 0)
        if found is not None:
            found.answered = self._now
            found.outage = None

    def failed(self, forward: ForwardedRequest, outage: Outage) -> None:
        """A call failed, and the agent is not to blame."""
        found = self._of(forward)
        if found is not None:
            found.failed = self._now
            found.outage = outage

    def is_setup(self, forward: ForwardedRequest, failure: Failure) -> bool:
        """Whether a request that the provider rejects shows that agent and model do not fit each other.

        It does when no such request was ever answered: none with tools if it has tools, but for an agent that has
        worked without them. An overflow does as well when the request is small, or has not grown much since the
        conversation began, unless it is a larger answer that the agent asks for.
        """
        if failure.kind not in (OVERFLOW, REJECTED):
            return False
        tools = forward.asked.tools
        alike = [one for one in self._by_name.values() if one.has_tools or not tools or one.calls >= _WORK]
        if not any(one.answered for one in alike):
            return True
        if failure.kind == REJECTED or (forward.asked.max_output or 0) > self._most_output:
            return False
        size, begun = len(forward.data), self._by_name.get(_name(forward))
        return size < SMALL_REQUEST_BYTES or (begun is not None and size < _GROWTH * begun.first_bytes)

    @property
    def outage(self) -> Outage | None:
        """The last fault from which the agent did not recover."""
        everyone = list(self._by_name.values())
        main = [one for one in everyone if one.has_tools]
        if not main:
            longest = max(reversed(everyone), key=lambda one: one.calls, default=None)
            return longest.outage if longest is not None else None
        lasting = [one for one in main if one.outage is not None and not any(_ends(other, one) for other in main)]
        return max(lasting, key=lambda one: one.failed).outage if lasting else None

    def _of(self, forward: ForwardedRequest) -> _Conversation | None:
        """The conversation of a call that has ended."""
        self._now += 1
        name = _name(forward)
        if name not in self._by_name:
            if len(self._by_name) >= MOST_CONVERSATIONS:
                return None
            made = _Conversation(self._now, len(forward.data), has_tools=bool(forward.asked.tools))
            self._by_name[name] = made
        found = self._by_name[name]
        found.calls += 1
        return found


def _ends(other: _Conversation, failed: _Conversation) -> bool:
    """Whether ``other`` shows that the agent continued after ``failed``."""
    went_on = other.answered > failed.failed
    return went_on and (other.began < failed.began or other.began > failed.failed)


def _name(forward: ForwardedRequest) -> str:
    """What begins a conversation: whether it offers tools, and its messages up to the first one of the user."""
    asked = forward.asked
    start = next((place for place, one in enumerate(asked.messages) if one.role == "user"), 0)
    first = [[one.role, one.text] for one in asked.messages[: start + 1]]
    return hashlib.sha256(orjson.dumps([bool(asked.tools), first])).hexdigest()
