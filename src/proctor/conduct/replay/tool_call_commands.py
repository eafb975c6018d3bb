"""The commands that a model asked for, as they can be run again. Pure.

A command of the record follows from a tool call of the conversation: its program shows what the call asked for. What an
agent starts in addition (itself, its start-up, its snapshots, its way to read and to search) is not run again; its
changes are written from the recorded differences. For each tool call, the first of these that exists:

    the shell, or the program with its arguments, that was given exactly what the model asked for
    the same below another program, such as ``timeout`` or a sandbox of the agent's
    a shell whose text holds what the model asked for, with just that and without what the agent put around it
    another program that was given just that as one of its arguments
    a shell of its own, where the programs are parts of what the model asked for: the agent keeps one shell open
    a shell of its own, if a terminal got the input that the model asked for

The exit code is the one of the chosen program. It is not known in the last two cases, nor of a program that
was still running when the agent ended.

A result belongs to the call with its id. If an agent generates ids of its own (the Gemini dialect has none),
results belong to the calls in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.execute.monitor.payload_values import nanoseconds
from proctor.execute.monitor.program_kinds import SHELLS, program_name
from proctor.judge.programs_by_tool_call import (
    CONTAINED,
    DESCENT,
    WORDS,
    Asked,
    Program,
    ProgramArguments,
    asked_by_call,
    asked_by_message,
    command_by_call,
    command_by_message,
    evidence_of,
    is_part,
    is_same,
    programs_of,
)
from proctor.record.trace.event import Event

TERMINALS = {"tmux", "screen"}
"""Programs that type text into a shell which is open elsewhere: the text is run again, without them."""

UNKNOWN_NS = 1
"""The time of a command whose end was not seen: it may take the least that any command may."""

Whole = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the complete text of a part of a conversation."""

Line = str | tuple[str, ...] | None
"""What a model asked for: text for a shell, or a program and its arguments."""


@dataclass(frozen=True)
class AskedCommand:
    """One command; ``result`` is what the model got for the tool call, if it caused no other command."""

    seq: int
    argv: tuple[str, ...]
    directory: str
    exit_code: int | None
    at_ns: int
    wall_ns: int
    result: Mapping[str, Any] | None


def is_asked_for(program: Program) -> bool:
    """Whether a program shows what a model asked for, or was started by one that does."""
    return program.cause is not None and program.cause.how in (WORDS, DESCENT)


def asked_commands(events: Iterable[Event], whole: Whole) -> tuple[AskedCommand, ...]:
    """The commands of the tool calls in ``events``, in the order in which they were started."""
    events = tuple(events)
    starts, ends = _processes(events)
    results = _results(events)
    groups: dict[int, list[Program]] = {}
    for one in programs_of(events):
        if one.cause is not None and is_asked_for(one) and one.event.payload.get("allowed") is not False:
            groups.setdefault(one.cause.event.seq, []).append(one)
    found = []
    for seq, programs in groups.items():
        chosen = _chosen(programs, whole, starts)
        result = results.get(seq) if len(chosen) == 1 else None
        found += [_command(choice, ends, result) for choice in chosen]
    return tuple(sorted(found, key=lambda one: one.seq))


def _results(events: Iterable[Event]) -> dict[int, Mapping[str, Any]]:
    """The result that the model got of each tool call, by the event of the call."""
    found: dict[int, Mapping[str, Any]] = {}
    waiting: list[Event] = []
    for event in events:
        if event.type == "tool.call":
            waiting.append(event)
        elif event.type == "tool.result":
            name, tool = str(event.payload["id"]), str(event.payload["name"])
            by_id = [call for call in waiting if name and str(call.payload["id"]) == name]
            in_order = [call for call in waiting if tool in ("", str(call.payload["name"]))]
            call = next(iter(by_id or in_order), None)
            if call is not None:
                waiting.remove(call)
                found[call.seq] = event.payload["content"]
    return found


Choice = tuple[Event, tuple[str, ...], str, bool]
"""The event of a program, what is run for it and where, and whether its exit code is that of what is run."""


