"""When a provider is silent: calls are in flight, and nothing has come on any of them for longer than the grace.

The time until the first byte of an answer is the agent's time, as long as it is not longer than the grace. What a
provider is silent beyond that is not: the agent's clock stops until a byte comes, a call begins or none is left. The
sum of these times has a maximum, after which the run is given up as an outage. A new call ends a silence, a provider
that answers is never silent, and an agent that has gone away from its call does not wait for it.

What an agent can gain: a call that is not streamed and takes long looks like silence. What the agent computes meanwhile
is not counted, up to the maximum, and if it leaves such a call, the run may be given up as an outage.

:class:`Silence` is pure and is given the time; :class:`SilenceWatch` gives it that of an event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from proctor.base.clock import seconds_text

PROVIDER_SILENCE = "provider-silence"
"""The code of a run that was ended because the provider of its model was silent for too long."""
NANOSECONDS = 10**9
SILENT, HEARD, GIVEN_UP = "model.silent", "model.heard", "model.unavailable"
"""The events at which the agent's clock stops and goes on, and at which the run is given up."""


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
        """A call ended, or its agent went away; how long the silence was, if it was the last one."""
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
    """Tells when silences begin and end; ``give_up`` is called once they are too long. Used in one loop."""

    def __init__(
        self,
        grace_seconds: float,
        most_seconds: float,
        tell: Callable[[str, Mapping[str, Any]], object],
        give_up: Callable[[float], None],
    ) -> None:
        self.most_seconds = most_seconds
        self._silence = Silence(int(grace_seconds * NANOSECONDS), int(most_seconds * NANOSECONDS))
        self._grace_seconds = grace_seconds
        self._tell = tell
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
            self._tell(SILENT, {"calls": silence.calls, "grace_seconds": f"{self._grace_seconds:.3f}"})
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
            self._tell(HEARD, {"seconds": seconds_text(lasted_ns)})
