"""Runs without progress: none for a long time, or most of a budget used without a first milestone.

Progress is a change of the tree or a run of tests that passes. A milestone is a run of tests that passes while the tree
differs from its base; if no outcome of a test is known, a changed tree is one. The same thresholds apply to every
method.
"""

from __future__ import annotations

from decimal import Decimal

from proctor.execute.monitor.breakers.breaker_settings import Caps, Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import EscalationSteps
from proctor.execute.monitor.breakers.interface import ALERT, KILL, NONE, Trip, evidence_of
from proctor.execute.monitor.budget import Envelope
from proctor.execute.monitor.payload_values import NANOSECONDS, seconds_of, text
from proctor.execute.monitor.program_kinds import TEST
from proctor.execute.monitor.run_state import RunState
from proctor.execute.monitor.tool_calls_from_processes import PASSED
from proctor.record.trace.event import Event


class NoProgress:
    """Reports, then ends, a run without progress: by the agent's time or by its calls, whichever comes first."""

    name = "no-progress"

    def __init__(self, facts: RunState, thresholds: Thresholds) -> None:
        self._facts = facts
        self._time = EscalationSteps(thresholds.no_progress_seconds, NONE)
        self._calls = EscalationSteps(thresholds.no_progress_calls, NONE)
        self._at: int | None = None
        self._at_ns = 0
        self._at_calls = 0
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        facts = self._facts
        if self._done or not facts.running:
            return ()
        passed = any(TEST in work.kinds and work.outcome == PASSED for work in facts.calls.finished)
        if self._at is None or facts.state_changed or passed:
            self._at, self._at_ns, self._at_calls = event.seq, facts.clock.active_ns, facts.calls.count
            self._time.rearm()
            self._calls.rearm()
            return ()
        idle_ns, idle_calls = facts.clock.active_ns - self._at_ns, facts.calls.count - self._at_calls
        steps = (self._time.reach(idle_ns // NANOSECONDS), self._calls.reach(idle_calls))
        reached = max((step for step in steps if step is not None), key=lambda step: step[0] == KILL, default=None)
        return () if reached is None else (self._trip(self._at, event.seq, reached, idle_ns, idle_calls),)

    def _trip(self, since: int, now: int, reached: tuple[str, int], idle_ns: int, idle_calls: int) -> Trip:
        action, at = reached
        self._done = action == KILL
        signals = {"seconds": seconds_of(idle_ns), "calls": idle_calls, "threshold": at}
        rationale = f"no change of the tree and no passing test for {seconds_of(idle_ns)} s and {idle_calls} tool calls"
        return Trip(self.name, "no-progress", action, ALERT, rationale, (since, now), signals)


class Dominance:
    """Ends a run that has used a large share of one of its caps, but not all of it, without reaching a milestone."""

    name = "dominance"

    def __init__(self, facts: RunState, caps: Caps, envelopes: tuple[Envelope, ...], thresholds: Thresholds) -> None:
        self._facts = facts
        self._caps = caps
        self._limit = min((envelope.limit for envelope in envelopes), default=None)
        self._share = Decimal(thresholds.dominance_share)
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running or not self._facts.costly or self._milestone():
            return ()
        for what, used, cap in self._used():
            if cap * self._share <= used < cap:
                self._done = True
                signals = {
                    "budget": what,
                    "used": format(used, "f"),
                    "cap": format(cap, "f"),
                    "share": format(self._share, "f"),
                    "changed": not self._facts.tree.pristine,
                }
                rationale = f"{format(self._share * 100, 'f')}% of the {what} are gone and no milestone is reached"
                return (Trip(self.name, "dominance", KILL, ALERT, rationale, (event.seq,), signals),)
        return ()

    def _milestone(self) -> bool:
        facts = self._facts
        return facts.milestone is not None or (not facts.tree.pristine and not facts.known_outcomes)

    def _used(self) -> list[tuple[str, Decimal, Decimal]]:
        facts, caps = self._facts, self._caps
        seconds = Decimal(seconds_of(facts.clock.active_ns))
        pairs: list[tuple[str, Decimal, Decimal | int | None]] = [
            ("wall seconds", seconds, caps.wall_seconds),
            ("tokens", Decimal(facts.ledger.tokens), caps.tokens),
            ("tool calls", Decimal(facts.calls.count), caps.tool_calls),
        ]
        if self._limit is not None:
            pairs.append((f"cost ({facts.ledger.table.currency})", facts.ledger.projected, self._limit))
        return [(what, used, Decimal(cap)) for what, used, cap in pairs if cap is not None]


class RepeatedTrips:
    """Ends a run after a number of trips that led to an action; trips that were only reported do not count."""

    name = "repeated-trips"

    def __init__(self, facts: RunState, trips: int) -> None:
        self._facts = facts
        self._trips = trips
        self._seen: list[int] = []
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running or event.type != "monitor.alert":
            return ()
        if not text(event.payload, "breaker") or text(event.payload, "action") in ("", NONE):
            return ()
        self._seen.append(event.seq)
        if len(self._seen) < self._trips:
            return ()
        self._done = True
        rationale = f"breakers have tripped {len(self._seen)} times"
        signals = {"alerts": len(self._seen), "threshold": self._trips}
        evidence = evidence_of(self._seen, event.seq)
        return (Trip(self.name, "repeated-trips", KILL, ALERT, rationale, evidence, signals),)
