"""The panel: every breaker, in one fixed order, over one stream of events.

Rules of the panel
    Every event of the trace is given to :meth:`Panel.see` once, in the order of its numbers, the panel's own alerts and
    interventions included. A decision depends on nothing but the settings and the events up to the one it names last.
    When a trip ends the run (kill, quarantine) nothing more is done; only a violation that is seen afterwards, in what
    the agent did last or in its patch, is still told, once for each code: an end by a cap hides none. Where the policy
    asks an operator about a code, the trip's action is a pause, once for each breaker, code and action: an approval
    lifts that decision for the rest of the run. Where the policy rolls back at a code, the tree goes back to the last
    checkpoint before what the trip tells of; then the trip's own action is done, or the run is ended. Time while an
    operator is asked or the run is paused is not the agent's.
    A run whose tree is not watched while it runs (``sees_tree`` false) has no breakers on the state of the tree.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from proctor.execute.watch.breakers.burst import Burst
from proctor.execute.watch.breakers.ceilings import CommandCeiling, RunCeiling
from proctor.execute.watch.breakers.cost import CostCap
from proctor.execute.watch.breakers.counts import (
    CountedCap,
    DependencyResolutions,
    FailedCycles,
    Records,
    Tokens,
    ToolCalls,
)
from proctor.execute.watch.breakers.interface import (
    END,
    ENDING,
    NONE,
    PAUSE,
    ROLLBACK,
    SAFETY,
    VIOLATION,
    Breaker,
    Trip,
)
from proctor.execute.watch.breakers.oscillation import Oscillation
from proctor.execute.watch.breakers.persistence import RepeatedTrips
from proctor.execute.watch.breakers.policy import DeniedWrites, EarlyTests, PolicyBreaker
from proctor.execute.watch.breakers.progress import Dominance, NoProgress
from proctor.execute.watch.breakers.repeats import ExpensiveRepeats, Reinstalls, StaleCalls
from proctor.execute.watch.breakers.resources import Cpu, Gauge, OutOfMemory, Processes
from proctor.execute.watch.envelope import Envelope, make_envelopes
from proctor.execute.watch.facts import Facts
from proctor.execute.watch.prices import FALLBACK
from proctor.execute.watch.settings import Settings
from proctor.record.trace.event import Event


class Panel:
    """All breakers of one run."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        deep = settings.sees_tree and settings.thresholds.repeats_below_calls
        self.facts = Facts(settings.prices or FALLBACK.table, settings.call_depth, settings.test_commands, deep)
        self.ended: Trip | None = None
        self._asked: set[tuple[str, str, str]] = set()
        self._told_late: set[str] = set()
        self._breakers = _breakers(self.facts, settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The breakers in the order in which they are asked."""
        return tuple(breaker.name for breaker in self._breakers)

    @property
    def programs_left(self) -> int | None:
        """How many programs may start before a cap needs a decision; ``None`` while no cap counts them."""
        counts = (breaker.left for breaker in self._breakers if isinstance(breaker, (CountedCap, CostCap)))
        return min((left for left in counts if left is not None), default=None)

    def fresh(self) -> Panel:
        """A panel with the same settings that has seen nothing."""
        return Panel(self.settings)

    def see(self, event: Event) -> tuple[Trip, ...]:
        """Take in one event and say what it trips, in the order of the breakers."""
        self.facts.see(event)
        trips: list[Trip] = []
        for breaker in self._breakers:
            for trip in breaker.see(event):
                decided = self._decided(trip) if self.ended is None else self._late(trip)
                if decided is None:
                    continue
                trips.append(decided)
                if decided.action in ENDING or decided.signals.get("then") == END:
                    self.ended = decided
                    self._told_late.add(decided.code.removeprefix(SAFETY))
        return tuple(trips)

    def _decided(self, trip: Trip) -> Trip | None:
        """What becomes of a trip: itself, a question in its place, or nothing where the question was put before."""
        codes = (trip.code, trip.code.removeprefix(SAFETY))
        if not set(codes) & set(self.settings.ask):
            return self._undone(trip, next((code for code in codes if code in self.settings.rollback), ""))
        question = (trip.breaker, trip.code, trip.action)
        if question in self._asked:
            return trip if trip.action == NONE else None
        self._asked.add(question)
        return replace(trip, action=PAUSE, signals={**trip.signals, "otherwise": trip.action})

    def _late(self, trip: Trip) -> Trip | None:
        """What is still told after the end."""
        code = trip.code.removeprefix(SAFETY)
        if trip.grade != VIOLATION or code in self._told_late:
            return None
        self._told_late.add(code)
        return replace(trip, code=code, action=NONE)

    def _undone(self, trip: Trip, code: str) -> Trip:
        """The trip with a rollback before its own action, where the policy says so and there is a checkpoint."""
        to = self.facts.checkpoints.before(trip.evidence[0]) if code and trip.evidence else ""
        if not to:
            return trip
        then = END if trip.action in ENDING else self.settings.rollback[code]
        return replace(
            trip, action=ROLLBACK, signals={**trip.signals, "otherwise": trip.action, "to": to, "then": then}
        )


def envelopes_of(settings: Settings) -> tuple[tuple[Envelope, ...], tuple[Envelope, ...]]:
    """The envelopes in the ledger's currency, and those in dollars."""
    money = _envelopes(settings, Decimal(1))
    return (money if settings.prices is not None else _envelopes(settings, FALLBACK.units_per_usd)), money


def _envelopes(settings: Settings, factor: Decimal) -> tuple[Envelope, ...]:
    def scaled(usd: str | None) -> Decimal | None:
        return None if usd is None else Decimal(usd) * factor

    return make_envelopes(
        settings.thresholds,
        scaled(settings.caps.usd),
        task_cap=scaled(settings.task_usd),
        task_spent=Decimal(settings.task_spent_usd) * factor,
        batch_cap=scaled(settings.batch_usd),
        batch_spent=Decimal(settings.batch_spent_usd) * factor,
    )


def _breakers(facts: Facts, settings: Settings) -> tuple[Breaker, ...]:
    """The order: safety first, then what bounds a run from outside, then its behaviour, then the sum of it all."""
    caps, thresholds = settings.caps, settings.thresholds
    envelopes, money = envelopes_of(settings)
    found: list[Breaker] = [
        PolicyBreaker(facts, settings),
        DeniedWrites(facts, thresholds.denied_writes, settings.baseline),
        EarlyTests(facts),
    ]
    if caps.command_seconds is not None:
        found.append(CommandCeiling(facts, caps.command_seconds))
    if caps.wall_seconds is not None:
        found.append(RunCeiling(facts, caps.wall_seconds))
    if caps.cpu_seconds is not None:
        found.append(Cpu(facts, caps.cpu_seconds))
    gauges = (("memory", caps.memory_bytes), ("disk", caps.disk_bytes), ("inodes", caps.inodes))
    for name, cap in gauges:
        if cap is not None:
            found.append(Gauge(facts, name, name if name == "inodes" else f"{name}_bytes", cap))
    if caps.processes is not None:
        found.append(Processes(facts, caps.processes, thresholds.full_samples))
    found.append(OutOfMemory(facts, thresholds.oom_kills))
    if envelopes:
        found.append(CostCap(facts, envelopes, money, thresholds))
    counted = (
        (Tokens, caps.tokens),
        (ToolCalls, caps.tool_calls),
        (FailedCycles, caps.failed_cycles),
        (DependencyResolutions, caps.dependency_resolutions),
        (Records, thresholds.record_bytes),
    )
    found += [kind(facts, cap) for kind, cap in counted if cap is not None]
    found += [Reinstalls(facts, thresholds), Burst(facts, thresholds)]
    if settings.sees_tree:
        found += [
            StaleCalls(facts, thresholds),
            ExpensiveRepeats(facts, thresholds),
            Oscillation(facts, thresholds),
            NoProgress(facts, thresholds),
            Dominance(facts, caps, envelopes, thresholds),
        ]
    found.append(RepeatedTrips(facts, thresholds.repeated_trips))
    return tuple(found)
