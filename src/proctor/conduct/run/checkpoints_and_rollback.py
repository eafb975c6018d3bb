"""Saves states of one agent's workspace while it acts, and restores one of them.

Everything is done while the sandbox is frozen and after the guard has reported all earlier attempts, so that the events
before ``workspace.checkpoint`` are exactly what led to that state. A rollback is recorded as such: its mutations have
the harness as their actor, and the chain of every file includes them. Called from the thread of the
interventions, one act after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.contract.model import Checkpoints
from proctor.execute.monitor.checkpoint_copy import SnapshotLimits, TooLarge
from proctor.execute.monitor.checkpoints import Checkpoint, drop, roll_back, stand_still, take
from proctor.execute.sandbox.interface import WORKSPACE, Sandbox
from proctor.execute.workspace.workspace import Workspace

Look = Callable[[str], None]
"""Records the changes of the workspace, with their actor."""


class WorkspaceCheckpoints:
    """The checkpoints of one workspace."""

    def __init__(
        self, settings: Checkpoints, trace: MonitoredTrace, workspace: Workspace, sandbox: Sandbox, look: Look
    ) -> None:
        self._settings = settings
        self._trace = trace
        self._workspace = workspace
        self._sandbox = sandbox
        self._look = look
        self._kept: dict[str, Checkpoint] = {}
        self._state = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The checkpoints that are there."""
        return tuple(self._kept)

    def take(self, reason: str, *, changed: bool = False) -> None:
        """Keep the present state; with ``changed`` only if it differs from the one that was kept last."""
        try:
            still = stand_still(self._sandbox)
            self._see_all()
            state = self._trace.state
            if changed and self._kept and state == self._state:
                return
            checkpoint, dropped, problem = self._copy() if still else (None, [], "the sandbox could not be frozen")
            payload = (
                {"id": "", "entries_digest": "", "files": 0, "bytes": 0} if not checkpoint else checkpoint.payload()
            )
            self._trace.append(
                "workspace.checkpoint", {**payload, "reason": reason, "dropped": dropped, "problem": problem}
            )
            self._trace.sync()
            self._state = state if checkpoint else self._state
        finally:
            self._sandbox.thaw()

    def restore(self, to: str, alert: int, *, end: bool, thaw: bool = True) -> bool:
        """Go back to the checkpoint ``to``; whether the agent continues. Processes that cannot be frozen are ended.

        A checkpoint that was removed for a newer one after it was chosen is replaced by the first.
        """
        sandbox = self._sandbox
        to = to if to in self._kept else next(iter(self._kept))
        try:
            end = not stand_still(sandbox) or end
            self._see_all()
            with _Writable(sandbox):
                names = roll_back(self._workspace, self._kept[to], sandbox, thaw=False, end=end)
            payload = {"checkpoint": to, "alert": alert, "names": names, "ended": end, "problem": ""}
            self._trace.append("workspace.restored", payload)
            self._look("harness")
            self._state = self._trace.state
        finally:
            if thaw:
                sandbox.thaw()
        return not end

    def _copy(self) -> tuple[Checkpoint | None, list[str], str]:
        """The new checkpoint, the ids of older ones that were removed for it, and why there is none."""
        dropped: list[str] = []
        while len(self._kept) >= self._settings.keep:
            dropped.append(self._drop_oldest())
        while True:
            left = self._settings.total_bytes - sum(kept.total_bytes for kept in self._kept.values())
            try:
                checkpoint = take(self._workspace, limits=SnapshotLimits(total_bytes=max(left, 0)))
            except TooLarge as error:
                if len(self._kept) <= 1:
                    return None, dropped, str(error)
                dropped.append(self._drop_oldest())
            else:
                self._kept[checkpoint.id] = checkpoint
                return checkpoint, dropped, ""

    def _drop_oldest(self) -> str:
        """Remove the oldest one except the first, which is the state at the agent's start."""
        name = list(self._kept)[1]
        drop(self._kept.pop(name))
        return name

    def _see_all(self) -> None:
        """Wait until all earlier actions are recorded."""
        if self._sandbox.guard is not None:
            self._sandbox.guard.settle()
        self._look("agent")


class _Writable:
    """Opens a read-only workspace for the harness while everything inside is frozen."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        shown = Path(f"/proc/{sandbox.init_pid}/root{WORKSPACE}")
        self._closed = bool(os.statvfs(shown).f_flag & os.ST_RDONLY)

    def __enter__(self) -> None:
        if self._closed:
            self._sandbox.set_workspace_writable(True)

    def __exit__(self, *error: object) -> None:
        if self._closed and not self._sandbox.set_workspace_writable(False):
            raise InfrastructureFault("the workspace could not be closed again after a rollback")
