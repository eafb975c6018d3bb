"""Failure tags: what kind of thing went wrong, each bound to the events that show it. Pure.

The mapping is fixed: equal evidence gives equal tags. A tag is made from events alone, and only from those that the
taxonomy takes for evidence of it, so that none can be without. Every error carries ``evaluation-error``; a second tag
says more only where the error is the agent's doing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proctor.contract.model import Check
from proctor.execute.watch.installs import installs_in
from proctor.execute.watch.words import CONFIG, format_of
from proctor.judge.conversation import unaffordable
from proctor.judge.evidence import Evidence, pointer
from proctor.judge.instigation import instigations
from proctor.judge.outcome import ERROR, FAIL, FORGED_RESULTS, NOT_STARTED, PASS, TIMEOUT
from proctor.judge.status import AGENT, INVALID, Status
from proctor.judge.taxonomy import claimants, taxonomy
from proctor.record.trace.event import Event

MANIFEST = "manifest.json"
SAFETY = "safety-"
"""How the code of an alert begins that ended the run."""


@dataclass(frozen=True)
class Tag:
    """One tag, the gate that it explains, the evidence that it rests on, and what brought it about in which format."""

    id: str
    gate: str
    evidence: tuple[str, ...]
    format: str = ""
    segments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = taxonomy().get(self.id)
        if known is None or self.gate not in known.gates:
            raise ValueError(f"the taxonomy has no tag {self.id!r} for the gate {self.gate!r}")
        if not self.evidence:
            raise ValueError(f"a tag needs evidence: {self.id}")

    def record(self) -> dict[str, Any]:
        """The tag as a report holds it."""
        record: dict[str, Any] = {"id": self.id, "gate": self.gate, "evidence": list(self.evidence)}
        if taxonomy()[self.id].format:
            record |= {"format": self.format, "segments": list(self.segments)}
        return record


def tagged(name: str, gate: str, *events: Event, more: tuple[str, ...] = ()) -> Tag:
    """A tag on ``events``, of which the taxonomy must take one for evidence; ``more`` are pointers besides."""
    wanted = taxonomy()[name].evidence
    if not any(event.type in wanted for event in events):
        raise ValueError(f"{name} needs one of {', '.join(wanted)}")
    return Tag(name, gate, (*map(pointer, events), *more))


def tags(evidence: Evidence, status: Status) -> tuple[Tag, ...]:
    """Every tag that the evidence carries, by id, gate and format, each once."""
    gathered: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
    for tag in _all(evidence, status):
        shown, segments = gathered.setdefault((tag.id, tag.gate, tag.format), ([], []))
        shown.extend(tag.evidence)
        segments.extend(tag.segments)
    return tuple(
        Tag(name, gate, tuple(dict.fromkeys(shown)), form, tuple(dict.fromkeys(segments)))
        for (name, gate, form), (shown, segments) in sorted(gathered.items())
    )


def _all(evidence: Evidence, status: Status) -> Iterator[Tag]:
    applied = evidence.last("patch.applied")
    if applied is not None and applied.payload["outcome"] != PASS:
        error = applied.payload["outcome"] == ERROR
        yield tagged("evaluation-error" if error else "conflict", "G1", applied)
    for check in evidence.contract.checks:
        decided = evidence.decision(check)
        if decided is not None and decided.type == "check.decided":
            yield from _of_check(evidence, check, decided)
    yield from _of_safety(evidence)
    for event in evidence.of("run.terminated"):
        for entry in claimants(str(event.payload["code"]), "", (event.type,)):
            if entry.id != "evaluation-invalidity":
                yield tagged(entry.id, "", event)
    refused = unaffordable(evidence)
    if refused is not None:
        yield tagged("resource-termination", "", refused)
    yield from _of_conversation(evidence)
    yield from _of_installs(evidence)
    if status.status == INVALID:
        yield from _of_invalidity(evidence)


def _of_check(evidence: Evidence, check: Check, decided: Event) -> Iterator[Tag]:
    gate = "G3" if check.gate == "acceptance" else "G2"
    outcome, reason = decided.payload["outcome"], decided.payload.get("reason")
    if outcome == ERROR:
        yield tagged("evaluation-error", gate, decided)
        if reason == NOT_STARTED:
            yield tagged("evaluation-error", "G1", decided)
        if decided.payload["attribution"] == AGENT:
            yield from _of_own_error(evidence, gate, decided)
    elif outcome == FAIL and reason == FORGED_RESULTS:
        yield tagged("forged-results", gate, decided, *evidence.suspicious_rounds(check))
    elif outcome == FAIL and check.gate == "acceptance":
        yield tagged(f"test-failure:{check.layer}" if check.layer else "test-failure", gate, decided)
        kept = set(check.keep_passing)
        for attempt in evidence.attempts(check):
            if attempt.payload["tree"] == "patched" and kept.intersection(attempt.payload["failing"]):
                yield tagged("invariant-violation", gate, attempt)
    elif outcome == FAIL:
        yield tagged(f"{check.gate}-failure", gate, decided)


def _of_own_error(evidence: Evidence, gate: str, decided: Event) -> Iterator[Tag]:
    """What more is sure of an error that is the agent's doing: the base came to a decision, and the patch did not."""
    if decided.payload.get("reason") == TIMEOUT:
        yield tagged("non-termination", gate, decided)
    paths = [str(item["path"]) for item in (evidence.changes or {}).get("changes", ())]
    if paths and all(format_of(path) == CONFIG for path in paths):
        yield tagged("configuration-drift", gate, decided, more=("workspace/changes.json",))


