"""``proctor trace``: print the events of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from proctor.base.names import name_bytes
from proctor.cli.evidence import evidence_problem
from proctor.cli.output import as_json, counted, one_line, printable

if TYPE_CHECKING:
    from proctor.judge.causes import Cause
    from proctor.record.trace.event import Event

CONVERSATION = (
    *("model.message", "tool.call", "guard.exec", "tool.result", "words.hit"),
    *("model.refused", "model.error", "model.diverged", "model.closed"),
)
"""The events that tell what was said and what came of it."""

SHORT, LONG = 160, 1000
INDENT = " " * 8


@click.command(epilog="Example: proctor trace 20260307T120000 --type check.finished")
@click.argument("run")
@click.option("--type", "types", multiple=True, help="Only events of this type; may be given more than once.")
@click.option("--conversation", is_flag=True, help="Only what was said with the model and what came of it, in words.")
@click.option("--full", is_flag=True, help="Print events whole, on several lines each; diffs and logs can be read.")
@as_json
def command(run: str, types: tuple[str, ...], conversation: bool, full: bool, json_: bool) -> None:
    """Print what happened in RUN, in order. A run that was cut off shows every event that was finished.

    Each event gets one line, and long ones are shortened; --full prints all of them whole.

    If the trace was changed, the events before the change are shown, then the change is named. The exit code is 4 for
    every run that was cut off or changed.

    Of a run in long-term retention every event is shown, and a payload that was removed is called so.

    Where the agent talked to a model, each program is followed by the tool call that caused it, and by how the call was
    found: words, descent or order. Programs that match no tool call are left blank.
    """
    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import shelf
    from proctor.judge.causes import programs_of
    from proctor.record.retain import retention_of
    from proctor.record.trace.event import line_bytes
    from proctor.record.trace.read import read_up_to_break
    from proctor.record.trace.types import EVENT_TYPES

    unknown = [name for name in types if name not in EVENT_TYPES]
    if unknown:
        raise UsageFault(f"there is no type of event {unknown[0]!r}", hint=", ".join(EVENT_TYPES))
    wanted = {*types, *(CONVERSATION if conversation else ())}
    found = shelf().find(run)
    act = retention_of(found)
    events, torn, problem = read_up_to_break(found.events, removed=act is not None)
    lines = found.events.read_bytes().splitlines(keepends=True) if act and json_ else []
    causes = {} if json_ or act else {program.event.seq: program.cause for program in programs_of(events)}
    first = int(events[0].t) if events else 0
    shortened = 0
    for event in events:
        if wanted and event.type not in wanted:
            continue
        if json_:
            sys.stdout.buffer.write(lines[event.seq] if act else line_bytes(event))
            continue
        seconds = (int(event.t) - first) / 1e9
        most = None if full else LONG if conversation else SHORT
        short, is_whole = _words(event, most) if event.salt else ("(removed)", True)
        shortened += not is_whole
        if event.seq in causes:
            short += f"  <- {_cause(causes[event.seq])}"
        click.echo(printable(f"{event.seq:>5} {seconds:>9.3f}s {event.actor:<8} {event.type:<20} {short}".rstrip()))
        for line in _whole(event.payload, INDENT) if full and event.salt else ():
            click.echo(one_line(line))
    if shortened:
        click.echo(f"{counted(shortened, 'event')} shortened; --full prints them whole", err=True)
    if act:
        words = f"the payloads of {act.events} events were removed by a retention act ({act})"
        click.echo(printable(words), err=True)
    if torn:
        click.echo(f"the last {torn} bytes are not a finished event", err=True)
    sys.stdout.flush()
    problem = problem or evidence_problem(found, live=True)
    if problem is not None:
        raise problem


def _words(event: Event, most: int | None) -> tuple[str, bool]:
    """An event in one line, and whether that is all: what was said as text, everything else as its payload.

    Without a bound nothing is said here, because the whole payload follows.
    """
    if most is None:
        return "", True
    from proctor.judge.asking import shown_text

    payload = event.payload
    content = payload.get("arguments" if event.type == "tool.call" else "content")
    if event.type in ("model.message", "tool.call", "tool.result") and isinstance(content, dict):
        text, whole = shown_text(content)
        ending = "" if whole else f" [{content.get('bytes', '?')} bytes in all]"
        who = str(payload.get("role") or payload.get("name") or "?")
        # Quoted, so that no text can look like another line of the trace.
        said = json.dumps(text[:most], ensure_ascii=False) + ("..." if len(text) > most else "")
        return f"call {payload['call']} {who}: {said}{ending}", len(text) <= most
    text = json.dumps(dict(payload), ensure_ascii=False, sort_keys=True)
    return (text, True) if len(text) <= most else (text[: most - 3] + "...", False)


def _whole(value: Any, indent: str) -> Iterator[str]:
    """A payload on lines of its own. Lines of a text begin with a bar, so that none can look like an event."""
    named = sorted(value.items()) if isinstance(value, Mapping) else (("-", one) for one in value)
    for name, one in named:
        if name == "prefix" and isinstance(one, str):  # of what a program printed
            with suppress(ValueError):
                one = name_bytes(one).decode("utf-8", "replace")
        name = name if name == "-" else f"{name}:"
        if isinstance(one, str) and "\n" in one:
            yield f"{indent}{name}"
            yield from (f"{indent}  | {line}" for line in one.split("\n"))
        elif isinstance(one, (Mapping, list, tuple)) and one:
            yield f"{indent}{name}"
            yield from _whole(one, f"{indent}  ")
        else:
            yield f"{indent}{name} {json.dumps(one, ensure_ascii=False)}"


def _cause(cause: Cause | None) -> str:
    return "nothing" if cause is None else f"#{cause.event.seq} by {cause.how}"
