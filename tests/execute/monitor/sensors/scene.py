"""A workspace on a small layer with a real sandbox in it, for root and for ordinary users."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.base.dataclass_fields import EMPTY
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard_observations import GuardPlan
from proctor.execute.sandbox.interface import Limits, Mount, SandboxPlan
from proctor.execute.workspace.layer_store import Layer, LayerStore
from proctor.execute.workspace.workspace import Workspace
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory

MIB = 1 << 20
PATIENCE_SECONDS = 120

FILES = {
    "a.txt": b"one\ntwo\nthree\n",
    "tool.sh": b"#!/bin/sh\necho tool\n",
    "dir/inner.txt": b"inner\n",
    "dir/deep/down.txt": b"down\n",
    "gone/x": b"x\n",
    "gone/y": b"y\n",
}


@dataclass(frozen=True)
class Scene:
    """What a test works with."""

    top: Path
    workspace: Workspace
    box: LiveSandbox
    backend: BubblewrapBackend | ContainerBackend


def small_layer(top: Path, files: dict[str, bytes] | None = None) -> Layer:
    """A layer with a few files, a program and a link."""

    def build(content: Path) -> dict[str, str]:
        for name, data in (FILES if files is None else files).items():
            place = content / "workspace" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o755 if name.endswith(".sh") else 0o644)
        os.symlink("a.txt", content / "workspace" / "link")
        return {}

    return LayerStore(top / "layers").make("base", build)


@contextmanager
def scene(
    *,
    overlays: bool = True,
    files: dict[str, bytes] | None = None,
    place: Place | None = None,
    limits: Limits | None = None,
    mounts: Callable[[Path], tuple[Mount, ...]] = lambda top: (),
    inside: Mapping[str, bytes] = EMPTY,
    guard: GuardPlan | None = None,
    contained: Callable[[Path], ContainerBackend] | None = None,
) -> Iterator[Scene]:
    """A workspace and a sandbox in it, with the files ``inside``; nothing is left of them afterwards."""
    with open_directory() as top:
        backend = contained(top) if contained else BubblewrapBackend(top / "sessions", place=place)
        with Workspace.create((small_layer(top, files),), top / "scratch", overlays=overlays) as workspace:
            plan = SandboxPlan(workspace.view(), limits or Limits(), mounts(top), files=inside, guard=guard)
            with backend.open(plan) as box:
                yield Scene(top, workspace, box, backend)


def both_users(action: Callable[[], None]) -> None:
    """Do the same as root and as an ordinary user."""
    action()
    as_ordinary_user(action)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
