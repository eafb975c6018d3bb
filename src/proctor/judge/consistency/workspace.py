"""Compare the list of changed files with the mutation events, with the patch and with itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.base.names import name_text
from proctor.execute.workspace.patch import known_stat
from proctor.judge.consistency.subject import CHANGES, Subject, differs, place
from proctor.record.problems import Problem
from proctor.record.trace.event import Event


def kinds(subject: Subject) -> Iterator[Problem]:
    """The kind of a change follows from its two sides, in the list and in the events."""
    for where, change in _all_changes(subject):
        before, after = change.get("before"), change.get("after")
        expected = "added" if before is None else "deleted" if after is None else "modified"
        yield from differs(where, f"change of {change.get('path')}", change.get("change"), expected, "before and after")


def sides(subject: Subject) -> Iterator[Problem]:
    """Size and mode of a changed file are those of the first and the last event about it."""
    first: dict[str, Event] = {}
    last: dict[str, Event] = {}
    for event in subject.evidence.of("workspace.mutation"):
        path = str(event.payload.get("path"))
        first.setdefault(path, event)
        last[path] = event
    for change in _listed(subject):
        path = str(change.get("path"))
        for side, events in (("before", first), ("after", last)):
            if path in events:
                found = events[path]
                yield from differs(
                    CHANGES, f"{side} of {path}", change.get(side), found.payload.get(side), place(found)
                )


def lines(subject: Subject) -> Iterator[Problem]:
    """The line counts are those of the patch, if Proctor made the patch itself."""
    if subject.redacted or not any(True for _ in subject.evidence.of("tool.invocation")):
        return
    stats = {name_text(stat.path): stat for stat in known_stat(subject.evidence.patch or b"")}
    for change in _listed(subject):
        stat = stats.get(str(change.get("path")))
        if "lines" in change and stat is not None:
            expected = {"added": stat.added_lines, "deleted": stat.deleted_lines, "binary": stat.binary}
            yield from differs(
                CHANGES, f"lines of {change.get('path')}", change["lines"], expected, "workspace/final.patch"
            )


def _listed(subject: Subject) -> list[Mapping[str, Any]]:
    listed = (subject.evidence.changes or {}).get("changes")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _all_changes(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from ((CHANGES, change) for change in _listed(subject))
    yield from ((place(event), event.payload) for event in subject.evidence.of("workspace.mutation"))
