"""``proctor trace``: print the events of a run."""

from __future__ import annotations

import json
import sys

import click

from proctor.cli.output import as_json, printable


@click.command(epilog="Example: proctor trace 20260307T120000 --type check.finished")
@click.argument("run")
@click.option("--type", "types", multiple=True, help="Only events of this type; may be given more than once.")
@as_json
def command(run: str, types: tuple[str, ...], json_: bool) -> None:
    """Print what happened in RUN, in order. A run that was cut off shows every event that was finished."""
    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import shelf
    from proctor.record.trace.event import line_bytes
    from proctor.record.trace.read import read_finished_events
    from proctor.record.trace.types import EVENT_TYPES

    unknown = [name for name in types if name not in EVENT_TYPES]
    if unknown:
        raise UsageFault(f"there is no type of event {unknown[0]!r}", hint=", ".join(EVENT_TYPES))
    found = shelf().find(run)
    events, torn = read_finished_events(found.events)
    first = int(events[0].t) if events else 0
    for event in events:
        if types and event.type not in types:
            continue
        if json_:
            sys.stdout.buffer.write(line_bytes(event))
            continue
        seconds = (int(event.t) - first) / 1e9
        payload = json.dumps(dict(event.payload), ensure_ascii=False, sort_keys=True)
        short = payload if len(payload) <= 160 else payload[:157] + "..."
        click.echo(printable(f"{event.seq:>5} {seconds:>9.3f}s {event.actor:<8} {event.type:<20} {short}"))
    if torn:
        click.echo(f"the last {torn} bytes are not a finished event", err=True)
