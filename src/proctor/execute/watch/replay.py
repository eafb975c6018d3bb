"""Deriving every decision of the breakers from a trace once more, and holding it against what the trace records.

A recorded decision is a ``monitor.alert`` with the key ``breaker``, and the first ``intervention`` that points at it.
It agrees when the panel trips in the same way at the same event, in the same order, and when the alert stands after
the evidence that it names. Interventions after an operator's decision are the operator's and are not derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.execute.watch.breakers.interface import NONE, Trip
from proctor.execute.watch.panel import Panel
from proctor.execute.watch.readings import inner, integer, text
from proctor.record.trace.event import Event


@dataclass(frozen=True)
class Recorded:
    """A decision as it stands in a trace: the alert's number, the trip it tells of, and what was done about it."""

    seq: int
    trip: Trip
    intervention: int | None = None
    done: str = NONE


@dataclass(frozen=True)
class Replay:
    """The result of a replay: what was derived, what was recorded, and every difference in words."""

    derived: tuple[Trip, ...]
    recorded: tuple[Recorded, ...]
    agree: bool
    differences: tuple[str, ...]


def alert_payload(trip: Trip, stage: str) -> dict[str, Any]:
    """The payload of the ``monitor.alert`` that tells of ``trip``."""
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


def replay(events: Iterable[Event], panel: Panel) -> Replay:
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
    here, told = f"event {record.seq}", record.trip
    for name in ("breaker", "code", "action", "grade", "rationale", "evidence"):
        ours, theirs = getattr(trip, name), getattr(told, name)
        if ours != theirs:
            yield f"{here}: {name} is {theirs!r} in the trace and {ours!r} when derived"
    if dict(trip.signals) != dict(told.signals):
        yield f"{here}: the signals of {told.breaker} differ from those derived"
    if record.seq <= _last(trip):
        yield f"{here}: the alert stands before its evidence, event {_last(trip)}"
    if record.done != told.action:
        yield f"{here}: the alert calls for {told.action!r} and the trace shows {record.done!r}"
    if record.intervention is not None and record.intervention <= record.seq:
        yield f"{here}: its intervention, event {record.intervention}, stands before it"


def _last(trip: Trip) -> int:
    return trip.evidence[-1] if trip.evidence else -1
