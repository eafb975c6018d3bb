"""The time in which an agent acts: from its first command to its last, without what comes before and after.

Pauses and questions of operators, pauses from outside Proctor, and silences of the model's provider are not the
agent's time.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from proctor.base.clock import Clock, seconds_text
from proctor.conduct.watched import WatchedTrace
from proctor.execute.agents.interface import AgentDescription


class Span:
    """Entered when the agent begins to act and left when it has ended; both are events."""

    def __init__(self, clock: Clock, trace: WatchedTrace, description: AgentDescription) -> None:
        self._clock = clock
        self._trace = trace
        self._description = description
        self._start = 0
        self.begun = False
        """Whether the agent has begun to act."""
        self.wall_ns = 0

    def __enter__(self) -> Self:
        self.begun = True
        one = self._description
        self._trace.append("agent.started", {"name": one.name, "kind": one.kind, "command": list(one.command)})
        self._start = self._clock.steady_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall_ns = max(0, self._clock.steady_ns() - self._start - self._trace.idle_ns)
        self._trace.append("agent.rested", {"wall_seconds": seconds_text(self.wall_ns)})
