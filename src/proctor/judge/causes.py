"""Which tool call caused which program: what a model asked for, beside what the guard saw start. Pure.

The gateway and the guard are two witnesses with no word in common, so a match is a finding, and says what it rests on:

    words     the program was given what the call asked for, or is a part of it
    descent   it was started by a program that is matched by words, or took its place
    order     it started while the call was open, and nothing else connects them

What the harness itself starts inside (``parent`` is 1 and nothing is its ``origin``: it keeps an agent's notes, or does
what an agent asks of it) and a command that stands in a plain message are matched by words or not at all. A process
that was forked and left behind has the parent 1, too, and descends from its origin, also after that one's end.

A call is open from its answer to the request that brings its result. The guard tells late and in batches, so the time
that counts is the one at which it saw a program. A program that matches nothing stays without a cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proctor.execute.watch.readings import integer, moment_ns, text, words
from proctor.judge.asking import NOTHING, Asked, Words, asked_by_call, asked_by_message, evidence_of, is_same
from proctor.record.trace.event import Event

WORDS, DESCENT, ORDER = "words", "descent", "order"

_HARNESS = 1
"""The process through which the harness starts programs."""

_SOMEBODY = object()
_MOST_LIVE = 65_536
_MOST_ENDED = 8_192
_MOST_SILENT = 16
"""How many calls are kept that no words spoke for while they were open."""

_LATEST_NS = 60 * 10**9
"""More than any guard takes to tell what it saw."""

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


class _Wish:
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
        """Whether a program is matched to it, and whether one is by words."""


def programs_of(events: Iterable[Event]) -> tuple[Program, ...]:
    """The programs of the agent that started after the model was first asked, in the order in which the guard saw."""
    told = list(while_acting(events))
    wishes = _wishes(told)
    first = next((moment_ns(event.t) for event in told if event.type == "model.request"), _NEVER)
    matching = _Matching(wishes)
    return tuple(found for event in told if (found := matching.see(event, first)) is not None)


def while_acting(events: Iterable[Event]) -> Iterator[Event]:
    """The events up to the end of the agent."""
    for event in events:
        if event.type == "agent.finished":
            return
        yield event


def _wishes(events: list[Event]) -> list[_Wish]:
    """Everything that a model asked for, with the time in which it was open."""
    found: list[_Wish] = []
    by_id: dict[str, _Wish] = {}
    unanswered: list[_Wish] = []
    request_ns: dict[int, int] = {}
    for event in events:
        payload = event.payload
        number = integer(payload, "call") or 0
        if event.type == "model.request":
            request_ns[number] = moment_ns(event.t)
            for wish in unanswered:
                wish.closed_ns = min(wish.closed_ns, moment_ns(event.t))
            unanswered.clear()
        elif event.type == "tool.result" and text(payload, "id") in by_id:
            by_id.pop(text(payload, "id")).closed_ns = request_ns.get(number, moment_ns(event.t))
        elif event.type == "tool.call" or _is_command(event):
            is_call = event.type == "tool.call"
            asked = asked_by_call(payload["arguments"]) if is_call else asked_by_message(payload["content"])
            wish = _Wish(event, asked, request_ns.get(number, moment_ns(event.t)))
            if is_call or asked.inner:
                found.append(wish)
                unanswered.append(wish)
            if is_call and text(payload, "id"):
                by_id[text(payload, "id")] = wish
    return found


def _is_command(event: Event) -> bool:
    """Whether an event is an answer in which a command may stand as plain text."""
    spoken = event.type == "model.message" and text(event.payload, "role") == "assistant"
    return spoken and not integer(event.payload, "tool_calls")


def _started_ns(event: Event) -> int:
    """When a program started, by the guard's clock if that can be right."""
    told, seen = moment_ns(event.t), moment_ns(text(event.payload, "at"))
    return seen if told - _LATEST_NS <= seen <= told else told


class _Matching:
    """Goes through the programs once, and remembers why each live process is there."""

    def __init__(self, wishes: list[_Wish]) -> None:
        self._coming = sorted(wishes, key=lambda wish: (wish.asked_ns, wish.event.seq))
        self._next = 0
        self._open: list[_Wish] = []
        self._silent: list[_Wish] = []
        self._why: dict[int, tuple[_Wish, str] | None] = {}
        """Why each live process is there; nothing for those of the harness."""
        self._ended: dict[int, tuple[_Wish, str] | None] = {}
        """The same of those that have ended: what they left behind may start programs still."""
        self._now = 0

    def see(self, event: Event, first_ns: int) -> Program | None:
        """The program that an event tells of, if it started at ``first_ns`` or later."""
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
        wish, how = why
        wish.used = True
        wish.shown = wish.shown or how == WORDS
        return Program(event, Cause(wish.event, how))

    def _is_foreign(self, event: Event) -> bool:
        """Whether the harness started a program, or what it started did."""
        origin, parent = integer(event.payload, "origin") or 0, integer(event.payload, "parent") or 0
        if origin:
            return self._why.get(origin, self._ended.get(origin, _SOMEBODY)) is None
        return parent == _HARNESS or self._why.get(parent, _SOMEBODY) is None

    def _remember(self, pid: int, why: tuple[_Wish, str] | None) -> None:
        self._ended.pop(pid, None)
        if pid not in self._why and len(self._why) >= _MOST_LIVE:
            del self._why[next(iter(self._why))]
        self._why[pid] = why

    def _turn_to(self, now: int) -> None:
        while self._next < len(self._coming) and self._coming[self._next].asked_ns <= now:
            self._open.append(self._coming[self._next])
            self._next += 1
        if any(wish.closed_ns < now for wish in self._open):
            silent = [wish for wish in self._open if wish.closed_ns < now and not wish.shown]
            self._silent = [*self._silent, *silent][-_MOST_SILENT:]
            self._open = [wish for wish in self._open if wish.closed_ns >= now]

    def _cause(self, event: Event, pid: int) -> tuple[_Wish, str] | None:
        origin, parent = integer(event.payload, "origin") or 0, integer(event.payload, "parent") or 0
        near = self._why.get(origin, self._ended.get(origin)) if origin else self._why.get(parent)
        above = self._why.get(pid) or near
        if above is not None and above[1] != ORDER:
            return above[0], DESCENT
        by_words = self._by_words(Words(words(event.payload, "argv")))
        if by_words is not None:
            return by_words, WORDS
        if above is not None and above[0] in self._open:
            return above
        known = [wish for wish in self._open if wish.known_ns <= self._now and wish.is_call]
        if not known or self._is_foreign(event):
            return None
        return next((wish for wish in known if not wish.used), known[-1]), ORDER

    def _by_words(self, argv: Words) -> _Wish | None:
        """The open call that speaks most for the program; else one that none spoke for and that asked for just this."""
        best, most = None, (NOTHING, False, False)
        for wish in self._open:
            weight = evidence_of(wish.asked, argv), wish.is_call, not wish.shown
            if weight[0] > NOTHING and weight > most:
                best, most = wish, weight
        if best is not None:
            return best
        for wish in self._silent:
            if not wish.shown and is_same(wish.asked, argv):
                return wish
        return None