def _of_safety(evidence: Evidence) -> Iterator[Tag]:
    violations = [event for event in evidence.of("safety.finding") if event.payload["grade"] == "violation"]
    causes = instigations(evidence, violations)
    for event in violations:
        where = str(event.payload["evidence"])
        for entry in claimants(str(event.payload["code"]).removeprefix(SAFETY), "G4", (event.type,)):
            found = tagged(entry.id, "G4", event, more=(where,) if entry.codes != ("*",) else ())
            cause = causes[event.seq] if entry.format else None
            yield Tag(found.id, "G4", found.evidence, cause.format, cause.segments) if cause else found


def _of_conversation(evidence: Evidence) -> Iterator[Tag]:
    overflow = taxonomy()["context-overflow"]
    for event in evidence.of("model.error", "model.response"):
        words = event.payload["detail"] if event.type == "model.error" else event.payload["finish"]
        if overflow.shows(str(words)):
            yield tagged(overflow.id, "", event)


def _of_installs(evidence: Evidence) -> Iterator[Tag]:
    """Installations that failed while the registry said that there is no such package."""
    unknown = [event for event in evidence.of("network.exchange") if event.payload["status"] == 404]
    if not unknown:
        return
    by_seq = {event.seq: event for event in evidence.events}
    for install in installs_in(evidence.events):
        for answer in unknown if install.failed else ():
            asked = str(answer.payload["path"]).lower().replace("_", "-").split("/")
            if any(name in asked for name in install.names):
                yield tagged("dependency-hallucination", "", by_seq[install.seq], answer)


def _of_invalidity(evidence: Evidence) -> Iterator[Tag]:
    """What shows best why a run carries no verdict: faults, an early end, another tree, else the manifest."""
    identity = evidence.last("run.identity")
    drifted = identity is not None and identity.payload["match"] is not True
    if drifted and identity is not None:
        yield tagged("configuration-drift", "", identity)
    for name in ("run.fault", "run.terminated"):
        events = tuple(evidence.of(name))
        if events:
            yield tagged("evaluation-invalidity", "", *events)
            return
    if drifted and identity is not None:
        yield tagged("evaluation-invalidity", "", identity)
    else:
        yield Tag("evaluation-invalidity", "", (MANIFEST,))
