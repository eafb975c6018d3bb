"""``proctor trace``: print the events of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import name_bytes
from proctor.cli.exit_codes import evidence_problem
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, one_line, printable, shortened
from proctor.cli.wiring import run_store
from proctor.judge.programs_by_tool_call import Cause, programs_of, shown_text
from proctor.record.retain import retention_of
from proctor.record.trace.event import Event, line_bytes
from proctor.record.trace.event_types import EVENT_TYPES
from proctor.record.trace.reader import read_up_to_break

CONVERSATION = (
    *("model.message", "tool.call", "guard.exec", "tool.result", "words.hit"),
    *("model.refused", "model.error", "model.diverged", "model.closed"),
)
"""The events of the conversation and of its effects."""

SHORT, LONG, FIELD = 160, 1000, 48
INDENT = " " * 8


@click.command(epilog="Example: proctor trace 20260307T120000 --type check.finished")
@click.argument("run", shell_complete=complete_runs)
@click.option("--type", "types", multiple=True, help="Only events of this type; can be given several times.")
@click.option("--conversation", is_flag=True, help="Only the conversation with the model and its effects, as text.")
@click.option("--full", is_flag=True, help="Print events completely, on several lines each.")
@as_json
def command(run: str, types: tuple[str, ...], conversation: bool, full: bool, json_: bool) -> None:
    """Print the events of a run.

    Each event gets one line, and long ones are shortened; --full prints them completely. For a run that was cut
    off, every finished event is printed.

    If the trace was changed, the events before the change are printed, then the change is reported. The exit code is 4
    for every run that was cut off or changed.

    A run in long-term retention still has all its events; payloads that were removed are marked.

    If the agent called a model, the line of each program ends with the tool call that caused it, and with the method
    that found the call: words, descent or order. Programs that match no tool call are left blank.
    """
    unknown = [name for name in types if name not in EVENT_TYPES]
    if unknown:
        raise UsageFault(f"there is no type of event {unknown[0]!r}", hint=", ".join(EVENT_TYPES))
    wanted = {*types, *(CONVERSATION if conversation else ())}
    found = run_store().find(run)
    act = retention_of(found)
    events, torn, problem = read_up_to_break(found.events, removed=act is not None)
    lines = found.events.read_bytes().splitlines(keepends=True) if act and json_ else []
    causes = {} if json_ or act else {program.event.seq: program.cause for program in programs_of(events)}
    first = int(events[0].t) if events else 0
    cut = shown = 0
    for event in events:
        if wanted and event.type not in wanted:
            continue
        shown += 1
        if json_:
            sys.stdout.buffer.write(lines[event.seq] if act else line_bytes(event))
            continue
        seconds = (int(event.t) - first) / 1e9
        most = None if full else LONG if conversation else SHORT
        short, is_whole = _words(event, most) if event.salt else ("(removed)", True)
        cut += not is_whole
        if event.seq in causes:
            short += f"  <- {_cause(causes[event.seq])}"
        click.echo(one_line(f"{event.seq:>5} {seconds:>9.3f}s {event.actor:<8} {event.type:<20} {short}".rstrip()))
        for line in _whole(event.payload, INDENT) if full and event.salt else ():
            click.echo(one_line(line))
    if cut:
        click.echo(f"{counted(cut, 'event')} shortened; --full prints them completely", err=True)
    if wanted and not shown:
        click.echo(f"none of the {counted(len(events), 'event')} of this run belongs to {_types(types)}", err=True)
    if act:
        message = f"the payloads of {act.events} events were removed by a retention act ({act})"
        click.echo(printable(message), err=True)
    if torn:
        click.echo(f"the last {torn} bytes are not a finished event", err=True)
    sys.stdout.flush()
    problem = problem or evidence_problem(found, live=True)
    if problem is not None:
        raise problem


def _types(types: Sequence[str]) -> str:
    """What was asked for, where no event is of it."""
    return f"the types {', '.join(types)}" if len(types) > 1 else f"the type {types[0]}" if types else "a conversation"


def _words(event: Event, most: int | None) -> tuple[str, bool]:
    """An event in one line, and whether it is complete: messages as text, everything else as its payload.

    Without a bound the line has no payload, because the full payload follows.
    """
    if most is None:
        return "", True
    payload = event.payload
    content = payload.get("arguments" if event.type == "tool.call" else "content")
    if event.type in ("model.message", "tool.call", "tool.result") and isinstance(content, dict):
        text, whole = shown_text(content)
        ending = "" if whole else f" [{content.get('bytes', '?')} bytes in all]"
        who = str(payload.get("role") or payload.get("name") or "?")
        # Quoted, so that no text can look like another line of the trace.
        quoted = json.dumps(shortened(text, most), ensure_ascii=False)
        return f"call {payload['call']} {who}: {quoted}{ending}", len(text) <= most
    text = json.dumps(dict(payload), ensure_ascii=False, sort_keys=True)
    return (text, True) if len(text) <= most else (beginning(payload, most), False)


def beginning(payload: Mapping[str, Any], most: int) -> str:
    """The first fields of a payload in at most that many characters: each is whole, or ends in dots after a word."""
    shown: list[str] = []
    left = most - len("{, ...}")
    for name, value in sorted(payload.items()):
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        if len(text) > FIELD and isinstance(value, str):
            text = json.dumps(shortened(value, FIELD), ensure_ascii=False)
        elif len(text) > FIELD:
            text = "[...]" if isinstance(value, list | tuple) else "{...}"
        field = f"{json.dumps(name, ensure_ascii=False)}: {text}"
        left -= len(field) + 2
        if left < 0:
            shown.append("...")
            break
        shown.append(field)
    return f"{{{', '.join(shown)}}}"


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
