"""Pauses from outside Proctor are recorded, and a watch that breaks is reported."""

from __future__ import annotations

import queue
import threading
from typing import Any

from proctor.conduct.run.agent_context import OutsidePauses

WAIT_SECONDS = 60


class Trace:
    """Keeps the types of the events."""

    def __init__(self) -> None:
        self.types: queue.SimpleQueue[str] = queue.SimpleQueue()

    def append(self, kind: str, payload: dict[str, Any]) -> None:
        self.types.put(kind)


class Sandbox:
    """Is paused or not, or cannot be looked at."""

    state: bool | OSError = False

    def paused_outside(self) -> bool:
        if isinstance(self.state, OSError):
            raise self.state
        return self.state


def test_a_pause_and_its_end_are_recorded() -> None:
    sandbox, trace = Sandbox(), Trace()
    with OutsidePauses(sandbox, trace, lost=lambda problem: None):  # type: ignore[arg-type]
        sandbox.state = True
        assert trace.types.get(timeout=WAIT_SECONDS) == "sandbox.paused"
        sandbox.state = False
        assert trace.types.get(timeout=WAIT_SECONDS) == "sandbox.resumed"


def test_a_watch_that_breaks_is_reported() -> None:
    sandbox, problems, reported = Sandbox(), [], threading.Event()

    def lost(problem: str) -> None:
        problems.append(problem)
        reported.set()

    with OutsidePauses(sandbox, Trace(), lost):  # type: ignore[arg-type]
        sandbox.state = OSError("no such file")
        assert reported.wait(WAIT_SECONDS)
    assert problems == ["no such file"]
