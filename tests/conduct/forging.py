"""Finished runs that say something else than what happened, and whose evidence holds together all the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import write_seal
from proctor.record.trace.reader import read_events
from proctor.record.trace.writer import TraceWriter

Edit = Callable[[Any], None]


def nothing(value: Any) -> None:
    """Changes nothing."""


class OldClock:
    """Says what time it was when each event was written first."""

    def __init__(self) -> None:
        self.now_ns = 0

    def wall_ns(self) -> int:
        return self.now_ns

    def steady_ns(self) -> int:
        return self.now_ns


def forge(directory: Path, *, manifest: Edit = nothing, event: Edit = nothing) -> None:
    """Write the run in ``directory`` anew: its manifest and every event pass through the edits, and all is resealed.

    ``event`` is handed ``{"type": ..., "payload": ...}``.
    """
    run = RunDirectory(directory)
    whole = parse(run.manifest.read_bytes())
    manifest(whole)
    run.manifest.write_bytes(canonical(whole))
    events = read_events(run.events)
    run.events.unlink()
    run.seal.unlink()
    clock = OldClock()
    trace = TraceWriter.create(run.events, clock, os.urandom)
    for one in events:
        clock.now_ns = int(one.t)
        value = {"type": one.type, "payload": parse(canonical(one.payload))}
        event(value)
        trace.append(one.type, value["payload"], one.actor)
    write_seal(run, trace)
