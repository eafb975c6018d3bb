"""A story of events for the tests of the watch: each line adds one event, and time passes as told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, alert_payload, intervention_payload
from proctor.execute.monitor.breakers.interface import Trip
from proctor.record.trace.event import Event

SECOND = 1_000_000_000


class Story:
    """Events in order. ``wait`` lets time pass; ``panel`` may watch and write down what it decides."""

    def __init__(self, panel: BreakerPanel | None = None) -> None:
        self.events: list[Event] = []
        self.trips: list[Trip] = []
        self.panel = panel
        self.now = 1_000 * SECOND
        self.pids = 100

    def wait(self, seconds: float) -> Story:
        """Let time pass before the next event."""
        self.now += int(seconds * SECOND)
        return self

    def add(self, kind: str, /, **payload: Any) -> Event:
        """Add one event, and what the panel makes of it."""
        self.now += 1
        event = Event(len(self.events), str(self.now), kind, "harness", payload, "", "")
        self.events.append(event)
        if self.panel is not None:
            for trip in self.panel.see(event):
                self.trips.append(trip)
                alert = self.add("monitor.alert", **alert_payload(trip, self.panel.facts.stage))
                act = intervention_payload(trip, alert.seq)
                if act is not None:
                    self.add("intervention", **act)
        return event

    def start(self, *, root: bool = True) -> Story:
        """The agent begins; with a guard its own process is pid 10."""
        self.add("agent.started", name="a", kind="command", command=["agent"])
        if root:
            self.exec(["agent"], pid=10, parent=1)
        return self

    def finish(self) -> Story:
        self.add("agent.finished", reason="finished", exit_code=0, wall_seconds="1")
        return self

    def exec(
        self,
        argv: list[str],
        *,
        pid: int | None = None,
        parent: int = 10,
        cwd: str = "/workspace",
        origin: int | None = None,
    ) -> int:
        """A program starts; without a pid it is a new child of the agent. Older traces tell no origin."""
        if pid is None:
            self.pids += 1
            pid = self.pids
        more = {} if origin is None else {"origin": origin}
        self.add("guard.exec", pid=pid, parent=parent, path=argv[0], argv=argv, cwd=cwd, allowed=True, **more)
        return pid

    def exit(self, pid: int, code: int | None = 0, seconds: str = "0.1") -> Story:
        self.add("guard.exit", pid=pid, exit_code=code, wall_seconds=seconds)
        return self

    def call(self, *argv: str, code: int | None = 0, seconds: str = "0.1") -> Story:
        """A whole tool call."""
        return self.exit(self.exec(list(argv)), code, seconds)

    def write(self, path: str = "a.py", after: str | None = "1", before: str | None = "0") -> Story:
        """A file changes; texts stand for contents."""

        def entry(content: str | None) -> dict[str, Any] | None:
            return None if content is None else {"sha256": content * 4, "bytes": 1, "mode": "100644"}

        change = "added" if before is None else "deleted" if after is None else "modified"
        self.add("workspace.mutation", path=path, change=change, before=entry(before), after=entry(after))
        return self

    def sample(self, **values: Any) -> Story:
        self.add("monitor.sample", **{"phase": "agent", **values})
        return self

    def usage(self, came: int = 0, went: int = 0, usd: str | None = None, model: str = "m") -> Story:
        self.add("model.usage", model=model, input_tokens=came, output_tokens=went, usd=usd)
        return self

    def invoke(self, *command: str, code: int = 0, seconds: str = "0.1", purpose: str = "agent") -> Story:
        stream = {"sha256": "0", "bytes": 0, "prefix": ""}
        self.add(
            "tool.invocation",
            purpose=purpose,
            command=list(command),
            directory="/workspace",
            exit_code=code,
            started=True,
            timed_out=False,
            wall_seconds=seconds,
            cpu_seconds="0",
            stdout=stream,
            stderr=stream,
        )
        return self


@pytest.fixture
def new_story() -> Callable[..., Story]:
    """Makes stories: without settings nobody watches, with settings a panel does."""
    return lambda settings=None: Story(None if settings is None else BreakerPanel(settings))
