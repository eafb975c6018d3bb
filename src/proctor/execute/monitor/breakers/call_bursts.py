"""Backpressure on bursts: many tool calls in a short time are answered with a delay that grows.

A throttle never ends a run. After a calm time the delay starts again. The programs of one process inside a tool call
count like tool calls while they are a row of repetitions: a fast loop is slowed down at every depth of the process
tree, so that the tree is read before a decision about the row. A script that starts many different programs is not
slowed down.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import Backoff
from proctor.execute.monitor.breakers.interface import ALERT, THROTTLE, Trip, evidence_of
from proctor.execute.monitor.payload_values import NANOSECONDS, seconds_of
from proctor.execute.monitor.run_state import MOST_ROWS, Row, RunState
from proctor.record.trace.event import Event


class Burst:
    """Slows down an agent that begins more tool calls than the limit within a window of its own time."""

    name = "burst"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._calls = thresholds.burst_calls
        self._stale = thresholds.stale_calls[0]
        self._window_ns = thresholds.burst_seconds * NANOSECONDS
        self._backoff = Backoff(thresholds)
        self._recent: OrderedDict[int, deque[tuple[int, int]]] = OrderedDict()

    def see(self, event: Event) -> tuple[Trip, ...]:
        if not self._facts.running:
            return ()
        return tuple(trip for row in self._facts.rows.latest for trip in self._start(event, row))

    def _start(self, event: Event, row: Row) -> tuple[Trip, ...]:
        now = self._facts.clock.active_ns
        recent = self._recent.setdefault(row.starter, deque())
        self._recent.move_to_end(row.starter)
        if len(self._recent) > MOST_ROWS:
            self._recent.popitem(last=False)
        recent.append((now, event.seq))
        while recent[0][0] <= now - self._window_ns:
            recent.popleft()
        if len(recent) <= self._calls or (not row.of_calls and row.length < self._stale):
            return ()
        seqs = [seq for _, seq in recent]
        lasted = seconds_of(now - recent[0][0])
        signals = {
            "calls": len(seqs),
            "threshold": self._calls,
            "seconds": lasted,
            "delay_seconds": self._backoff.next(now),
        }
        recent.clear()
        what = "tool calls" if row.of_calls else "programs inside a tool call"
        rationale = f"{len(seqs)} {what} within {lasted} s"
        return (Trip(self.name, "burst", THROTTLE, ALERT, rationale, evidence_of(seqs, event.seq), signals),)
