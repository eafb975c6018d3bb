"""What an agent acts with, and who is told of the sandbox in which it acts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from proctor.conduct.briefing import Briefing
from proctor.execute.agents.interface import ModelAccess, Note, Run, Scene
from proctor.execute.network.listeners import Inhabited
from proctor.execute.prepare import Prepared
from proctor.execute.sandbox.interface import Command, Finished, Sandbox

Open = Callable[[Inhabited], ModelAccess | None]
"""Opens the way to a model inside a live sandbox; ``None`` where there is no model."""

Live = Callable[[Sandbox | None], None]
"""Told of the sandbox in which an agent acts, so that an interrupt can end it; ``None`` when it is gone."""


@contextmanager
def no_model(post: object) -> Iterator[Open]:
    """The way to no model."""
    yield lambda sandbox: None


def make_scene(
    prepared: Prepared,
    briefing: Briefing,
    environment: Mapping[str, str],
    run: Run,
    model: ModelAccess | None = None,
    look: Callable[[Command], Finished] | None = None,
    note: Note | None = None,
    clock: Callable[[], int] = time.monotonic_ns,
) -> Scene:
    """What an agent acts with; its time begins now, and stands still while ``clock`` does."""
    deadline = clock() + prepared.contract.budget.wall_seconds * 1_000_000_000
    return Scene(
        contract=prepared.contract,
        briefing=briefing.text,
        environment=environment,
        run=run,
        seconds_left=lambda: (deadline - clock()) / 1_000_000_000,
        model=model,
        look=look,
        note=note,
    )
