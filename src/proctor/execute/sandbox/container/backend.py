"""The way to isolate through a container engine: Docker or podman, with an image that is pinned by its layers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox import facts
from proctor.execute.sandbox.container import identity, images
from proctor.execute.sandbox.container.box import ContainerBox
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.container.start import start
from proctor.execute.sandbox.interface import Overlay, SandboxPlan


class ContainerBackend:
    """Implements ``Backend``.

    ``sessions`` is the directory for records of live sandboxes (see ``sessions.sweep``), ``socket`` the engine's Unix
    socket, ``layers`` the digests of the image's layers. Nothing is asked of the engine before it is needed.
    """

    name = "container"

    def __init__(self, sessions: Path, socket: str, layers: tuple[str, ...]) -> None:
        self._sessions = sessions.absolute()
        self._layers = images.check_layers(layers)
        self._engine = Engine(socket)
        self._image = ""

    def identity(self) -> Mapping[str, str]:
        self._prepare()
        self._sessions.mkdir(parents=True, exist_ok=True)
        return identity.of_image(self._sessions.parent, self._layers, self)

    def isolation(self) -> Mapping[str, str]:
        """An engine that cannot bound memory and processes is refused, so its control groups always do."""
        return {
            "memory": "cgroup",
            "processes": "cgroup",
            "workspace": "overlay" if self.overlays() else "copy",
            "engine": self._engine.identity(),
        }

    def overlays(self) -> bool:
        """Root mounts overlays where the engine sees them; anyone else works on a copy."""
        return os.geteuid() == 0 and facts.overlay_problem(self._sessions.parent) == ""

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        """One line for each requirement of ``require`` (``cgroup``, ``overlay``) that this machine does not meet."""
        lines: list[str] = []
        if "cgroup" in require and (problem := lacks(self._engine)):
            lines.append(f"cgroup: {problem}")
        if "overlay" in require and not self.overlays():
            problem = facts.overlay_problem(self._sessions.parent) if os.geteuid() == 0 else "needs root"
            lines.append(f"overlay: {problem}")
        return tuple(lines)

    def open(self, plan: SandboxPlan, meanwhile: Callable[[], None] | None = None) -> ContainerBox:
        if plan.guard is not None and os.geteuid() != 0:
            raise MissingIsolation("only root can watch a container", hint="run as root, or use the sandbox host")
        if isinstance(plan.workspace, Overlay) and os.geteuid() != 0:
            raise MissingIsolation("only root can mount a workspace for a container", hint="use a plain tree")
        self._prepare()
        self._sessions.mkdir(parents=True, exist_ok=True)
        name = f"proctor-{os.getpid()}-{os.urandom(6).hex()}"
        if meanwhile:
            meanwhile()
        return ContainerBox(start(plan, self._engine, self._image, self._sessions, name))

    def _prepare(self) -> None:
        """Find the image and see that the engine can bound what runs in it; asked once."""
        if self._image:
            return
        problem = lacks(self._engine)
        if problem:
            raise MissingIsolation(f"the engine cannot bound containers here: {problem}", where=self._engine.path)
        self._image = images.pinned(self._engine, self._layers).id


def lacks(engine: Engine) -> str:
    """What the engine cannot do here that a sandbox rests on; empty when it can do everything."""
    found = engine.about()
    if any("rootless" in str(option) for option in found.get("SecurityOptions") or ()):
        return "it runs without root, so the files of a workspace would change their owner"
    if any("userns" in str(option) for option in found.get("SecurityOptions") or ()):
        return "it maps users, so the files of a workspace would change their owner"
    absent = [name for name in ("MemoryLimit", "PidsLimit") if not found.get(name)]
    return f"no control group for {' and '.join(absent)}" if absent else ""