def _chosen(programs: list[Program], whole: Whole, starts: Mapping[int, Event]) -> list[Choice]:
    """What is run again of one tool call, of which ``programs`` came."""
    asked, line = _asked(programs[0], whole)
    for how in (WORDS, DESCENT):
        exact = [one.event for one in programs if _how(one) == how and _is_exact(line, _argv(one.event))]
        if exact:
            return [_as_it_was(event) for event in (exact if how == WORDS else exact[:1])]
    typed: list[Choice] = []
    for event in (one.event for one in programs if _how(one) == WORDS):
        program = ProgramArguments(_argv(event))
        if isinstance(line, str) and program_name(program.argv) in TERMINALS:
            typed.append(_in_a_shell(event, line, starts))
            continue
        if _is_shell(program.argv) and isinstance(line, str) and line in program.argv[-1]:
            return [(event, (*program.argv[:-1], line), _directory(event), True)]
        if is_same(asked, program) and (line is None or program.line not in asked.parts):
            return [_as_it_was(event)]
        if isinstance(line, str) and is_part(asked, program):
            return [_in_a_shell(event, line, starts)]
        if line is None and evidence_of(asked, program) >= CONTAINED:
            return [_as_it_was(event)]
    return typed[:1]


def _asked(program: Program, whole: Whole) -> tuple[Asked, Line]:
    assert program.cause is not None
    payload = program.cause.event.payload
    if program.cause.event.type == "tool.call":
        arguments = whole(payload["arguments"])
        return asked_by_call(arguments), command_by_call(arguments)
    content = whole(payload["content"])
    return asked_by_message(content), command_by_message(content)


def _is_exact(line: Line, argv: tuple[str, ...]) -> bool:
    """Whether a program was given what was asked for and nothing else."""
    if isinstance(line, str):
        return _is_shell(argv) and argv[-1].strip() == line
    return line is not None and (program_name(argv), argv[1:]) == (program_name(line), line[1:])


def _is_shell(argv: Iterable[str]) -> bool:
    """Whether a program is a shell with a text to run as its last argument."""
    argv = tuple(argv)
    before = argv[1:-1]
    takes_text = [place for place, word in enumerate(before) if re.fullmatch("-[a-zA-Z]*c[a-zA-Z]*", word)]
    if program_name(argv) not in SHELLS or not takes_text:
        return False
    return all(word.startswith("-") for word in before[takes_text[0] :])


def _as_it_was(event: Event) -> Choice:
    return event, _argv(event), _directory(event), True


def _in_a_shell(event: Event, text: str, starts: Mapping[int, Event]) -> Choice:
    """Text for the shell that had started a program; if the text changes the directory, from where that shell began."""
    above = starts.get(int(event.payload.get("origin") or event.payload["parent"]))
    is_below_shell = above is not None and program_name(_argv(above)) in SHELLS
    shell = _argv(above)[0] if above is not None and is_below_shell else "/bin/sh"
    moves = above is not None and "cd " in text
    return event, (shell.removeprefix("-"), "-c", text), _directory(above if above and moves else event), False


def _processes(events: Iterable[Event]) -> tuple[dict[int, Event], dict[int, Event]]:
    """The first program of each process, by its number; and the end of the process of each program, by its event."""
    starts: dict[int, Event] = {}
    ends: dict[int, Event] = {}
    running: dict[int, list[int]] = {}
    for event in events:
        if event.type == "agent.rested":
            break  # what runs on after its agent is ended by the harness
        if event.type == "guard.exec":
            starts.setdefault(event.payload["pid"], event)
            running.setdefault(event.payload["pid"], []).append(event.seq)
        elif event.type == "guard.exit":
            for seq in running.pop(event.payload["pid"], ()):
                ends[seq] = event
    return starts, ends


def _command(choice: Choice, ends: Mapping[int, Event], result: Mapping[str, Any] | None) -> AskedCommand:
    event, argv, directory, sure = choice
    end = ends.get(event.seq)
    return AskedCommand(
        seq=event.seq,
        argv=argv,
        directory=directory,
        exit_code=end.payload["exit_code"] if end is not None and sure else None,
        at_ns=int(event.payload.get("at", event.t)),
        wall_ns=(nanoseconds(end.payload, "wall_seconds") or 0) if end is not None else UNKNOWN_NS,
        result=result,
    )


def _how(program: Program) -> str:
    return program.cause.how if program.cause is not None else ""


def _argv(event: Event) -> tuple[str, ...]:
    return tuple(event.payload["argv"])


def _directory(event: Event) -> str:
    return str(event.payload["cwd"])
