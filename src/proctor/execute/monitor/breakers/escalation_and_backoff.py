"""Two small state machines that several breakers share: steps that are each climbed once, and delays that grow."""

from __future__ import annotations

from decimal import Decimal

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.interface import KILL
from proctor.execute.monitor.payload_values import NANOSECONDS


class EscalationSteps:
    """A first step with a milder action and a last one that ends the run; each is taken once."""

    def __init__(self, steps: tuple[int, int], first: str, last: str = KILL) -> None:
        self._steps = ((steps[0], first), (steps[1], last))
        self._taken = 0

    def reach(self, value: int) -> tuple[str, int] | None:
        """The action and threshold of the highest step that ``value`` newly reaches."""
        found = None
        while self._taken < len(self._steps) and value >= self._steps[self._taken][0]:
            at, action = self._steps[self._taken]
            found = (action, at)
            self._taken += 1
        return found

    def rearm(self) -> None:
        """Start at the first step again; what ended a run never comes back to this."""
        self._taken = 0


class Backoff:
    """Delays that grow with each one and start again after a time without any."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._first = Decimal(thresholds.delay_seconds)
        self._growth = thresholds.delay_growth
        self._most = Decimal(thresholds.delay_most_seconds)
        self._calm_ns = thresholds.calm_seconds * NANOSECONDS
        self._count = 0
        self._last_ns = 0

    def next(self, now_ns: int) -> str:
        """The next delay in seconds, at the agent's time ``now_ns``."""
        if self._count and now_ns - self._last_ns >= self._calm_ns:
            self._count = 0
        delay = self._first
        for _ in range(self._count):
            delay = min(delay * self._growth, self._most)
            if delay == self._most:
                break
        self._count += 1
        self._last_ns = now_ns
        return format(min(delay, self._most), "f")
