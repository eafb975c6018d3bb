"""What an agent acts with and the time that it has: its scene, the span in which it acts, and pauses from outside.

The time of an agent runs from its first command to its last. Pauses and questions of operators, pauses from outside
Proctor, such as ``docker pause``, and silences of the model's provider are not the agent's time. A thread looks many
times a second whether the kernel has paused the sandbox, and records it. The breakers' clock stops at
``sandbox.paused``, and the timeouts of commands stop with the sandbox's clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from proctor.base.clock import Clock, seconds_text
from proctor.base.errors import ProctorError
from proctor.conduct.briefing import Briefing
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.execute.agents.interface import AgentContext, AgentDescription, ModelAccess, Note, Run
from proctor.execute.network.namespace_sockets import SandboxProcess
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Command, CommandResult, Sandbox
from proctor.record.trace.writer import TraceWriter

Open = Callable[[SandboxProcess], ModelAccess | None]
"""Opens the connection to a model inside a live sandbox; ``None`` if there is no model."""

Live = Callable[[Sandbox | None], None]
"""Called with the sandbox in which an agent acts, so that an interrupt can end it; ``None`` after it has ended."""


@contextmanager
def no_model(post: object) -> Iterator[Open]:
    """The way to no model."""
    yield lambda sandbox: None


def make_scene(
    prepared: PreparedBase,
    briefing: Briefing,
    environment: Mapping[str, str],
    run: Run,
    model: ModelAccess | None = None,
    look: Callable[[Command], CommandResult] | None = None,
    note: Note | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
) -> AgentContext:
    """The context of an agent; its time begins now, and stops while ``clock`` does."""
    deadline = clock() + prepared.contract.budget.wall_seconds * 1_000_000_000
    return AgentContext(
        contract=prepared.contract,
        briefing=briefing.text,
        environment=environment,
        run=run,
        seconds_left=lambda: (deadline - clock()) / 1_000_000_000,
        model=model,
        look=look,
        note=note,
    )


class Span:
    """Entered when the agent begins to act and left when it has ended; both are events."""

    def __init__(self, clock: Clock, trace: MonitoredTrace, description: AgentDescription) -> None:
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


LOOK_SECONDS = 0.1


class OutsidePauses:
    """Watches one sandbox for the time of a ``with`` block."""

    def __init__(self, sandbox: Sandbox, trace: TraceWriter, lost: Callable[[str], None]) -> None:
        self._sandbox = sandbox
        self._trace = trace
        self._lost = lost
        self._since: int | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proctor-pauses", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._note(False)

    def _watch(self) -> None:
        try:
            while not self._stop.wait(LOOK_SECONDS):
                self._note(self._sandbox.paused_outside())
        except (ProctorError, OSError) as error:
            self._lost(str(error))

    def _note(self, paused: bool) -> None:
        if paused and self._since is None:
            self._since = time.monotonic_ns()
            self._trace.append("sandbox.paused", {"reason": "frozen from outside"})
        elif not paused and self._since is not None:
            seconds = seconds_text(time.monotonic_ns() - self._since)
            self._since = None
            self._trace.append("sandbox.resumed", {"seconds": seconds})
