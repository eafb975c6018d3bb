"""The sum of it: a run whose breakers trip again and again is ended, although no single one of them would end it.

It counts the alerts of breakers as they stand in the trace, so that replaying the trace counts the same ones.
"""

from __future__ import annotations

from proctor.execute.watch.breakers.interface import ALERT, KILL, NONE, Trip, evidence_of
from proctor.execute.watch.facts import Facts
from proctor.execute.watch.readings import text
from proctor.record.trace.event import Event


class RepeatedTrips:
    """Ends a run after so many trips that something was done about; those that were only told do not count."""

    name = "repeated-trips"

    def __init__(self, facts: Facts, trips: int) -> None:
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
