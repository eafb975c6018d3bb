"""Doing the same again: calls that bring nothing new, expensive calls on an unchanged tree, the same dependencies.

A call brings nothing new if the same arguments in the same directory were tried before and the tree has not changed
since. Only a series of such calls counts, so an agent that explores, with ``git status`` in between, is not affected,
and a loop over two or three commands is found as well as one over a single command. The programs of one process inside
a call form a row of the same kind: the decision about a loop does not depend on its depth in the process tree.
"""

from __future__ import annotations

from collections import OrderedDict

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import Backoff, EscalationSteps
from proctor.execute.monitor.breakers.interface import ALERT, THROTTLE, Trip, evidence_of
from proctor.execute.monitor.payload_values import NANOSECONDS, seconds_of
from proctor.execute.monitor.program_kinds import INSTALL, TEST, dependency_key
from proctor.execute.monitor.run_state import MOST_ROWS, Row, RunState, Tally
from proctor.execute.monitor.tool_calls_from_processes import Call
from proctor.record.trace.event import Event


class StaleCalls:
    """Slows down, then ends, a run whose calls, or programs of one call, are all repetitions."""

    name = "identical-calls"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._seconds = thresholds.stale_seconds
        self._steps = thresholds.stale_calls
        self._backoff = Backoff(thresholds)
        self._escalations: OrderedDict[int, EscalationSteps] = OrderedDict()

    def see(self, event: Event) -> tuple[Trip, ...]:
        facts = self._facts
        if not facts.running:
            return ()
        if facts.state_changed:
            self._escalations.clear()
        return tuple(trip for row in facts.rows.latest for trip in self._start(event, row))

    def _start(self, event: Event, row: Row) -> tuple[Trip, ...]:
        if row.length == 0:
            self._escalations.pop(row.starter, None)
            return ()
        now = self._facts.clock.active_ns
        lasted = now - row.since_ns
        if lasted < self._seconds * NANOSECONDS:
            return ()
        escalation = self._escalations.setdefault(row.starter, EscalationSteps(self._steps, THROTTLE))
        self._escalations.move_to_end(row.starter)
        if len(self._escalations) > MOST_ROWS:
            self._escalations.popitem(last=False)
        reached = escalation.reach(row.length)
        if reached is None:
            return ()
        action, at = reached
        signals = {
            "calls": row.length,
            "threshold": at,
            "seconds": seconds_of(lasted),
            "state": self._facts.tree.digest,
        }
        if action == THROTTLE:
            signals["delay_seconds"] = self._backoff.next(now)
        what = "tool calls in a row" if row.of_calls else "programs in a row inside a tool call"
        rationale = f"{row.length} {what} were made before, and the tree has not changed since"
        evidence = evidence_of(tuple(row.seqs), event.seq)
        return (Trip(self.name, "identical-calls", action, ALERT, rationale, evidence, signals),)


class ExpensiveRepeats:
    """Slows down the same expensive call, such as the whole test suite, on an unchanged tree."""

    name = "expensive-repeats"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._seconds = thresholds.expensive_seconds
        self._repeats = thresholds.expensive_repeats
        self._backoff = Backoff(thresholds)
        self._seen = Tally()

    def see(self, event: Event) -> tuple[Trip, ...]:
        facts = self._facts
        if not facts.running:
            return ()
        if facts.state_changed:
            self._seen.clear()
        return tuple(trip for call in facts.calls.ended for trip in self._call(event, call))

    def _call(self, event: Event, call: Call) -> tuple[Trip, ...]:
        if TEST not in call.kinds and (call.wall_ns or 0) < self._seconds * NANOSECONDS:
            return ()
        seqs = self._seen.add(call.key, event.seq)
        if len(seqs) < self._repeats:
            return ()
        delay = self._backoff.next(self._facts.clock.active_ns)
        signals = {
            "repeats": len(seqs),
            "threshold": self._repeats,
            "wall_seconds": seconds_of(call.wall_ns or 0),
            "state": self._facts.tree.digest,
            "delay_seconds": delay,
        }
        rationale = f"an expensive tool call was made {len(seqs)} times on an unchanged tree"
        evidence = evidence_of(seqs, event.seq)
        return (Trip(self.name, "expensive-repeats", THROTTLE, ALERT, rationale, evidence, signals),)


class Reinstalls:
    """Slows down, then ends, a run that installs the same dependencies again and again."""

    name = "reinstalls"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._steps = thresholds.reinstalls
        self._backoff = Backoff(thresholds)
        self._seen = Tally()
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running:
            return ()
        trips: list[Trip] = []
        for work in self._facts.calls.began:
            if INSTALL in work.kinds and not self._done:
                key = dependency_key(work.argv)
                trips += self._install(event, key, self._seen.add(key, event.seq))
        return tuple(trips)

    def _install(self, event: Event, key: str, seqs: list[int]) -> tuple[Trip, ...]:
        escalation = EscalationSteps(self._steps, THROTTLE)
        escalation.reach(len(seqs) - 1)
        reached = escalation.reach(len(seqs))
        if reached is None:
            return ()
        action, at = reached
        signals = {"installs": len(seqs), "threshold": at, "what": key[:200]}
        if action == THROTTLE:
            signals["delay_seconds"] = self._backoff.next(self._facts.clock.active_ns)
        else:
            self._done = True
        rationale = f"the same dependencies were installed {len(seqs)} times"
        evidence = evidence_of(seqs, event.seq)
        return (Trip(self.name, "dependency-reinstalls", action, ALERT, rationale, evidence, signals),)
