"""What brought a violation about: the words that a rule hit, or the tool call behind a program, and their format. Pure.

A finding points at an alert, the alert at what was seen. Where that is a hit of a rule on words, its format and the
event that keeps the exact words are known. Where it is a program, the model's tool call is named if the program can be
matched to one; a command is shell, whatever asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.execute.watch.readings import integer, text
from proctor.execute.watch.words import SHELL
from proctor.judge.causes import programs_of
from proctor.judge.evidence import Evidence, pointer
from proctor.record.trace.event import Event

MOST_SEGMENTS = 20
_LOG = "events.jsonl#"


@dataclass(frozen=True)
class Instigation:
    """The format in which a cause came, empty where nobody knows, and pointers at the events that keep its words."""

    format: str = ""
    segments: tuple[str, ...] = ()


def instigations(evidence: Evidence, findings: Sequence[Event]) -> Mapping[int, Instigation]:
    """What brought each of ``findings`` about, by the number of its event."""
    if not findings:
        return {}
    by_seq = {event.seq: event for event in evidence.events}
    calls = _calls(evidence) if evidence.last("model.request") is not None else {}
    programs = _programs(evidence)
    found = {}
    for finding in findings:
        seen = list(_seen(finding, by_seq))
        hits = [event for event in seen if event.type == "words.hit"]
        deeds = [programs.get(event.seq, event) for event in seen if event.type.startswith("guard.")]
        segments = [*map(pointer, hits), *(calls[event.seq] for event in deeds if event.seq in calls)]
        form = text(hits[0].payload, "format") if hits else SHELL if any(e.type == "guard.exec" for e in deeds) else ""
        found[finding.seq] = Instigation(form, tuple(dict.fromkeys(segments))[:MOST_SEGMENTS])
    return found


def _seen(finding: Event, by_seq: Mapping[int, Event]) -> Iterator[Event]:
    """The alert that a finding points at and what the alert points at."""
    where = text(finding.payload, "evidence")
    number = where.removeprefix(_LOG)
    alert = by_seq.get(int(number)) if where.startswith(_LOG) and number.isdecimal() else None
    if alert is None:
        return
    yield alert
    told = alert.payload.get("evidence")
    for item in told if isinstance(told, (list, tuple)) else ():
        number = str(item).removeprefix(_LOG)
        if number.isdecimal() and int(number) in by_seq:
            yield by_seq[int(number)]


def _calls(evidence: Evidence) -> dict[int, str]:
    """The tool call behind each program that can be matched to one."""
    return {one.event.seq: pointer(one.cause.event) for one in programs_of(evidence.events) if one.cause is not None}


def _programs(evidence: Evidence) -> dict[int, Event]:
    """The program that made each attempt: the last that started under its process id."""
    live: dict[int, Event] = {}
    found = {}
    for event in evidence.events:
        pid = integer(event.payload, "pid")
        if event.type == "guard.exec" and pid is not None:
            live[pid] = event
        elif event.type in ("guard.attempt", "guard.read", "guard.held") and pid in live:
            found[event.seq] = live[pid]
    return found
