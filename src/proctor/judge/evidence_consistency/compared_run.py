"""The input of the comparisons in this package, and how they report that two values differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import canonical
from proctor.judge.run_evidence import Evidence
from proctor.record.run_directory import Problem
from proctor.record.trace.event import Event

RESULTS, CHANGES = "acceptance/results.json", "workspace/changes.json"


@dataclass(frozen=True)
class Subject:
    """One intact run: its evidence, the sealed files with their digests and sizes, and how to read one of them.

    If the run is ``redacted``, text and digests are not those of the originals.
    """

    evidence: Evidence
    digests: Mapping[str, str]
    sizes: Mapping[str, int]
    read: Callable[[str], bytes]
    redacted: bool = False


Comparison = Callable[[Subject], Iterator[Problem]]


def differs(where: str, field: str, found: Any, expected: Any, source: str) -> Iterator[Problem]:
    """A problem unless the two are the same JSON value."""
    if canonical(found) != canonical(expected):
        yield Problem(where, f"{field} is {_short(found)}, and {source} gives {_short(expected)}")


def common(
    where: str, found: Mapping[str, Any], expected: Mapping[str, Any], source: str, prefix: str = ""
) -> Iterator[Problem]:
    """Problems for the common fields that differ; an earlier Proctor wrote fewer fields."""
    for name in expected:
        if name in found:
            yield from differs(where, prefix + name, found[name], expected[name], source)


def place(event: Event) -> str:
    """Where an event is."""
    return f"events.jsonl#{event.seq}"


def _short(value: Any) -> str:
    text = canonical(value).decode()
    return text if len(text) <= 100 else text[:100] + "..."
