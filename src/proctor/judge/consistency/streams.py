"""Compare events with the output and blobs in the run directory, complete or in part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from proctor.base.names import name_bytes, name_text
from proctor.judge.consistency.subject import Subject, differs, place
from proctor.judge.record import PREFIX_BYTES
from proctor.record.problems import Problem
from proctor.record.trace.event import Event

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
    """A text that an event contains, such as a message to a model, has the size and digest beside it."""
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
