"""The stages of one agent's run: when it may write, and how it moves from one stage to the next.

The mount decides whether the agent may write; the records here follow it. With automatic stages the agent's first
attempt to change the workspace waits until the harness has recorded the next stage and opened the mount; the test stage
follows at once. With requested stages the agent asks (see ``stage_requests``): a step up or down is granted, a skipped
stage is recorded, an unknown stage is refused and recorded, and so is a step down while a file is open for writing.
"""

from __future__ import annotations

import threading

from proctor.base.reversible_escapes import name_text
from proctor.conduct.run.breaker_interventions import Interventions
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.contract.model import Stages
from proctor.execute.sandbox.guard_observations import WRITABLE, Observation
from proctor.execute.sandbox.interface import WORKSPACE, Sandbox
from proctor.execute.sandbox.stage_change_server import Reply, StageStep, next_stage

INSPECT, WRITE, TEST = "inspect", "write", "test"
MOST_RECORDED = 50
"""Refusals that are recorded one by one; the rest is counted and recorded once."""
MOST_CHANGES = 200
"""How often a run may change its stage."""
LOOK_SECONDS = 0.05


class StageControl:
    """The stages of one run."""

    def __init__(self, stages: Stages, trace: MonitoredTrace, interventions: Interventions) -> None:
        self._stages = stages
        self._trace = trace
        self._interventions = interventions
        self._refused = 0
        self._changes = 0
        self._over = threading.Event()
        self.asked_for = stages.ladder == "requested"
        """Whether the agent moves to the next stage by asking."""
        self.begins_closed = stages.ladder != "none" and stages.start == INSPECT
        """Whether the workspace is read-only at first."""
        self.holds_writes = self.begins_closed and not self.asked_for
        """Whether the first change of the workspace waits."""

    @property
    def places(self) -> tuple[str, ...]:
        """Where the agent may write at first; with automatic stages also where its writes wait."""
        return _places(open_workspace=not self.begins_closed or self.holds_writes)

    def begin(self) -> None:
        """Note the first stage."""
        if self._stages.ladder == "none":
            self._note("", TEST, "the ladder is 'none': every stage is open from the start")
            return
        self._note("", self._stages.start, "the stage that the contract begins with")
        if not self.asked_for and self._stages.start == WRITE:
            self._note(WRITE, TEST, "the test stage follows the write stage")

    def end(self) -> None:
        """The agent has ended: record how many refusals were only counted."""
        self._over.set()
        if self._refused > MOST_RECORDED:
            self._record_refusal("", "more refusals than are recorded one by one", self._refused - MOST_RECORDED)

    def held(self, observation: Observation) -> None:
        """The agent's first attempt to change the workspace waits: open the next stage, unless writing is suspended."""
        if not self.holds_writes or self._trace.stage != INSPECT or self._trace.suspended:
            return
        self._note(INSPECT, WRITE, f"the agent tried to change {observation.path}")
        self._note(WRITE, TEST, "the test stage follows the first change")
        self._trace.later(lambda: self._interventions.on_sandbox(self._open))

    def _open(self, sandbox: Sandbox) -> None:
        self._interventions.keep("before the first change")
        sandbox.set_workspace_writable(True)
        if sandbox.guard is not None:
            sandbox.guard.release_writes()

    def ask(self, word: str) -> Reply:
        """Answer one request of the agent's."""
        current = self._trace.stage
        if not word:
            return Reply(True, f"the stage is {current}")
        found = next_stage(current, word)
        if found.refusal:
            return self._refuse(word, found.refusal)
        if found.to == current:
            return Reply(True, f"the stage is {current} already")
        if self._changes >= MOST_CHANGES:
            return self._refuse(word, f"the stage was changed {MOST_CHANGES} times")
        problem = self._in_turn(found)
        return self._refuse(word, problem) if problem else Reply(True, f"the stage is {found.to} now")

    def _in_turn(self, found: StageStep) -> str:
        """Change the stage after whatever else is being done to the sandbox; why it could not be done."""
        problems = ["the agent has ended"]
        done = threading.Event()

        def act() -> None:
            try:
                self._interventions.on_sandbox(lambda sandbox: problems.append(self._change(sandbox, found)))
            finally:
                done.set()

        self._trace.later(act)
        while not done.wait(LOOK_SECONDS):
            if self._over.is_set():
                break
        return problems[-1]

    def _change(self, sandbox: Sandbox, found: StageStep) -> str:
        before = self._trace.stage
        if sandbox.guard is not None:
            sandbox.guard.settle()  # what was tried before belongs to the stage before
        self._interventions.keep(f"before the stage {found.to}")
        if found.to == INSPECT and not sandbox.set_workspace_writable(False):
            return "a file of the workspace is open for writing: close it first"
        self._changes += 1
        self._note(before, found.to, "the agent asked for it", found.skipped)
        if sandbox.guard is not None:
            sandbox.guard.allow_writes(_places(open_workspace=found.to != INSPECT))
        if before == INSPECT:
            sandbox.set_workspace_writable(True)
        return ""

    def _refuse(self, word: str, reason: str) -> Reply:
        self._refused += 1
        if self._refused <= MOST_RECORDED:
            self._record_refusal(name_text(word.encode("utf-8", "replace")), reason, 1)
        return Reply(False, reason)

    def _record_refusal(self, word: str, reason: str, count: int) -> None:
        payload = {"asked": word, "stage": self._trace.stage, "reason": reason, "count": count}
        self._trace.append("stage.refused", payload)

    def _note(self, before: str, after: str, reason: str, skipped: tuple[str, ...] = ()) -> None:
        payload = {"from": before, "to": after, "reason": reason, "skipped": list(skipped)}
        self._trace.append("stage.changed", payload)
        self._trace.sync()


def is_early(observation: Observation) -> bool:
    """Whether a refused write was tried in the workspace, which a later stage opens."""
    path = observation.path
    return observation.code == "write-outside" and (path == WORKSPACE or path.startswith(f"{WORKSPACE}/"))


def _places(*, open_workspace: bool) -> tuple[str, ...]:
    return WRITABLE if open_workspace else tuple(place for place in WRITABLE if place != WORKSPACE)
