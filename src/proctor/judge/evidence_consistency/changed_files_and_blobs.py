"""Compare the list of changed files with mutation events and patch, and events with the stored output and blobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.execute.workspace.patch import known_stat
from proctor.judge.checks.check_records import PREFIX_BYTES
from proctor.judge.evidence_consistency.compared_run import CHANGES, Subject, differs, place
from proctor.record.run_directory import Problem
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


LOGS = "acceptance/logs/"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def logs(subject: Subject) -> Iterator[Problem]:
    """The event of an attempt names its log, and a complete log has the digest in the event."""
    named: set[str] = set()
    for event in subject.evidence.of("check.finished", "check.inverted"):
        for kind, path in _mapping(event.payload.get("log")).items():
            named.add(str(path))
            yield from _log(subject, event, kind, str(path))
    for path in subject.sizes:
        if path.startswith(LOGS) and path not in named:
            yield Problem(path, "no event names this log")


def _log(subject: Subject, event: Event, kind: str, path: str) -> Iterator[Problem]:
    stream = _mapping(event.payload.get(kind))
    name = re.sub(r"[^A-Za-z0-9._-]", "_", str(event.payload.get("check")))[:80]
    tree, number = event.payload.get("tree"), event.payload.get("attempt")
    if event.type == "check.inverted":
        tree, number = "inverted", event.payload.get("round")
    expected = f"{LOGS}{name}.{tree}.{number}.{kind}"
    yield from differs(place(event), f"log.{kind}", path, expected, "the attempt")
    if path not in subject.sizes:
        yield Problem(place(event), f"names the log {path}, which is not part of the run")
    elif not subject.redacted:
        if subject.sizes[path] == stream.get("bytes"):
            yield from differs(place(event), f"{kind}.sha256", _bare(stream), subject.digests[path], path)
        elif subject.sizes[path] > int(stream.get("bytes") or 0):
            yield from differs(place(event), f"{kind}.bytes", stream.get("bytes"), subject.sizes[path], path)
        prefix = name_text(subject.read(path)[:PREFIX_BYTES])
        yield from differs(place(event), f"{kind}.prefix", stream.get("prefix"), prefix, path)


def short_outputs(subject: Subject) -> Iterator[Problem]:
    """Output that an event contains completely has the size and digest in the event."""
    if subject.redacted:
        return
    most = min(PREFIX_BYTES, subject.evidence.contract.budget.output_bytes)
    for event in subject.evidence.of("tool.invocation", "check.finished", "check.inverted"):
        for kind in ("stdout", "stderr"):
            stream = _mapping(event.payload.get(kind))
            text, size = stream.get("prefix"), stream.get("bytes")
            if not isinstance(text, str) or type(size) is not int:
                continue
            data = name_bytes(text)
            if len(data) > size or len(data) < min(size, most):
                yield from differs(place(event), f"{kind}.bytes", size, len(data), "its prefix")
            elif len(data) == size:
                yield from differs(
                    place(event), f"{kind}.sha256", _bare(stream), sha256(data).hexdigest(), "its prefix"
                )


def texts(subject: Subject) -> Iterator[Problem]:
    """A text that an event contains, such as a message to a model, has the recorded size and digest."""
    if subject.redacted:
        return
    for event in subject.evidence.events:
        for holder in _holders(event.payload, "text"):
            if "bytes" in holder and "sha256" in holder:
                data = holder["text"].encode()
                yield from differs(place(event), "bytes", holder["bytes"], len(data), "its text")
                yield from differs(place(event), "sha256", _bare(holder), sha256(data).hexdigest(), "its text")


def blobs(subject: Subject) -> Iterator[Problem]:
    """Every blob that an event names exists, and a complete one has the digest in the event."""
    for event in subject.evidence.events:
        for holder in _holders(event.payload, "blob"):
            name = holder["blob"]
            path = f"blobs/{name}"
            if not _DIGEST.fullmatch(name):
                continue
            if path not in subject.sizes:
                yield Problem(place(event), f"names the blob {name}, which is not part of the run")
            elif "kept_bytes" in holder and not subject.redacted:
                yield from differs(place(event), "kept_bytes", holder["kept_bytes"], subject.sizes[path], path)
                if holder["kept_bytes"] == holder.get("bytes"):
                    yield from differs(place(event), "sha256", _bare(holder), name, path)


def _holders(value: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """Every object in ``value`` that has a text called ``name``."""
    if isinstance(value, Mapping):
        if isinstance(value.get(name), str):
            yield value
        for inner in value.values():
            yield from _holders(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _holders(inner, name)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _bare(stream: Mapping[str, Any]) -> Any:
    digest = stream.get("sha256")
    return digest.removeprefix("sha256:") if isinstance(digest, str) else digest
