"""A container as a control group: frozen and counted where the kernel shows it, else through the engine.

The engine makes and removes the group; its directories are found by the membership of pid 1.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.cgroup import FREEZE_SECONDS, Group, Place
from proctor.execute.sandbox.container.engine import Engine, EngineFault
from proctor.execute.sandbox.interface import Limits, Usage

ASK_SECONDS = 20
"""How long an engine may take to say what the kernel no longer shows; a healthy one takes a moment."""

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")


def directories_of(pid: int) -> tuple[dict[str, Path], Path | None]:
    """Where the groups of process ``pid`` are: version 1 by controller, version 2; nothing where it cannot be seen."""
    try:
        membership = Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return {}, None
    v1, v2 = locate(membership, Path("/proc/self/mountinfo").read_text())
    return {name: path for name, path in v1.items() if path.is_dir()}, v2 if v2 and v2.is_dir() else None


def locate(membership: str, mountinfo: str) -> tuple[dict[str, Path], Path | None]:
    """The directories of ``membership``, with the hierarchies in ``mountinfo``.

    Where version 1 bounds memory it is the one that engines use, whatever else there is. A group at the root of its
    hierarchy does not belong to one container.
    """
    lines = (line.split(":", 2) for line in membership.splitlines())
    own = {name: path for _, names, path in lines for name in names.split(",")}
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        root, target = left.split()[3:5]
        if kind == "cgroup":
            for name in options.split(" ")[-1].split(","):
                if name in CONTROLLERS and own.get(name, "/") != "/":
                    v1[name] = _below(target, root, own[name])
        elif kind == "cgroup2" and own.get("", "/") != "/":
            v2 = _below(target, root, own[""])
    return (v1, None) if "memory" in v1 else ({}, v2)


def _below(target: str, root: str, own: str) -> Path:
    inside = own[len(root) :] if root != "/" and own.startswith(root) else own
    return Path(target) / inside.lstrip("/")


class ContainerGroup(Group):
    """Implements the part of ``Group`` that a live sandbox uses, for container ``name`` of ``engine``."""

    overhead = 1
    """Pid 1 alone."""

    def __init__(self, engine: Engine, name: str) -> None:
        super().__init__(Place(v1={"freezer": Path("/nonexistent")}), name)
        self.engine = engine
        self.name = name
        self.paused = False
        self.v1 = {}

    def enter(self, pid: int) -> None:
        """From now on the group is the one that ``pid``, pid 1 of the container, is in."""
        self.v1, self.v2 = directories_of(pid)
        controllers = (self.v2 / "cgroup.controllers").read_text().split() if self.v2 else ()
        freezer = {"freezer": Path("/nonexistent")}  # whatever the kernel shows us, the engine can freeze
        self.place = Place({**freezer, **self.v1}, self.v2, frozenset(controllers))

    def create(self, limits: Limits) -> None:
        raise AssertionError("the engine makes the groups of its containers")

    def remove(self) -> None:
        """Nothing: the engine does it."""

    @property
    def open_to_us(self) -> bool:
        """Whether we can freeze the group by its own file."""
        file = self.v2 / "cgroup.freeze" if self.v2 else self.v1.get("freezer", Path("/nonexistent")) / "freezer.state"
        return os.access(file, os.W_OK)

    def freeze(self, frozen: bool, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Freeze or thaw by the group's own file, where that is open to us, else through the engine.

        The engine is slower, and it would wait in vain for what a guard holds, which ``meanwhile`` sees to.
        """
        if self.open_to_us:
            super().freeze(frozen, meanwhile)
        else:
            self._freeze_by_engine(frozen)
        self.paused = frozen

    def end_frozen(self) -> None:
        """Kill what is frozen and let it die; none of it runs again."""
        thawing = self.thawing() if self.open_to_us else None
        try:
            self.kill()
            if thawing:
                thawing[0].write_text(thawing[1])
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):  # the engine has removed the empty group
                raise

    def _freeze_by_engine(self, frozen: bool) -> None:
        deadline = time.monotonic() + FREEZE_SECONDS
        while not self._asked(frozen):
            if time.monotonic() > deadline:
                raise InfrastructureFault(f"the engine did not {'freeze' if frozen else 'thaw'} in {FREEZE_SECONDS} s")
            time.sleep(0.01)
        while not self._is(frozen):
            if time.monotonic() > deadline:
                raise InfrastructureFault(f"the sandbox did not {'freeze' if frozen else 'thaw'} in {FREEZE_SECONDS} s")
            time.sleep(0.0005)

    def _asked(self, frozen: bool) -> bool:
        """Ask the engine; false while its own record lags behind what it did last."""
        try:
            self.engine.call("POST", f"/containers/{self.name}/{'pause' if frozen else 'unpause'}")
        except EngineFault as fault:
            if fault.status not in (409, 500) or "paused" not in fault.message:
                raise
            return False
        return True

    def _is(self, frozen: bool) -> bool:
        """Whether the kernel agrees, as far as it can be seen."""
        try:
            if self.v2:
                return f"frozen {int(frozen)}" in (self.v2 / "cgroup.events").read_text()
            if "freezer" in self.v1:
                state = (self.v1["freezer"] / "freezer.state").read_text().strip()
                return state == ("FROZEN" if frozen else "THAWED")
        except OSError:
            pass
        return True

    def usage(self) -> Usage:
        if self.v1 or self.v2:
            used = super().usage()
            if used.cpu_ns is not None:
                return used
        return self._reported()

    def _reported(self) -> Usage:
        """What the engine says: little once the container has ended, and nothing if the engine is in trouble."""
        try:
            path = f"/containers/{self.name}"
            state: Any = self.engine.call("GET", f"{path}/json", seconds=ASK_SECONDS)["State"]
            if not state["Running"]:
                return Usage(None, None, int(bool(state.get("OOMKilled"))), 0)
            query = {"stream": "false", "one-shot": "true"}
            return _from_statistics(self.engine.call("GET", f"{path}/stats", query, seconds=ASK_SECONDS))
        except InfrastructureFault:
            return Usage(None, None, None, None)

    def ended(self) -> None:
        """Wait until the engine has noticed that the container has ended, for a while."""
        try:
            query = {"condition": "not-running"}
            self.engine.call("POST", f"/containers/{self.name}/wait", query, seconds=ASK_SECONDS)
        except InfrastructureFault:
            pass  # it has ended, or the engine has a problem: the kernel decides


def _from_statistics(found: Any) -> Usage:
    cpu = (found.get("cpu_stats") or {}).get("cpu_usage") or {}
    memory = found.get("memory_stats") or {}
    processes = (found.get("pids_stats") or {}).get("current")
    return Usage(
        cpu_ns=cpu.get("total_usage"),
        memory_peak_bytes=memory.get("max_usage"),
        oom_kills=None,
        processes=None if processes is None else max(0, int(processes) - ContainerGroup.overhead),
        memory_bytes=memory.get("usage"),
    )
