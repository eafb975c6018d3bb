"""Whether the trace holds everything that the results rest on (T7).

Every attempt in ``acceptance/results.json`` has its ``check.finished`` event with the same outcome, and every such
event stands in the results. Every file in ``workspace/changes.json`` has a ``workspace.mutation`` event, and the last
one for a file ends in the content that the list names; so has every path of a patch that applied (one that did not
apply has changed nothing). A gap makes a run invalid. The shapes that are read:

    changes  {"changes": [{"path", "change", "before", "after"}, ...]}
    results  {"checks": [{"id", "attempts": [{"tree", "attempt", "outcome"}, ...]}, ...]}

Pure; anything may stand in these files, and what has another shape is itself a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proctor.base.names import name_text
from proctor.record.trace.event import Event

Attempt = tuple[str, str, str]
"""The check, the tree it ran on, and the number of the attempt as text."""

MOST_GAPS = 50


class Witness:
    """What a trace attests, gathered event by event so that the trace need not be held."""

    def __init__(self) -> None:
        self.attempts: dict[Attempt, str] = {}
        self.repeated: list[Attempt] = []
        self.mutations: dict[str, str] = {}
        self.starts: dict[str, str] = {}
        self.broken: list[str] = []
        self.applied = False

    def see(self, event: Event) -> None:
        """Take in one event."""
        if event.type == "check.finished":
            key = _attempt(event.payload.get("check"), event.payload)
            if key in self.attempts:
                self.repeated.append(key)
            self.attempts[key] = str(event.payload.get("outcome"))
        elif event.type == "workspace.mutation":
            self._see_mutation(str(event.payload.get("path")), event)
        elif event.type == "patch.applied":
            self.applied = event.payload.get("outcome") == "pass"

    def _see_mutation(self, path: str, event: Event) -> None:
        """Add a link to the chain of a path: it must start where the one before it ended."""
        before = _content(event.payload.get("before"))
        if self.mutations.setdefault(path, before) != before:
            self.broken.append(f"{path}: mutation event {event.seq} starts elsewhere than the one before it ended")
        self.starts.setdefault(path, before)
        self.mutations[path] = _content(event.payload.get("after"))

    def gaps(self, changes: Any, results: Any, patch_paths: Iterable[bytes] | None = None) -> list[str]:
        """What is missing on either side; ``None`` stands for a file that is absent."""
        found = [*self._result_gaps(results), *self._change_gaps(changes), *self._patch_gaps(changes, patch_paths)]
        if len(found) > MOST_GAPS:
            found[MOST_GAPS:] = [f"and {len(found) - MOST_GAPS} more gaps"]
        return found

    def _result_gaps(self, results: Any) -> Iterable[str]:
        yield from (f"{_spoken(key)} has more than one event" for key in self.repeated)
        listed: dict[Attempt, str] = {}
        for check in _entries(results, "checks"):
            for attempt in _entries(check, "attempts"):
                key = _attempt(_field(check, "id"), attempt)
                if key in listed:
                    yield f"results.json lists {_spoken(key)} twice"
                listed[key] = str(_field(attempt, "outcome"))
        for key, outcome in listed.items():
            if key not in self.attempts:
                yield f"{_spoken(key)} is in results.json and has no event"
            elif self.attempts[key] != outcome:
                yield f"{_spoken(key)} is {outcome!r} in results.json and {self.attempts[key]!r} in its event"
        for key in self.attempts:
            if key not in listed:
                yield f"{_spoken(key)} has an event and is not in results.json"

    def _change_gaps(self, changes: Any) -> Iterable[str]:
        yield from self.broken
        for change in _entries(changes, "changes"):
            path = str(_field(change, "path"))
            if path not in self.mutations:
                yield f"{path} is in changes.json and has no mutation event"
            elif self.starts[path] != _content(_field(change, "before")):
                yield f"{path} starts from other content in changes.json than in its first mutation event"
            elif self.mutations[path] != _content(_field(change, "after")):
                yield f"{path} ends in other content in changes.json than in its last mutation event"

    def _patch_gaps(self, changes: Any, patch_paths: Iterable[bytes] | None) -> Iterable[str]:
        listed = {str(_field(change, "path")) for change in _entries(changes, "changes")}
        for path in sorted(patch_paths or ()) if self.applied else ():
            text = name_text(path)
            if text not in self.mutations:
                yield f"{text} is in final.patch and has no mutation event"
            if text not in listed:
                yield f"{text} is in final.patch and not in changes.json"


def check_completeness(
    events: Iterable[Event], changes: Any, results: Any, patch_paths: Iterable[bytes] | None = None
) -> list[str]:
    """Every gap between a trace and the files that summarise it, in words; an empty list when there is none."""
    witness = Witness()
    for event in events:
        witness.see(event)
    return witness.gaps(changes, results, patch_paths)


def _entries(value: Any, key: str) -> list[Any]:
    """The list under ``key``; one unusable entry where there should be a list, so that the gap shows."""
    if value is None:
        return []
    entries = value.get(key) if isinstance(value, Mapping) else None
    return list(entries) if isinstance(entries, list | tuple) else [{}]


def _field(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _attempt(check: Any, value: Any) -> Attempt:
    return str(check), str(_field(value, "tree")), str(_field(value, "attempt"))


def _content(after: Any) -> str:
    """What identifies the content that a change ends in; empty for a deletion."""
    return str(_field(after, "sha256") or "")


def _spoken(key: Attempt) -> str:
    check, tree, attempt = key
    return f"attempt {attempt} of check {check} on the {tree} tree"
