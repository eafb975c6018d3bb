"""The way to isolate through a container engine: Docker or podman, with an image that is pinned by its layers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.base.files import read_bounded, write_whole
from proctor.execute.sandbox import host_facts
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.container import images
from proctor.execute.sandbox.container.create_request import HiddenPath
from proctor.execute.sandbox.container.engine import Engine
from proctor.execute.sandbox.container.images import export, hidden_paths
from proctor.execute.sandbox.container.start import StartedContainer, start
from proctor.execute.sandbox.interface import Overlay, SandboxPlan


class LiveContainer(LiveSandbox):
    """Implements ``Sandbox`` on a started container."""

    def __init__(self, contained: StartedContainer) -> None:
        super().__init__(contained)
        self._contained = contained

    def _outer(self) -> tuple[int, ...]:
        """Nothing but pid 1 and its descendants is in a container's group."""
        return ()

    def _why_lost(self) -> tuple[str, bool]:
        if not self._closed:
            self._contained.container.ended()
        return super()._why_lost()


FOUND = "image-ids.json"
"""A file of the home with the ids under which images were found; each id is checked again before it is used."""

FOUND_BYTES = 1 << 20
AS_ROOT = "run proctor as root, or set environment.sandbox: host in the contract"
ROOT_ENGINE = (
    "name the socket of an engine that root runs in DOCKER_HOST (unix:///run/docker.sock, unix:///run/podman/podman.sock;"
    " tools/engine starts one), or set environment.sandbox: host in the contract"
)


class ContainerBackend:
    """Implements ``SandboxBackend``.

    ``sessions`` is the directory for records of live sandboxes (see ``sessions.sweep``), ``socket`` the engine's Unix
    socket, ``layers`` the digests of the image's layers, ``hide`` the paths or globs of the image that no sandbox
    shows. Nothing is asked of the engine before it is needed.
    """

    name = "container"
    watched = True

    def __init__(self, sessions: Path, socket: str, layers: tuple[str, ...], hide: tuple[str, ...] = ()) -> None:
        self._sessions = sessions.absolute()
        self._layers = images.check_layers(layers)
        self._engine = Engine(socket)
        self._hide = hide
        self._hidden: tuple[HiddenPath, ...] = ()
        self._image = ""
        self._found = ""

    def identity(self) -> Mapping[str, str]:
        self._prepare()
        self._sessions.mkdir(parents=True, exist_ok=True)
        return images.of_image(self._sessions.parent, self._layers, self._hide, self)

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
        return os.geteuid() == 0 and host_facts.overlay_problem(self._sessions.parent) == ""

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        """One line for each requirement of ``require`` (``cgroup``, ``overlay``) that this machine does not meet."""
        lines: list[str] = []
        if "cgroup" in require and (problem := lacks(self._engine)):
            lines.append(f"cgroup: {problem}")
        if "overlay" in require and not self.overlays():
            problem = host_facts.overlay_problem(self._sessions.parent) if os.geteuid() == 0 else "needs root"
            lines.append(f"overlay: {problem}")
        return tuple(lines)

    def open(self, plan: SandboxPlan) -> LiveContainer:
        problem = cannot_watch() if plan.guard is not None else ""
        if problem:
            raise MissingIsolation(problem, hint=AS_ROOT)
        if isinstance(plan.workspace, Overlay) and os.geteuid() != 0:
            raise MissingIsolation("only root can mount a workspace for a container", hint="use a plain tree")
        self._prepare()
        self._sessions.mkdir(parents=True, exist_ok=True)
        name = f"proctor-{os.getpid()}-{os.urandom(6).hex()}"
        return LiveContainer(start(plan, self._engine, self._image, self._sessions, name, self._hidden))

    def require(self, *, watched: bool) -> None:
        """Refuse an engine that cannot do its part, or lacks the image; ``watched``: whether an agent is to act."""
        self._pinned()
        problem = cannot_watch() if watched else ""
        if problem:
            raise MissingIsolation(problem, where=self._engine.path, hint=AS_ROOT)

    def export(self, target: Path) -> None:
        """Write the files of the image to ``target``, a tar archive; nothing is hidden in it."""
        export(self._engine, self._pinned(), self._sessions, target)

    def _prepare(self) -> None:
        """Find the image and see that the engine can bound what runs in it; asked once."""
        if self._image:
            return
        image = self._pinned()
        self._hidden = hidden_paths(self._engine, image, self._layers, self._hide, self._sessions)
        self._image = image

    def _pinned(self) -> str:
        """The id of the image, on an engine that can bound what runs in it."""
        problem = lacks(self._engine)
        if problem:
            message = f"{self._engine.identity()} cannot run sandboxes: {problem}"
            raise MissingIsolation(message, where=self._engine.path, hint=ROOT_ENGINE)
        if not self._found:
            kept = self._sessions.parent / FOUND
            known = read_known(kept)
            key = digest(list(self._layers))
            self._found = images.pinned(self._engine, self._layers, known.get(key, "")).id
            if known.get(key) != self._found and kept.parent.is_dir():
                write_whole(kept, canonical({**known, key: self._found}), sync=False)
        return self._found


def read_known(kept: Path) -> dict[str, str]:
    """Ids of images by the digest of their layers; nothing if the file is missing or damaged."""
    try:
        found = parse(read_bounded(kept, FOUND_BYTES))
        return {str(key): str(value) for key, value in found.items()}
    except (OSError, InfrastructureFault, ValueError, AttributeError):
        return {}


def lacks(engine: Engine) -> str:
    """What the engine cannot do here that a sandbox rests on; empty when it can do everything."""
    found = engine.about()
    # Docker lists it among its options; podman 4 has a field of its own for it.
    if found.get("Rootless") or any("rootless" in str(option) for option in found.get("SecurityOptions") or ()):
        return "it runs without root, so the files of a workspace would change their owner"
    if any("userns" in str(option) for option in found.get("SecurityOptions") or ()):
        return "it maps users, so the files of a workspace would change their owner"
    absent = [name for name in ("MemoryLimit", "PidsLimit") if not found.get(name)]
    return f"no control group for {' and '.join(absent)}" if absent else ""


def cannot_watch() -> str:
    """Why no agent can act in a container of this user; empty for root."""
    if os.geteuid() == 0:
        return ""
    return f"only root can watch an agent in a container, and this is user {os.geteuid()}"
