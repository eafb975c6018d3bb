"""The built-in sandbox backend.

Bubblewrap and the kernel, as root or as an ordinary user. Also finds the ``bwrap`` program.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox import host_facts
from proctor.execute.sandbox.bubblewrap import start
from proctor.execute.sandbox.bubblewrap.bwrap_arguments import STAGE
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.cgroup import Group, Place, detect
from proctor.execute.sandbox.interface import SandboxPlan

VARIABLE = "PROCTOR_BWRAP"
NAME = "bwrap"
INSTALL = f"apt-get install bubblewrap, or set {VARIABLE} to its absolute path"


def find_bubblewrap(variables: Mapping[str, str]) -> str:
    """The absolute path of bubblewrap; :class:`MissingIsolation` if there is none."""
    named = variables.get(VARIABLE, "")
    if named and not os.path.isabs(named):
        raise MissingIsolation(f"{VARIABLE} is not an absolute path", where=named, hint="write the whole path")
    if named and not _is_program(named):
        raise MissingIsolation(f"the file that {VARIABLE} names is not a program", where=named, hint=INSTALL)
    if named:
        return _visible(named)
    for directory in variables.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, NAME)
        if os.path.isabs(directory) and _is_program(path):
            return _visible(path)
    raise MissingIsolation("bubblewrap is not installed: no bwrap on PATH", hint=INSTALL)


def _visible(path: str) -> str:
    """``path`` without links; one below the directory that is mounted over before bubblewrap starts is refused."""
    real = os.path.realpath(path)
    if real.startswith(f"{STAGE}/"):
        raise MissingIsolation(
            f"bubblewrap is below {STAGE} and cannot be started from there", where=real, hint="move it elsewhere"
        )
    return real


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


class BubblewrapBackend:
    """Implements ``SandboxBackend``; ``sessions`` is the directory for records of live sandboxes."""

    name = "bubblewrap"
    watched = True

    def __init__(self, sessions: Path, *, place: Place | None = None) -> None:
        self._sessions = sessions
        self._place = place

    def identity(self) -> Mapping[str, str]:
        return host_facts.identity(self._sessions.parent)

    def isolation(self) -> Mapping[str, str]:
        place = self.place
        return {
            "memory": "cgroup" if place.limits_memory else "rlimit",
            "processes": "cgroup" if place.limits_processes else "rlimit",
            "workspace": "overlay" if self.overlays() else "copy",
        }

    def overlays(self) -> bool:
        return host_facts.overlay_problem(self._sessions.parent) == ""

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        """One line for each requirement of ``require`` (``cgroup``, ``overlay``) that this machine does not meet."""
        lines: list[str] = []
        place = self.place
        if "cgroup" in require and not (place.limits_memory and place.limits_processes):
            lines.append("cgroup: no control group for memory and processes is open to this user")
        if "overlay" in require:
            problem = host_facts.overlay_problem(self._sessions.parent)
            if problem:
                lines.append(f"overlay: {problem}")
        return tuple(lines)

    def open(self, plan: SandboxPlan) -> LiveSandbox:
        program = find_bubblewrap(os.environ)
        self._sessions.mkdir(parents=True, exist_ok=True)
        name = f"proctor-{os.urandom(9).hex()}"  # processes inside may read it, so it says nothing
        hiding = replace(plan, masked=(*plan.masked, self._sessions.parent))  # runs, layers and inputs are next to them
        return LiveSandbox(start.start(hiding, program, Group(self.place, name), self._sessions, name))

    @property
    def place(self) -> Place:
        """Where control groups can be made; looked up once."""
        if self._place is None:
            self._place = detect()
        return self._place
