"""All breakers in one fixed order over one stream of events,
and the replay of their decisions from a recorded trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.execute.monitor.breakers.breaker_registry import CheckedBreaker, Decisions, make_breakers
from proctor.execute.monitor.breakers.breaker_settings import Settings
from proctor.execute.monitor.breakers.cost_limit import CostCap
from proctor.execute.monitor.breakers.count_limits import (
    CountedCap,
)
from proctor.execute.monitor.breakers.interface import (
    END,
    ENDING,
    NONE,
    PAUSE,
    ROLLBACK,
    SAFETY,
    VIOLATION,
    Trip,
)
from proctor.execute.monitor.budget import Envelope, make_envelopes
from proctor.execute.monitor.payload_values import inner, integer, text
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event


class BreakerPanel:
    """All breakers of one run."""

    def __init__(self, settings: Settings | None = None, recorded: Decisions = EMPTY) -> None:
        """With ``recorded``, these breakers of packages are not asked: they decide as they did in a recorded run."""
        self.settings = settings = settings or Settings()
        deep = settings.sees_tree and settings.thresholds.repeats_below_calls
        self.facts = RunState(settings.prices or FALLBACK.table, settings.call_depth, settings.test_commands, deep)
        self.ended: Trip | None = None
        self._asked: set[tuple[str, str, str]] = set()
        self._reported_late: set[str] = set()
        self._reported_faults: set[str] = set()
        self._breakers = make_breakers(self.facts, settings, envelopes_of(settings), recorded)
        self._recorded = recorded

    @property
    def names(self) -> tuple[str, ...]:
        """The breakers in the order in which they are asked."""
        return tuple(breaker.name for breaker in self._breakers)

    @property
    def programs_left(self) -> int | None:
        """How many programs may start before a cap needs a decision; ``None`` while no cap counts them."""
        counts = (breaker.left for breaker in self._breakers if isinstance(breaker, (CountedCap, CostCap)))
        return min((left for left in counts if left is not None), default=None)

    def new_faults(self) -> tuple[str, ...]:
        """What breakers of packages failed at, each reported once."""
        found = [one for one in self._breakers if isinstance(one, CheckedBreaker) and one.fault]
        new = tuple(one.fault for one in found if one.name not in self._reported_faults)
        self._reported_faults.update(one.name for one in found)
        return new

    def fresh(self) -> BreakerPanel:
        """A panel with the same settings that has seen nothing."""
        return BreakerPanel(self.settings, self._recorded)

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
                    self._reported_late.add(decided.code.removeprefix(SAFETY))
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
        """The events that are still processed after the end."""
        code = trip.code.removeprefix(SAFETY)
        if trip.grade != VIOLATION or code in self._reported_late:
            return None
        self._reported_late.add(code)
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


@dataclass(frozen=True)
class Recorded:
    """A recorded decision: the alert's number, its trip, and the action that was taken."""

    seq: int
    trip: Trip
    intervention: int | None = None
    done: str = NONE


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the derived decisions, the recorded ones, and a description of every difference."""

    derived: tuple[Trip, ...]
    recorded: tuple[Recorded, ...]
    agree: bool
    differences: tuple[str, ...]


def alert_payload(trip: Trip, stage: str) -> dict[str, Any]:
    """The payload of the ``monitor.alert`` for ``trip``."""
    return {
        "code": trip.code,
        "grade": trip.grade,
        "signals": dict(trip.signals),
        "stage": stage,
        "message": trip.rationale,
        "evidence": list(trip.evidence),
        "breaker": trip.breaker,
        "action": trip.action,
    }


def intervention_payload(trip: Trip, alert: int) -> dict[str, Any] | None:
    """The payload of the ``intervention`` that follows the alert number ``alert``; ``None`` when nothing is done."""
    if trip.action == NONE:
        return None
    return {"action": trip.action, "alert": alert, "detail": dict(trip.signals)}


def recorded_decisions(events: Iterable[Event]) -> tuple[Recorded, ...]:
    """Every decision of a breaker that the events record, in order."""
    alerts: list[Event] = []
    acts: dict[int, Event] = {}
    for event in events:
        if event.type == "monitor.alert" and text(event.payload, "breaker"):
            alerts.append(event)
        elif event.type == "intervention":
            alert = integer(event.payload, "alert")
            if alert is not None:
                acts.setdefault(alert, event)
    return tuple(_recorded(event, acts.get(event.seq)) for event in alerts)


def decisions_of(events: Iterable[Event], breaker: str) -> dict[int, tuple[Trip, ...]]:
    """What ``breaker`` decided according to the events, by the number of the event at which it tripped."""
    found: dict[int, tuple[Trip, ...]] = {}
    for one in recorded_decisions(events):
        trip = one.trip
        if trip.breaker != breaker or not trip.evidence:
            continue
        if trip.action in (PAUSE, ROLLBACK):  # the panel has put a question or a rollback in place of its action
            signals = {name: value for name, value in trip.signals.items() if name not in ("otherwise", "to", "then")}
            trip = replace(trip, action=str(trip.signals.get("otherwise", NONE)), signals=signals)
        found[trip.evidence[-1]] = (*found.get(trip.evidence[-1], ()), trip)
    return found


def replay(events: Iterable[Event], panel: BreakerPanel) -> Replay:
    """Derive all decisions with a fresh copy of ``panel`` and compare them with the recorded ones."""
    listed = list(events)
    again = panel.fresh()
    derived = tuple(trip for event in listed for trip in again.see(event))
    recorded = recorded_decisions(listed)
    differences = tuple(_differences(derived, recorded))
    return Replay(derived, recorded, not differences, differences)


def _recorded(alert: Event, act: Event | None) -> Recorded:
    payload: Mapping[str, Any] = alert.payload
    evidence = payload.get("evidence")
    trip = Trip(
        breaker=text(payload, "breaker"),
        code=text(payload, "code"),
        action=text(payload, "action"),
        grade=text(payload, "grade"),
        rationale=text(payload, "message"),
        evidence=tuple(seq for seq in evidence if type(seq) is int) if isinstance(evidence, (list, tuple)) else (),
        signals=dict(inner(payload, "signals")),
    )
    if act is None:
        return Recorded(alert.seq, trip)
    return Recorded(alert.seq, trip, act.seq, text(act.payload, "action"))


def _differences(derived: tuple[Trip, ...], recorded: tuple[Recorded, ...]) -> Iterable[str]:
    for place in range(max(len(derived), len(recorded))):
        if place >= len(recorded):
            trip = derived[place]
            yield f"event {_last(trip)}: {trip.breaker} trips ({trip.code}, {trip.action}), and no alert records it"
        elif place >= len(derived):
            record = recorded[place]
            yield f"event {record.seq}: an alert of {record.trip.breaker} ({record.trip.code}) that is not derived"
        else:
            yield from _compared(derived[place], recorded[place])


def _compared(trip: Trip, record: Recorded) -> Iterable[str]:
    here, recorded = f"event {record.seq}", record.trip
    for name in ("breaker", "code", "action", "grade", "rationale", "evidence"):
        ours, theirs = getattr(trip, name), getattr(recorded, name)
        if ours != theirs:
            yield f"{here}: {name} is {theirs!r} in the trace and {ours!r} when derived"
    if dict(trip.signals) != dict(recorded.signals):
        yield f"{here}: the signals of {recorded.breaker} differ from those derived"
    if record.seq <= _last(trip):
        yield f"{here}: the alert stands before its evidence, event {_last(trip)}"
    if record.done != recorded.action:
        yield f"{here}: the alert calls for {recorded.action!r} and the trace shows {record.done!r}"
    if record.intervention is not None and record.intervention <= record.seq:
        yield f"{here}: its intervention, event {record.intervention}, stands before it"


def _last(trip: Trip) -> int:
    return trip.evidence[-1] if trip.evidence else -1
