"""What breakers know: the agent's time, its calls, the state of the tree, the cost and the stage, folded together.

:meth:`Facts.see` runs before any breaker sees the same event, so every breaker decides on the same facts. Calls and
changes count only while the agent acts; what acceptance runs is none of the agent's doing.
"""

from __future__ import annotations

from proctor.execute.watch.calls import PASSED, Calls
from proctor.execute.watch.clock import AgentClock
from proctor.execute.watch.kept import KeptCheckpoints
from proctor.execute.watch.ledger import Ledger
from proctor.execute.watch.prices import PriceTable
from proctor.execute.watch.program_rules import TEST
from proctor.execute.watch.readings import text
from proctor.execute.watch.rows import Rows
from proctor.execute.watch.tree import TreeState
from proctor.record.trace.event import Event

COSTLY = frozenset({"agent.started", "model.usage", "monitor.sample", "guard.exec", "tool.invocation"})
"""The events after which the cost is looked at: those that raise it by more than their own record."""


class Facts:
    """Everything that more than one breaker asks for."""

    def __init__(
        self, table: PriceTable, call_depth: int = 1, test_commands: tuple[str, ...] = (), deep: bool = True
    ) -> None:
        self.clock = AgentClock()
        self.calls = Calls(call_depth, test_commands)
        self.tree = TreeState()
        self.rows = Rows(deep)
        self.checkpoints = KeptCheckpoints()
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
