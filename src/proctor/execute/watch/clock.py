"""The agent's own time, folded from the times of events.

Time runs from ``agent.started`` to ``agent.rested``, or to ``agent.finished`` in traces without it. Opening and closing
the sandbox are not the agent's time. While an operator is asked, between a pause and its resume, and while a process
outside Proctor keeps the sandbox frozen, the time is not the agent's. Neither is the time in which the provider of its
model is silent, from ``model.silent`` to ``model.heard``; it is counted apart. A throttle's delay is the agent's time:
it is the price of a burst.
"""

from __future__ import annotations

from proctor.execute.watch.readings import moment_ns, text
from proctor.record.trace.event import Event


class AgentClock:
    """How long the agent has been acting, up to the last event that was seen."""

    def __init__(self) -> None:
        self.running = False
        self.active_ns = 0
        self.paused_ns = 0
        self.waited_ns = 0
        """How long the provider of the model was silent."""
        self._last = 0
        self._asked = False
        self._held = False
        self._outside = False
        self._waits = False
        self._rested = False

    @property
    def paused(self) -> bool:
        """Whether the run stands still at this moment."""
        return self._asked or self._held or self._outside

    def see(self, event: Event) -> None:
        """Let time pass up to ``event``, then take in what it says."""
        now = max(moment_ns(event.t), self._last)
        if self.running and not self._rested:
            if self.paused:
                self.paused_ns += now - self._last
            elif self._waits:
                self.waited_ns += now - self._last
            else:
                self.active_ns += now - self._last
        self._last = now
        kind = event.type
        if kind == "agent.started":
            self.running = True
            self._rested = False
        elif kind == "agent.rested":
            self._rested = True
        elif kind == "agent.finished":
            self.running = self._asked = self._held = self._outside = self._waits = False
        elif kind == "model.silent":
            self._waits = True
        elif kind == "model.heard":
            self._waits = False
        elif kind == "sandbox.paused":
            self._outside = True
        elif kind == "sandbox.resumed":
            self._outside = False
        elif kind == "operator.asked":
            self._asked = True
        elif kind == "operator.decided":
            self._asked = False
        elif kind == "intervention":
            action = text(event.payload, "action")
            if action == "pause":
                self._held = True
            elif action == "resume":
                self._held = False
