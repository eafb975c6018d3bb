"""A sandbox with a guard for tests, and what the guard has told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from tests.execute.sandbox.workplace import layer, overlay

WAIT_SECONDS = 60


class Seen:
    """Everything that was told, in order."""

    def __init__(self) -> None:
        self.all: list[Observation] = []
        self.box: LiveSandbox | None = None
        self._change = threading.Condition()

    def tell(self, observation: Observation) -> None:
        with self._change:
            self.all.append(observation)
            self._change.notify_all()

    def kind(self, kind: str) -> list[Observation]:
        """What was told of one kind, after everything that has happened was told."""
        assert self.box is not None and self.box.guard is not None
        self.box.guard.settle()
        return [one for one in self.all if one.kind == kind]

    def attempts(self, code: str) -> list[Observation]:
        return [one for one in self.kind("attempt") if one.code == code]

    def attempts_so_far(self, code: str) -> list[Observation]:
        """The attempts that were told, without asking the guard for more."""
        return [one for one in self.all if one.kind == "attempt" and one.code == code]

    def wait_for(self, kind: str, count: int = 1) -> list[Observation]:
        """What was told of one kind, once there is enough of it."""
        with self._change:
            enough = self._change.wait_for(
                lambda: sum(one.kind == kind for one in self.all) >= count, timeout=WAIT_SECONDS
            )
            assert enough, self.all
            return [one for one in self.all if one.kind == kind]

    def clear(self) -> None:
        self.kind("")
        self.all.clear()


@contextmanager
def guarded(
    top: Path,
    limits: Limits | None = None,
    plan: dict[str, Any] | None = None,
    backend: ContainerBackend | None = None,
    **fields: Any,
) -> Iterator[Seen]:
    """A sandbox below ``top`` whose guard is made from ``fields``; ``plan`` changes the sandbox's own."""
    seen = Seen()
    guard = GuardPlan(**{"notify": seen.tell, **fields})
    sandbox = SandboxPlan(overlay(top / "box", layer(top / "base")), limits or Limits(), guard=guard)
    opener = backend or BubblewrapBackend(top / "sessions")
    with opener.open(replace(sandbox, **(plan or {}))) as box:
        seen.box = box
        yield seen
