"""Rows of repeated starts: programs that one process starts, all of them started before on the same tree. Pure.

A start is repeated when the same process has started the same words in the same directory before and the tree has not
changed since. A row is a sequence of repeated starts; a start that is new ends it. Tool calls form one row, and each
process inside a tool call has a row of its own, so a loop gives the same row at every depth of the process tree. With
``deep`` false (rules before ``thresholds-4``) only tool calls have one.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from proctor.execute.watch.breakers.interface import MOST_EVIDENCE
from proctor.execute.watch.calls import Calls

CALLS = 0
"""The starter of the tool calls themselves; processes inside them have numbers from 1 on."""

MOST_KEYS = 4096
"""How many different starts are remembered in one state; the oldest are forgotten first."""

MOST_ROWS = 1024
"""How many rows are remembered; those without a start for the longest time are forgotten first."""


class Tally:
    """Counts keys, and forgets the oldest when there are too many."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, list[int]] = OrderedDict()

    def add(self, key: str, seq: int) -> list[int]:
        """The events of ``key`` so far, this one included."""
        seqs = self._counts.setdefault(key, [])
        seqs.append(seq)
        if len(self._counts) > MOST_KEYS:
            self._counts.popitem(last=False)
        return seqs

    def clear(self) -> None:
        self._counts.clear()


class Row:
    """How many starts in a row were repeated, since when, and their last events."""

    __slots__ = ("length", "seqs", "since_ns", "starter")

    def __init__(self, starter: int) -> None:
        self.starter = starter
        self.length = 0
        self.since_ns = 0
        self.seqs: deque[int] = deque(maxlen=MOST_EVIDENCE - 1)

    @property
    def of_calls(self) -> bool:
        """Whether the starts are tool calls."""
        return self.starter == CALLS


class Rows:
    """The fold. After each event, ``latest`` are the rows in which that event was a start."""

    def __init__(self, deep: bool) -> None:
        self.latest: tuple[Row, ...] = ()
        self._deep = deep
        self._calls = Tally()
        self._below = Tally()
        self._rows: OrderedDict[int, Row] = OrderedDict()

    def see(self, calls: Calls, state_changed: bool, seq: int, now_ns: int) -> None:
        """Take in what one event did to the calls and to the tree; ``now_ns`` is the agent's own time."""
        if state_changed:
            self._calls.clear()
            self._below.clear()
            self._rows.clear()
        if self.latest:
            self.latest = ()
        for call in calls.started:
            self._add(CALLS, self._calls, call.key, seq, now_ns)
        for start in calls.below if self._deep else ():
            self._add(start.starter, self._below, f"{start.starter} {start.key}", seq, now_ns)

    def _add(self, starter: int, seen: Tally, key: str, seq: int, now_ns: int) -> None:
        row = self._rows.setdefault(starter, Row(starter))
        self._rows.move_to_end(starter)
        if len(seen.add(key, seq)) == 1:
            row.length = 0
            row.seqs.clear()
        else:
            if row.length == 0:
                row.since_ns = now_ns
            row.length += 1
            row.seqs.append(seq)
        self.latest += (row,)
        if len(self._rows) > MOST_ROWS:
            self._rows.popitem(last=False)
