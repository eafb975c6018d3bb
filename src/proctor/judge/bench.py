"""What the judge works with: a prepared contract, a way to isolate, a place to work and a record to write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from proctor.base.clock import Clock, Entropy
from proctor.execute.prepare import Prepared
from proctor.execute.sandbox.guard import GuardPlan
from proctor.execute.sandbox.interface import Backend, Mount, Sandbox
from proctor.execute.workspace.store import Layer
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.inverted.pool import Pool
from proctor.judge.placement import Placement
from proctor.record.rundir import RunDirectory
from proctor.record.trace.log import TraceWriter

PATCHED, BASE = "patched", "base"


Watch = Callable[[Sandbox, Workspace], AbstractContextManager[None]]
"""Watches a sandbox of the judge's over a workspace while a check runs in it."""


Slot = Callable[[], AbstractContextManager[int]]
"""Holds a judging slot; yields the nanoseconds spent waiting for it."""


Later = Callable[[Callable[[], None]], None]
"""Does something whose end nobody waits for before the run is over."""


def at_once(act: Callable[[], None]) -> None:
    """Does it now."""
    act()


def unwatched(sandbox: Sandbox, workspace: Workspace) -> AbstractContextManager[None]:
    """Watches nothing."""
    return nullcontext()


def free_slot() -> AbstractContextManager[int]:
    """A slot that is always free."""
    return nullcontext(0)


@dataclass(frozen=True)
class Bench:
    """Everything that judging one run needs. ``scratch`` is emptied by whoever made it.

    ``guard`` watches the checks of runs that show what the project's own programs do, and ``mounts`` is what those
    checks see besides. Commands of the judge run while a ``slot`` is held. Variants
    from ``pool`` confirm a success, ``side_by_side`` rounds at a time; without a pool it is not confirmed.
    """

    prepared: Prepared
    backend: Backend
    scratch: Path
    trace: TraceWriter
    run: RunDirectory
    clock: Clock
    entropy: Entropy
    watch: Watch = unwatched
    slot: Slot = free_slot
    later: Later = at_once
    guard: GuardPlan | None = None
    mounts: tuple[Mount, ...] = ()
    pool: Pool | None = None
    side_by_side: int = 1

    def read_base(self, path: bytes) -> tuple[int, bytes] | None:
        """Mode and bytes of a file of the base."""
        return base_stack(self.prepared.layers).file(path)

    def has_source(self, path: bytes) -> bool:
        """Whether the pristine tree, before setup, has a file at ``path``."""
        return base_stack((self.prepared.source,)).file(path) is not None


@dataclass(frozen=True)
class Scene:
    """The tree that attempts start from: ``patched`` or ``base``, as layers and what is placed above them."""

    tree: str
    layers: tuple[Layer, ...]
    placement: Placement

    def read(self, path: bytes) -> tuple[int, bytes] | None:
        """What a file of the scene holds, the placed ones included."""
        return self.placement.read(path, base_stack(self.layers).file)
