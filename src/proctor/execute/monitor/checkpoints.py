"""Checkpoints of a workspace in use, and the way back to one.

A checkpoint is a copy of the changes in the workspace, next to it on disk and invisible to the sandbox. It is taken
while everything inside is frozen, so it is a state that really existed. A rollback ends every process inside, or leaves
them frozen. Then the tree is restored through the sandbox's own mount (see ``restore``), while nothing can run, and the
next command sees exactly the tree of the checkpoint: names, contents, links, permissions and times. A process that was
left continues with the files that it holds open, which may no longer be in the tree. Not restored: ``/tmp`` and the
home, sockets, and hard links between names.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.base.errors import InfrastructureFault
from proctor.base.untrusted_directories import erase, open_top
from proctor.execute.monitor.checkpoint_copy import Sides, Snapshot, SnapshotLimits, restore
from proctor.execute.monitor.sensors.resource_usage import come_to_rest, descendants, start_ticks
from proctor.execute.sandbox.interface import Overlay, Sandbox
from proctor.execute.workspace.layer_store import take_inventory
from proctor.execute.workspace.workspace import PARTS, Workspace

DIRECTORY = "checkpoints"
MOST_ENDINGS = 20
REST_SECONDS = 2.0
TRY_SECONDS = 0.2
"""How long one freeze may take before it is tried again, without a freezer."""
GO_ON_SECONDS = 0.005


@dataclass(frozen=True)
class Checkpoint:
    """A state of a workspace: how many files and bytes it had changed, and one digest over all that is kept of it."""

    id: str
    path: Path
    entries_digest: str
    files: int
    total_bytes: int = 0
    closed: Mapping[bytes, int] = field(default_factory=dict)

    def payload(self) -> dict[str, Any]:
        """What a ``workspace.checkpoint`` event says of it."""
        return {"id": self.id, "entries_digest": self.entries_digest, "files": self.files, "bytes": self.total_bytes}


def take(workspace: Workspace, sandbox: Sandbox | None = None, limits: SnapshotLimits | None = None) -> Checkpoint:
    """Store the present state of ``workspace``; a fault if it exceeds ``limits``.

    The sandbox is frozen during this; without a sandbox, the caller ensures that nothing changes the workspace.
    """
    parent = workspace.upper.parent / DIRECTORY
    parent.mkdir(mode=0o700, exist_ok=True)
    name = str(1 + max((int(path.name) for path in parent.iterdir() if path.name.isdigit()), default=0))
    place = parent / name
    snapshot = Snapshot(limits or SnapshotLimits())
    if sandbox is not None:
        sandbox.freeze()
    try:
        _copy(workspace.upper, place, snapshot)
    except BaseException:
        erase(place)
        raise
    finally:
        if sandbox is not None:
            sandbox.thaw()
    return Checkpoint(name, place, take_inventory(place).digest, snapshot.files, snapshot.total_bytes, snapshot.closed)


def stand_still(sandbox: Sandbox, seconds: float = REST_SECONDS) -> bool:
    """Freeze ``sandbox``, and return whether nothing in it moves; without a freezer that takes a moment.

    A process that waits in ``vfork`` cannot be stopped while its child is stopped before its ``exec``. So the sandbox
    continues for a moment and is frozen again.
    """
    sandbox.freeze()
    if sandbox.freezes:
        return True
    deadline = time.monotonic() + seconds
    while not come_to_rest(sandbox.init_pid, min(seconds, TRY_SECONDS)):
        if time.monotonic() >= deadline:
            return False
        sandbox.thaw()
        time.sleep(GO_ON_SECONDS)
        sandbox.freeze()
    return True


def drop(checkpoint: Checkpoint) -> None:
    """Remove a checkpoint; all of them are removed with their workspace."""
    erase(checkpoint.path)


def roll_back(
    workspace: Workspace, checkpoint: Checkpoint, sandbox: Sandbox, *, thaw: bool = True, end: bool = True
) -> int:
    """Bring the tree back to ``checkpoint``; how many names had to be changed.

    Everything in ``sandbox`` is ended; with ``end=False`` it continues afterwards, and the caller ensures that a freeze
    stops everything (see ``stand_still``). With ``thaw=False`` the sandbox stays frozen, because the caller had frozen
    it before.
    """
    init = sandbox.init_pid
    view = workspace.view()
    layers = view.lowers if isinstance(view, Overlay) else ()
    if layers and not init:
        raise InfrastructureFault("this sandbox cannot be rolled back: its mounts are out of reach")
    sides = Sides(workspace.upper, checkpoint.path, layers, checkpoint.closed)
    sandbox.freeze()
    try:
        if end:
            _end(sandbox, init)
        root = os.open(f"/proc/{init}/root" if layers else workspace.upper, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if end:
                _end(sandbox, init)  # pid 1 answered before and after its root was opened, so it was its root
            elif layers and str(start_ticks(init)) != sandbox.init_start:
                raise InfrastructureFault("the sandbox has ended")
            return restore(root, sides, PARTS)
        except OSError as error:
            if error.errno == errno.EROFS:
                hint = "make the workspace writable first"
                raise InfrastructureFault("a read-only workspace cannot be rolled back", hint=hint) from None
            raise
        finally:
            os.close(root)
    finally:
        if thaw:
            sandbox.thaw()


def _end(sandbox: Sandbox, init: int) -> None:
    """End every process, also those that start while others end; the sandbox is frozen before and after."""
    for _ in range(MOST_ENDINGS):
        sandbox.end_all()
        if not init or descendants(init) == [init]:
            return
    raise InfrastructureFault("the sandbox could not be brought to rest for a rollback")


def _copy(upper: Path, place: Path, snapshot: Snapshot) -> None:
    """Copy both parts of an upper directory."""
    place.mkdir(mode=0o700)
    source, target = open_top(upper), open_top(place)
    try:
        for part in PARTS:
            snapshot.copy_top(source, target, os.fsencode(part))
    finally:
        os.close(source)
        os.close(target)
