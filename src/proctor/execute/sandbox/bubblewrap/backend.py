"""The way to isolate that needs nothing but bubblewrap and the kernel, as root or as an ordinary user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from proctor.execute.sandbox import facts
from proctor.execute.sandbox.bubblewrap import start
from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.execute.sandbox.bubblewrap.program import find_bubblewrap
from proctor.execute.sandbox.cgroup import Group, Place, detect
from proctor.execute.sandbox.interface import SandboxPlan


class BubblewrapBackend:
    """Implements ``Backend``. ``sessions`` is the directory for records of live sandboxes (see ``sessions.sweep``)."""

    name = "bubblewrap"

    def __init__(self, sessions: Path, *, place: Place | None = None) -> None:
        self._sessions = sessions
        self._place = place

    def identity(self) -> Mapping[str, str]:
        return facts.identity(self._sessions.parent)

    def isolation(self) -> Mapping[str, str]:
        place = self.place
        return {
            "memory": "cgroup" if place.limits_memory else "rlimit",
            "processes": "cgroup" if place.limits_processes else "rlimit",
            "workspace": "overlay" if self.overlays() else "copy",
        }

    def overlays(self) -> bool:
        return facts.overlay_problem(self._sessions.parent) == ""

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        """One line for each requirement of ``require`` (``cgroup``, ``overlay``) that this machine does not meet."""
        lines: list[str] = []
        place = self.place
        if "cgroup" in require and not (place.limits_memory and place.limits_processes):
            lines.append("cgroup: no control group for memory and processes is open to this user")
        if "overlay" in require:
            problem = facts.overlay_problem(self._sessions.parent)
            if problem:
                lines.append(f"overlay: {problem}")
        return tuple(lines)

    def open(self, plan: SandboxPlan) -> Box:
        program = find_bubblewrap(os.environ)
        self._sessions.mkdir(parents=True, exist_ok=True)
        name = f"proctor-{os.urandom(9).hex()}"  # processes inside may read it, so it says nothing
        hiding = replace(plan, masked=(*plan.masked, self._sessions.parent))  # runs, layers and inputs lie beside them
        return Box(start.start(hiding, program, Group(self.place, name), self._sessions, name))

    @property
    def place(self) -> Place:
        """Where control groups can be made; looked up once."""
        if self._place is None:
            self._place = detect()
        return self._place
