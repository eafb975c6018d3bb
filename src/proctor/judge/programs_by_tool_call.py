"""Which tool call caused which program: what a model asked for, compared with the programs that the guard saw start.
Pure.

The gateway and the guard record independently, without a common id, so a match is a finding with a reason:

    words     the program was given what the call asked for, or is a part of it
    descent   it was started by a program that is matched by words, or took its place
    order     it started while the call was open, and nothing else connects them

What the harness itself starts inside (``parent`` is 1 and nothing is its ``origin``: it keeps an agent's notes, or does
what an agent asks of it) and a command in a plain message are matched by words or not at all. A process
that was forked and left behind has the parent 1, too, and descends from its origin, also after that one's end.

A call is open from its answer to the request that brings its result. The guard reports late and in batches, so the time
that counts is the one at which it saw a program. A program without a match has no cause.

The arguments of a call are as recorded: the whole text, its beginning, or nothing (a hidden text).
Every agent names its arguments as it likes; those that usually hold a command weigh more than all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.monitor.payload_values import integer, moment_ns, text, text_list
from proctor.execute.monitor.program_kinds import SHELLS, commands_of, program_name
from proctor.record.trace.event import Event

SAME, CONTAINED, PART, NOTHING = 3, 2, 1, 0
"""The program was given exactly this; with something around it; it is a part of this; none of these."""

_COMMANDS = ("command", "cmd", "commands", "script", "cmdline", "keystrokes", "code")
_SHORTEST = 4
"""Characters of a text below which being contained in another says nothing."""

_FENCED = re.compile(r"^```[^\n`]{0,60}\n(.{1,20000}?)^```", re.DOTALL | re.MULTILINE)
_BEGUN = re.compile(r'"(?:' + "|".join(_COMMANDS) + r')"\s{0,4}:\s{0,4}"((?:[^"\\]|\\.){20,})$', re.DOTALL)
_MOST_TEXTS = 64
_MOST_DEPTH = 50


Line = tuple[str, tuple[str, ...]]
"""The name of a program without its directory, and its arguments."""


@dataclass(frozen=True)
class Asked:
    """What is asked for: full texts and command lines, their parts, and texts without a command."""

    texts: frozenset[str]
    lines: frozenset[Line]
    parts: frozenset[Line]
    inner: tuple[str, ...]
    others: tuple[str, ...]


class ProgramArguments:
    """The arguments of a program, prepared for the search."""

    __slots__ = ("argv", "line", "texts")

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = argv
        self.line = _line(argv)
        shortest = 1 if program_name(argv) in SHELLS else _SHORTEST
        self.texts = frozenset(text for word in argv if len(text := word.strip()) >= shortest)


def shown_text(content: Mapping[str, Any]) -> tuple[str, bool]:
    """A text of a conversation as far as a record shows it, and whether that is all of it."""
    if "text" in content:
        return str(content["text"]), True
    if "shown" in content:
        text, whole = shown_text(content["shown"])
        return text, whole and not content.get("spans")
    return str(content.get("prefix", "")), False


def asked_by_call(arguments: Mapping[str, Any]) -> Asked:
    """The request in the arguments of a tool call."""
    text, whole = shown_text(arguments)
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError:
        begun = None if whole else _BEGUN.search(text)
        return _asked([text] if whole else [_unescaped(begun[1])] if begun else [])
    if not isinstance(values, dict):
        values = {"command": values}
    texts: list[str] = []
    lists: list[tuple[str, ...]] = []
    others: list[str] = []
    for name, value in values.items():
        if name not in _COMMANDS:
            others += _texts(value)
        elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            lists.append(tuple(value))
            texts += [word for word in value if " " in word.strip()]
        else:
            texts += _texts(value)
    return _asked(texts, lists, others)


def command_by_call(arguments: Mapping[str, Any]) -> str | tuple[str, ...] | None:
    """The one command that a tool call asks for, as text for a shell or as arguments; nothing if it is not known."""
    text, whole = shown_text(arguments)
    try:
        values = orjson.loads(text) if whole else None
    except orjson.JSONDecodeError:
        return None
    if not isinstance(values, dict):
        values = {"command": values}
    for name in _COMMANDS:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return tuple(value)
    return None


def command_by_message(content: Mapping[str, Any]) -> str | None:
    """The one block of code in a message; nothing where there are more or none, or where the text is not all here."""
    text, whole = shown_text(content)
    blocks = [found[1].strip() for found in _FENCED.finditer(text)] if whole else []
    return blocks[0] if len(blocks) == 1 and blocks[0] else None


def asked_by_message(content: Mapping[str, Any]) -> Asked:
    """The request in a message without tool calls: its code blocks, for agents that run those."""
    return _asked([found[1] for found in _FENCED.finditer(shown_text(content)[0])])


def _asked(texts: list[str], lists: Sequence[tuple[str, ...]] = (), others: Sequence[str] = ()) -> Asked:
    kept = [text.strip() for text in texts[:_MOST_TEXTS] if text.strip()]
    lines = [*(("sh", "-c", text) for text in kept), *lists]
    parts = frozenset(_line(command) for line in lines for command, _ in commands_of(line))
    return Asked(
        texts=frozenset(kept),
        lines=frozenset(map(_line, lists)) | (parts if len(parts) == 1 else frozenset()),
        parts=parts,
        inner=(*kept, *(argv[-1].strip() for argv in lists if program_name(argv) in SHELLS)),
        others=tuple(text.strip() for text in others[:_MOST_TEXTS] if len(text.strip()) >= _SHORTEST),
    )


def is_part(asked: Asked, program: ProgramArguments) -> bool:
    """Whether a program is one of the simple commands of what is asked for."""
    return program.line in asked.parts


def is_same(asked: Asked, program: ProgramArguments) -> bool:
    """Whether a program was given exactly what is asked for."""
    return program.line in asked.lines or not asked.texts.isdisjoint(program.texts)


def evidence_of(asked: Asked, program: ProgramArguments) -> int:
    """How strongly the arguments of a program suggest that it was asked for."""
    if is_same(asked, program):
        return SAME
    if is_part(asked, program):
        return PART
    if any(_holds(word, text) for text in asked.inner for word in program.argv):
        return CONTAINED
    return PART if any(_holds(word, text) for text in asked.others for word in program.argv) else NOTHING


def _line(argv: Sequence[str]) -> Line:
    return program_name(argv), tuple(argv[1:])


def _holds(word: str, text: str) -> bool:
    """Whether ``text`` is in ``word`` as a separate part, not inside a longer name."""
    place = word.find(text) if len(text) >= _SHORTEST else -1
    while place >= 0:
        around = word[place - 1 : place] + word[place + len(text) :][:1]
        if not any(mark.isalnum() or mark in "_-./" for mark in around):
            return True
        place = word.find(text, place + 1)
    return False


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _MOST_DEPTH:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner, depth + 1)


def _unescaped(begun: str) -> str:
    """The text of a JSON string whose end is missing."""
    for cut in range(6):
        try:
            return str(orjson.loads(f'"{begun[: len(begun) - cut]}"'))
        except orjson.JSONDecodeError:
            continue
    return ""


WORDS, DESCENT, ORDER = "words", "descent", "order"

_HARNESS = 1
"""The process through which the harness starts programs."""

_SOMEBODY = object()
_MOST_LIVE = 65_536
_MOST_ENDED = 8_192
_MOST_SILENT = 16
"""The most calls that are kept although no program matched them while they were open."""

_LATEST_NS = 60 * 10**9
"""More than the delay of any guard."""

_NEVER = 1 << 80


@dataclass(frozen=True)
class Cause:
    """Why a program started: the event of a tool call (or of a message with a command in it), and how that shows."""

    event: Event
    how: str


@dataclass(frozen=True)
class Program:
    """A program that the guard saw start after the model was first asked; without a cause where nothing matches."""

    event: Event
    cause: Cause | None


class _Request:
    """A tool call while programs are matched."""

    __slots__ = ("asked", "asked_ns", "closed_ns", "event", "is_call", "known_ns", "shown", "used")

    def __init__(self, event: Event, asked: Asked, asked_ns: int) -> None:
        self.event = event
        self.asked = asked
        self.asked_ns = asked_ns
        self.known_ns = moment_ns(event.t)
        self.closed_ns = _NEVER
        self.is_call = event.type == "tool.call"
        self.used = self.shown = False
        """Whether a program is matched to it, and whether one is by ``words``."""


def programs_of(events: Iterable[Event]) -> tuple[Program, ...]:
    """The programs of the agent that started after the model was first asked, in the order in which the guard saw."""
    recorded = list(events_while_agent_runs(events))
    requests = _requests(recorded)
    first = next((moment_ns(event.t) for event in recorded if event.type == "model.request"), _NEVER)
    matching = _Matching(requests)
    return tuple(found for event in recorded if (found := matching.see(event, first)) is not None)


def events_while_agent_runs(events: Iterable[Event]) -> Iterator[Event]:
    """The events up to the end of the agent."""
    for event in events:
        if event.type == "agent.finished":
            return
        yield event


def _requests(events: list[Event]) -> list[_Request]:
    """Everything that a model asked for, with the time in which it was open."""
    found: list[_Request] = []
    by_id: dict[str, _Request] = {}
    unanswered: list[_Request] = []
    request_ns: dict[int, int] = {}
    for event in events:
        payload = event.payload
        number = integer(payload, "call") or 0
        if event.type == "model.request":
            request_ns[number] = moment_ns(event.t)
            for request in unanswered:
                request.closed_ns = min(request.closed_ns, moment_ns(event.t))
            unanswered.clear()
        elif event.type == "tool.result" and text(payload, "id") in by_id:
            by_id.pop(text(payload, "id")).closed_ns = request_ns.get(number, moment_ns(event.t))
        elif event.type == "tool.call" or _is_command(event):
            is_call = event.type == "tool.call"
            asked = asked_by_call(payload["arguments"]) if is_call else asked_by_message(payload["content"])
            request = _Request(event, asked, request_ns.get(number, moment_ns(event.t)))
            if is_call or asked.inner:
                found.append(request)
                unanswered.append(request)
            if is_call and text(payload, "id"):
                by_id[text(payload, "id")] = request
    return found


def _is_command(event: Event) -> bool:
    """Whether an event is an answer that may contain a command as plain text."""
    spoken = event.type == "model.message" and text(event.payload, "role") == "assistant"
    return spoken and not integer(event.payload, "tool_calls")


def _started_ns(event: Event) -> int:
    """When a program started, by the guard's clock if that can be right."""
    recorded, seen = moment_ns(event.t), moment_ns(text(event.payload, "at"))
    return seen if recorded - _LATEST_NS <= seen <= recorded else recorded


