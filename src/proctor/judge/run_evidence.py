"""The evidence that a report rests on, read from a run directory and from nothing else.

Files that the run never came to write are ``None``; whatever is there must be in canonical form and the trace must
hold together, or :class:`~proctor.base.errors.BrokenSeal` says what does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.contract.digest import from_resolved
from proctor.contract.model import Check, Contract
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.event import Event
from proctor.record.trace.reader import read_finished_events

PATCH_BYTES = 1 << 30
MOST_ROUNDS = 4
"""How many rounds of inverted tests a report points at as evidence of a forgery."""


@dataclass(frozen=True)
class Evidence:
    """One run's evidence."""

    manifest: Mapping[str, Any]
    contract: Contract
    events: tuple[Event, ...]
    changes: Mapping[str, Any] | None
    results: Mapping[str, Any] | None
    patch: bytes | None

    def of(self, *types: str) -> Iterator[Event]:
        """The events of some types, in order."""
        return (event for event in self.events if event.type in types)

    def last(self, name: str) -> Event | None:
        """The last event of a type."""
        return next((event for event in reversed(self.events) if event.type == name), None)

    def decision(self, check: Check) -> Event | None:
        """The event that decides ``check`` or says that it was blocked."""
        found = None
        for event in self.of("check.decided", "check.blocked"):
            if event.payload["check"] == check.id:
                found = event
        return found

    def attempts(self, check: Check) -> list[Event]:
        """The events of the attempts of ``check`` that count, without those that were set aside and repeated."""
        found = (event for event in self.of("check.finished") if event.payload["check"] == check.id)
        return [event for event in found if not event.payload.get("set_aside")]

    def suspicious_rounds(self, check: Check) -> list[Event]:
        """The rounds of inverted tests that showed something about ``check``, first those where variants passed."""
        found = [event for event in self.of("check.inverted") if event.payload["check"] == check.id]
        shown = [event for event in found if event.payload["verdict"] != "as expected"]
        return sorted(shown, key=lambda event: not event.payload.get("passed_count"))[:MOST_ROUNDS]


def read_evidence(run: RunDirectory) -> Evidence:
    """Everything that a report is made from."""
    return Evidence(
        manifest=run.read_json(run.manifest),
        contract=from_resolved(run.read_json(run.contract), Path()),
        events=tuple(read_finished_events(run.events)[0]),
        changes=run.read_json(run.changes) if run.changes.exists() else None,
        results=run.read_json(run.results) if run.results.exists() else None,
        patch=run.read(run.patch, PATCH_BYTES) if run.patch.exists() else None,
    )


def pointer(event: Event) -> str:
    """How records point at an event."""
    return f"events.jsonl#{event.seq}"
