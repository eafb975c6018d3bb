"""Backpressure on bursts: many tool calls in a short time are answered with a delay that grows.

A throttle never ends a run. After a calm time the delay starts anew.
"""

from __future__ import annotations

from collections import deque

from proctor.execute.watch.breakers.interface import ALERT, THROTTLE, Trip, evidence_of
from proctor.execute.watch.breakers.ladder import Backoff
from proctor.execute.watch.facts import Facts
from proctor.execute.watch.readings import NANOSECONDS, seconds_of
from proctor.execute.watch.thresholds import Thresholds
from proctor.record.trace.event import Event


class Burst:
    """Slows down an agent that begins more than so many tool calls within a window of its own time."""

    name = "burst"

    def __init__(self, facts: Facts, thresholds: Thresholds) -> None:
        self._facts = facts
        self._calls = thresholds.burst_calls
        self._window_ns = thresholds.burst_seconds * NANOSECONDS
        self._backoff = Backoff(thresholds)
        self._recent: deque[tuple[int, int]] = deque()

    def see(self, event: Event) -> tuple[Trip, ...]:
        facts = self._facts
        if not facts.running or not facts.calls.started:
            return ()
        now = facts.clock.active_ns
        self._recent.extend((now, event.seq) for _ in facts.calls.started)
        while self._recent and self._recent[0][0] <= now - self._window_ns:
            self._recent.popleft()
        if len(self._recent) <= self._calls:
            return ()
        seqs = [seq for _, seq in self._recent]
        lasted = seconds_of(now - self._recent[0][0])
        signals = {
            "calls": len(seqs),
            "threshold": self._calls,
            "seconds": lasted,
            "delay_seconds": self._backoff.next(now),
        }
        self._recent.clear()
        rationale = f"{len(seqs)} tool calls within {lasted} s"
        return (Trip(self.name, "burst", THROTTLE, ALERT, rationale, evidence_of(seqs, event.seq), signals),)