class _Matching:
    """Goes through the programs once, and remembers why each live process is there."""

    def __init__(self, requests: list[_Request]) -> None:
        self._coming = sorted(requests, key=lambda request: (request.asked_ns, request.event.seq))
        self._next = 0
        self._open: list[_Request] = []
        self._silent: list[_Request] = []
        self._why: dict[int, tuple[_Request, str] | None] = {}
        """Why each live process is there; nothing for those of the harness."""
        self._ended: dict[int, tuple[_Request, str] | None] = {}
        """The same for those that have ended: processes that they left behind may still start programs."""
        self._now = 0

    def see(self, event: Event, first_ns: int) -> Program | None:
        """The program of an event, if it started at ``first_ns`` or later."""
        pid = integer(event.payload, "pid") or 0
        if event.type == "guard.exit" and pid in self._why:
            self._ended[pid] = self._why.pop(pid)
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
        if event.type != "guard.exec":
            return None
        self._now = max(self._now, _started_ns(event))
        if self._now < first_ns:
            return None
        self._turn_to(self._now)
        why = self._cause(event, pid)
        if why is not None or self._is_foreign(event):
            self._remember(pid, why)
        else:
            self._why.pop(pid, None)
            self._ended.pop(pid, None)
        if why is None:
            return Program(event, None)
        request, how = why
        request.used = True
        request.shown = request.shown or how == WORDS
        return Program(event, Cause(request.event, how))

    def _is_foreign(self, event: Event) -> bool:
        """Whether the harness started a program, or what it started did."""
        origin, parent = integer(event.payload, "origin") or 0, integer(event.payload, "parent") or 0
        if origin:
            return self._why.get(origin, self._ended.get(origin, _SOMEBODY)) is None
        return parent == _HARNESS or self._why.get(parent, _SOMEBODY) is None

    def _remember(self, pid: int, why: tuple[_Request, str] | None) -> None:
        self._ended.pop(pid, None)
        if pid not in self._why and len(self._why) >= _MOST_LIVE:
            del self._why[next(iter(self._why))]
        self._why[pid] = why

    def _turn_to(self, now: int) -> None:
        while self._next < len(self._coming) and self._coming[self._next].asked_ns <= now:
            self._open.append(self._coming[self._next])
            self._next += 1
        if any(request.closed_ns < now for request in self._open):
            silent = [request for request in self._open if request.closed_ns < now and not request.shown]
            self._silent = [*self._silent, *silent][-_MOST_SILENT:]
            self._open = [request for request in self._open if request.closed_ns >= now]

    def _cause(self, event: Event, pid: int) -> tuple[_Request, str] | None:
        origin, parent = integer(event.payload, "origin") or 0, integer(event.payload, "parent") or 0
        near = self._why.get(origin, self._ended.get(origin)) if origin else self._why.get(parent)
        above = self._why.get(pid) or near
        if above is not None and above[1] != ORDER:
            return above[0], DESCENT
        matched = self._by_arguments(ProgramArguments(text_list(event.payload, "argv")))
        if matched is not None:
            return matched, WORDS
        if above is not None and above[0] in self._open:
            return above
        known = [request for request in self._open if request.known_ns <= self._now and request.is_call]
        if not known or self._is_foreign(event):
            return None
        return next((request for request in known if not request.used), known[-1]), ORDER

    def _by_arguments(self, argv: ProgramArguments) -> _Request | None:
        """The open call that best matches the program; else an unmatched one that asked for exactly this."""
        best, most = None, (NOTHING, False, False)
        for request in self._open:
            weight = evidence_of(request.asked, argv), request.is_call, not request.shown
            if weight[0] > NOTHING and weight > most:
                best, most = request, weight
        if best is not None:
            return best
        for request in self._silent:
            if not request.shown and is_same(request.asked, argv):
                return request
        return None
