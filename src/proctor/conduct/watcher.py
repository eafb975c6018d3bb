"""What a run reports while it is running, and how it is stopped: from the keyboard, by a signal or by an operator."""

from __future__ import annotations

import threading

from proctor.conduct.control import Control
from proctor.execute.sandbox.interface import Sandbox


class Interrupted(Exception):
    """The operator asked to stop; raised inside a run, never shown."""


class Watcher:
    """Gets reports from a running run, and can stop it. The default watches nothing."""

    def phase(self, run_id: str, phase: str) -> None:
        """The run has entered ``phase``: binding, agent, judging or done."""

    def asks(self, run_id: str, code: str, question: str, seconds: int) -> None:
        """The run waits until a human answers, or until that many seconds have passed."""

    def live(self, run_id: str, sandbox: Sandbox | None) -> None:
        """The sandbox in which the run's agent acts."""

    def stopped(self) -> bool:
        """Whether the operator asked to stop."""
        return False

    def why_stopped(self) -> str:
        """How the operator asked, as in "stopped from the keyboard"."""
        return "by the operator"


class Operated(Watcher):
    """A watcher of one run that also stops it when an operator asks ``control`` for it."""

    def __init__(self, watcher: Watcher, control: Control) -> None:
        self._watcher = watcher
        self._control = control
        self._turn = threading.Lock()
        self._sandbox: Sandbox | None = None
        control.on_stop = self._close

    def enter(self, run_id: str, phase: str) -> None:
        """Enter a phase of the run, unless it was stopped before. A run that is being judged takes no stop any more."""
        if self.stopped() or (phase == "judging" and not self._control.begin_judging()):
            raise Interrupted
        self.phase(run_id, phase)

    def phase(self, run_id: str, phase: str) -> None:
        self._watcher.phase(run_id, phase)

    def asks(self, run_id: str, code: str, question: str, seconds: int) -> None:
        self._watcher.asks(run_id, code, question, seconds)

    def live(self, run_id: str, sandbox: Sandbox | None) -> None:
        with self._turn:
            self._sandbox = sandbox
        self._watcher.live(run_id, sandbox)
        if self._control.stopped:
            self._close()

    def stopped(self) -> bool:
        return self._control.stopped or self._watcher.stopped()

    def why_stopped(self) -> str:
        by = self._control.stopped_by()
        return f"by {by.payload['by']} ({by.payload['why']})" if by else self._watcher.why_stopped()

    def evidence(self) -> str:
        """The event that shows why the run was stopped."""
        by = self._control.stopped_by()
        return f"events.jsonl#{by.seq}" if by else ""

    def _close(self) -> None:
        with self._turn:
            if self._sandbox is not None:
                self._sandbox.close()
