"""What is done about the decisions of the breakers, on the live sandbox of an agent.

Throttling and pausing freeze the sandbox, suspending holds every further change of the workspace, killing ends one
call or all. An intervention on a sandbox that has ended meanwhile has nothing left to do. Everything runs on the
watched trace's own thread, one act after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.conduct.operator import NOBODY, Answer, wait_for_answer
from proctor.conduct.watched import Decision, WatchedTrace
from proctor.contract.model import Ask, Contract
from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.execute.sandbox.end_tree import end_tree
from proctor.execute.watch.breakers.interface import (
    KILL,
    KILL_CALL,
    PAUSE,
    QUARANTINE,
    SUSPEND_WRITE,
    THROTTLE,
)


class Interventions:
    """Acts on the sandbox that is attached at the moment."""

    def __init__(self, contract: Contract, trace: WatchedTrace, answers: Path, stopped: Callable[[], bool]) -> None:
        self._contract = contract
        self._trace = trace
        self._answers = answers
        self._stopped = stopped
        self._sandbox: Box | None = None
        self._gone = threading.Event()
        self.closed = False
        """Whether the agent's sandbox was closed by an intervention."""

    def attach(self, sandbox: Box) -> None:
        """Act on ``sandbox`` from now on; it is ended at once when the run was ended before it came up."""
        self._gone.clear()
        self._sandbox = sandbox
        if self._trace.ended is not None:
            self._close(sandbox)

    def detach(self) -> None:
        """The agent's time is over: wait for nothing any more."""
        self._gone.set()
        self._sandbox = None

    def release_writes(self) -> None:
        """Let held changes of the workspace go on, where there is still an agent that could make them."""
        sandbox = self._sandbox
        if sandbox is None or sandbox.guard is None:
            return
        try:
            sandbox.guard.release_writes()
        except (InfrastructureFault, OSError):
            if not self._gone.is_set() and not self.closed:
                raise

    def __call__(self, decision: Decision) -> None:
        sandbox = self._sandbox
        if sandbox is None:
            return
        try:
            self._act(sandbox, decision)
        except (InfrastructureFault, OSError):
            if not self._gone.is_set() and self._sandbox is sandbox and decision.trip.action in (KILL, QUARANTINE):
                raise

    def _act(self, sandbox: Box, decision: Decision) -> None:
        trip = decision.trip
        if trip.action == THROTTLE:
            sandbox.freeze()
            self._gone.wait(float(str(trip.signals.get("delay_seconds", "1"))))
            sandbox.thaw()
        elif trip.action == SUSPEND_WRITE and sandbox.guard is not None:
            sandbox.guard.hold_writes()
        elif trip.action == KILL_CALL:
            end_tree(sandbox.init_pid, int(trip.signals["pid"]))
        elif trip.action == PAUSE:
            self._ask(sandbox, decision)
        elif trip.action in (KILL, QUARANTINE):
            self._close(sandbox)

    def _ask(self, sandbox: Box, decision: Decision) -> None:
        trip = decision.trip
        ask = self._question(trip.code)
        sandbox.freeze()
        self._trace.append(
            "operator.asked",
            {
                "code": trip.code,
                "question": trip.rationale,
                "deadline_seconds": ask.deadline_seconds,
                "alert": decision.alert,
            },
        )
        self._trace.sync()
        answer = wait_for_answer(self._answers, ask, lambda: self._stopped() or self._gone.is_set())
        if answer.by == NOBODY and self._gone.is_set():
            answer = Answer("withdrawn", "the agent had ended before anybody answered", "ended", NOBODY)
        self._trace.append("operator.decided", answer.payload())
        self._trace.sync()
        if answer.decision == "withdrawn":
            return
        if answer.decision == "approve":
            self._trace.append("intervention", {"action": "resume", "alert": decision.alert, "detail": {}})
            sandbox.thaw()
            return
        self._trace.append("intervention", {"action": "kill", "alert": decision.alert, "detail": {}})
        rationale = f"{trip.rationale}; the operator denied: {answer.why}"
        evidence = f"events.jsonl#{decision.alert}"
        self._trace.append("run.terminated", {"code": "operator-denied", "rationale": rationale, "evidence": evidence})
        self._close(sandbox)

    def _close(self, sandbox: Box) -> None:
        self.closed = True
        sandbox.close()

    def _question(self, code: str) -> Ask:
        return next(ask for ask in self._contract.policy.ask if code in ask.on)
