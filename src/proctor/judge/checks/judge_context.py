"""What judging one run needs: the prepared contract, the sandbox backend, the tree under test, the trace to write.

Removing a sandbox keeps the kernel busy for longer than the judge needs for its next step, so clean-up runs on threads
of its own; leaving the block waits for all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from proctor.base.clock import Clock, Entropy
from proctor.base.errors import ProctorError
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.guard_observations import GuardPlan
from proctor.execute.sandbox.interface import Mount, Sandbox, SandboxBackend
from proctor.execute.workspace.layer_store import Layer
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.checks.inverted_tests.variant_pool import Pool
from proctor.judge.patch_policy.tree_overlay import TreeOverlay
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.writer import TraceWriter

PATCHED, BASE = "patched", "base"


Watch = Callable[[Sandbox, Workspace], AbstractContextManager[None]]
"""Watches a sandbox of the judge's over a workspace while a check runs in it."""


Slot = Callable[[], AbstractContextManager[int]]
"""Holds a judging slot; yields the nanoseconds spent waiting for it."""


Later = Callable[[Callable[[], None]], None]
"""Runs something in the background; the run waits for it only at its end."""


def run_immediately(act: Callable[[], None]) -> None:
    """Does it now."""
    act()


def unwatched(sandbox: Sandbox, workspace: Workspace) -> AbstractContextManager[None]:
    """Watches nothing."""
    return nullcontext()


def free_slot() -> AbstractContextManager[int]:
    """A slot that is always free."""
    return nullcontext(0)


@dataclass(frozen=True)
class JudgeContext:
    """Everything that judging one run needs. The caller creates ``scratch`` and removes it.

    ``guard`` watches the checks of runs that show what the project's own programs do, and ``mounts`` is what those
    checks see in addition. Commands of the judge run while a ``slot`` is held. Variants
    from ``pool`` confirm a success, ``side_by_side`` rounds at a time; without a pool it is not confirmed.
    """

    prepared: PreparedBase
    backend: SandboxBackend
    scratch: Path
    trace: TraceWriter
    run: RunDirectory
    clock: Clock
    entropy: Entropy
    watch: Watch = unwatched
    slot: Slot = free_slot
    later: Later = run_immediately
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
class JudgedTree:
    """The tree that attempts start from: ``patched`` or ``base``, as layers and what is placed above them."""

    tree: str
    layers: tuple[Layer, ...]
    placement: TreeOverlay

    def read(self, path: bytes) -> tuple[int, bytes] | None:
        """What a file of the scene holds, the placed ones included."""
        return self.placement.read(path, base_stack(self.layers).file)


class BackgroundCleanup:
    """Actions that run in the background, and have all ended when the block is left."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._problems: list[ProctorError | OSError] = []

    def __call__(self, act: Callable[[], None]) -> None:
        """Begin ``act``."""
        thread = threading.Thread(target=self._do, args=(act,), name="afterwards")
        self._threads.append(thread)
        thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads:
            thread.join()
        if self._problems and error is None:
            raise self._problems[0]

    def _do(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (ProctorError, OSError) as problem:
            self._problems.append(problem)
