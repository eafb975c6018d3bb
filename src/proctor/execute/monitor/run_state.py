"""The state of a run that all breakers share.

Time, calls, rows of repeated starts, tree, cost and stage, folded from events. Pure.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from proctor.execute.monitor.breakers.interface import MOST_EVIDENCE
from proctor.execute.monitor.budget import Ledger
from proctor.execute.monitor.event_folds import AgentClock, AvailableCheckpoints, TreeState
from proctor.execute.monitor.payload_values import text
from proctor.execute.monitor.price_table import PriceTable
from proctor.execute.monitor.program_kinds import TEST
from proctor.execute.monitor.tool_calls_from_processes import PASSED, Calls
from proctor.record.trace.event import Event

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


COSTLY = frozenset({"agent.started", "model.usage", "monitor.sample", "guard.exec", "tool.invocation"})
"""The events after which the cost is looked at: those that raise it by more than their own record."""


class RunState:
    """The state that more than one breaker needs."""

    def __init__(
        self, table: PriceTable, call_depth: int = 1, test_commands: tuple[str, ...] = (), deep: bool = True
    ) -> None:
        self.clock = AgentClock()
        self.calls = Calls(call_depth, test_commands)
        self.tree = TreeState()
        self.rows = Rows(deep)
        self.checkpoints = AvailableCheckpoints()
        self.ledger = Ledger(table)
        self.stage = ""
        self.state_changed = False
        self.costly = False
        self.milestone: int | None = None
        self.known_outcomes = 0

    @property
    def running(self) -> bool:
        """Whether the agent is acting."""
        return self.clock.running

    def see(self, event: Event) -> None:
        """Take in one event."""
        was_running = self.clock.running
        self.clock.see(event)
        self.checkpoints.see(event)
        self.costly = event.type in COSTLY
        self.state_changed = False
        if was_running or self.clock.running:
            self.calls.see(event, self.clock.active_ns)
            self.state_changed = self.tree.see(event)
            self.rows.see(self.calls, self.state_changed, event.seq, self.clock.active_ns)
            self._outcomes(event)
        self.ledger.see(event, self.clock, self.calls)
        if event.type == "stage.changed":
            self.stage = text(event.payload, "to")

    def _outcomes(self, event: Event) -> None:
        """A milestone is a run of tests that passes while the tree differs from its base."""
        for work in self.calls.finished:
            if TEST in work.kinds:
                self.known_outcomes += work.outcome != "unknown"
                if work.outcome == PASSED and not self.tree.pristine and self.milestone is None:
                    self.milestone = event.seq
