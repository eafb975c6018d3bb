"""Control groups: where this machine lets us make them (version 1, version 2, both, none) and one group per sandbox.

Groups are made below the harness's own, so limits that others have set on the harness stay in force. Version 2 holds
everything where it has the memory and pids controllers; on hybrid machines version 1 limits while version 2 freezes,
kills and counts time. An ordinary user gets a group only where one was delegated to them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.interface import Limits, Usage

LIMIT_SLACK_BYTES = 4 << 20
"""A group this close to its limit may be refused more memory, because the kernel asks for whole huge pages."""

FREEZE_SECONDS = 30
PERIOD_MICROSECONDS = 100_000


@dataclass(frozen=True)
class Place:
    """Where groups can be made: directories of version 1 by controller, the one of version 2 with its controllers."""

    v1: dict[str, Path] = field(default_factory=dict)
    v2: Path | None = None
    v2_controllers: frozenset[str] = frozenset()

    @property
    def limits_memory(self) -> bool:
        return "memory" in self.v2_controllers or "memory" in self.v1

    @property
    def limits_processes(self) -> bool:
        return "pids" in self.v2_controllers or "pids" in self.v1

    @property
    def freezes(self) -> bool:
        return self.v2 is not None or "freezer" in self.v1


def detect(mountinfo: str | None = None, membership: str | None = None) -> Place:
    """The places open to this process; in tests, the arguments replace the two files of ``/proc/self``."""
    mountinfo = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    membership = Path("/proc/self/cgroup").read_text() if membership is None else membership
    own: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    v1: dict[str, Path] = {}
    v2: Path | None = None
    controllers_v2: frozenset[str] = frozenset()
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        root, target = left.split()[3:5]
        if kind == "cgroup":
            for controller in options.split(" ")[-1].split(","):
                place = _below(target, root, own.get(controller, ""))
                if controller in ("memory", "pids", "cpu", "cpuacct", "freezer") and _open_to_us(place):
                    v1[controller] = place
        elif kind == "cgroup2" and v2 is None:
            v2, controllers_v2 = _delegated(_below(target, root, own.get("", "")), Path(target))
    if {"memory", "pids"} <= controllers_v2:
        v1 = {}
    return Place(v1, v2, controllers_v2)


def _below(target: str, root: str, own: str) -> Path:
    """The directory of the group ``own`` on a hierarchy whose ``root`` is mounted at ``target``."""
    inside = own[len(root) :] if root != "/" and own.startswith(root) else own
    return Path(target) / inside.lstrip("/")


def _open_to_us(place: Path) -> bool:
    return os.access(place, os.W_OK | os.X_OK) and os.access(place / "cgroup.procs", os.W_OK)


def _delegated(own: Path, top: Path) -> tuple[Path | None, frozenset[str]]:
    """The nearest group of version 2, from our own upwards, in which groups with controllers can be made.

    A group with processes in it cannot hand controllers to children, so a delegated parent is the usual answer. Without
    any, our own group still serves to freeze and kill.
    """
    place, usable = own, None
    while True:
        if not _open_to_us(place):
            break
        usable = usable or place
        enabled = _words(place / "cgroup.subtree_control") or (_enable(place) if place == top else frozenset())
        if {"memory", "pids"} <= enabled:
            return place, enabled
        if place == top:
            break
        place = place.parent
    return usable, frozenset()


def _enable(place: Path) -> frozenset[str]:
    """Hand the controllers we need to children of the top group, which may hold processes at the same time."""
    for controller in ("memory", "pids", "cpu"):
        if controller in _words(place / "cgroup.controllers"):
            try:
                (place / "cgroup.subtree_control").write_text(f"+{controller}")
            except OSError:
                pass
    return _words(place / "cgroup.subtree_control")


def _words(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text().split())
    except OSError:
        return frozenset()


class Group:
    """The groups of one sandbox, one directory on each hierarchy; none at all where nothing is delegated."""

    overhead = 2
    """Processes that a sandbox's own limit must not count: bwrap and pid 1."""

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.v1 = {controller: path / name for controller, path in place.v1.items()}
        self.v2 = place.v2 / name if place.v2 else None
        if self.v2:
            for controller in ("freezer", "cpuacct"):
                self.v1.pop(controller, None)

    @property
    def directories(self) -> tuple[Path, ...]:
        return (*dict.fromkeys(self.v1.values()), *((self.v2,) if self.v2 else ()))

    def thawing(self) -> tuple[Path, str] | None:
        """The file to write, and what to write, so that everything in the group runs again."""
        if self.v2:
            return self.v2 / "cgroup.freeze", "0"
        if "freezer" in self.v1:
            return self.v1["freezer"] / "freezer.state", "THAWED"
        return None

    def create(self, limits: Limits) -> None:
        """Make the groups and set their limits."""
        for directory in self.directories:
            directory.mkdir()
        processes = limits.processes + self.overhead
        quota = limits.cpu_cores * PERIOD_MICROSECONDS
        whole = limits.cpu_cores >= (os.cpu_count() or 1)
        if self.v2 and {"memory", "pids"} <= self.place.v2_controllers:
            _write(self.v2 / "memory.max", limits.memory_bytes)
            _write_if_there(self.v2 / "memory.swap.max", 0)
            _write(self.v2 / "pids.max", processes)
            if not whole and "cpu" in self.place.v2_controllers:
                _write(self.v2 / "cpu.max", f"{quota} {PERIOD_MICROSECONDS}")
        if "memory" in self.v1:
            _write(self.v1["memory"] / "memory.limit_in_bytes", limits.memory_bytes)
            _write_if_there(self.v1["memory"] / "memory.memsw.limit_in_bytes", limits.memory_bytes)
        if "pids" in self.v1:
            _write(self.v1["pids"] / "pids.max", processes)
        if "cpu" in self.v1 and not whole:
            _write(self.v1["cpu"] / "cpu.cfs_period_us", PERIOD_MICROSECONDS)
            _write(self.v1["cpu"] / "cpu.cfs_quota_us", quota)

    def freeze(self, frozen: bool, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Stop or continue everything in the group, and wait until it is so; ``meanwhile`` is called when it is not."""
        deadline = time.monotonic() + FREEZE_SECONDS
        while not self._set_frozen(frozen):
            meanwhile()
            if time.monotonic() > deadline:
                raise InfrastructureFault(f"the sandbox did not {'freeze' if frozen else 'thaw'} in {FREEZE_SECONDS} s")
            time.sleep(0.0005)

    def is_frozen(self) -> bool:
        """Whether everything in the group is frozen, by Proctor or by another process."""
        try:
            if self.v2:
                return "frozen 1" in _read(self.v2 / "cgroup.events")
            return "freezer" in self.v1 and _read(self.v1["freezer"] / "freezer.state").strip() == "FROZEN"
        except OSError:
            return False

    def _set_frozen(self, frozen: bool) -> bool:
        if self.v2:
            if _read(self.v2 / "cgroup.freeze").strip() != str(int(frozen)):
                _write(self.v2 / "cgroup.freeze", int(frozen))
            return f"frozen {int(frozen)}" in _read(self.v2 / "cgroup.events")
        state = "FROZEN" if frozen else "THAWED"
        _write(self.v1["freezer"] / "freezer.state", state)
        return _read(self.v1["freezer"] / "freezer.state").strip() == state

    def processes(self) -> tuple[int, ...]:
        """The pids of everything in the group."""
        directories = self.directories
        return tuple(int(pid) for pid in _read(directories[-1] / "cgroup.procs").split()) if directories else ()

    def kill(self, but: tuple[int, ...] = ()) -> None:
        """Send SIGKILL to everything in the group but the pids in ``but``; frozen processes die when they thaw."""
        for pid in self.processes():
            if pid > 0 and pid not in but:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def usage(self) -> Usage:
        memory = self.v2 if "memory" in self.place.v2_controllers else self.v1.get("memory")
        pids = self.v2 if "pids" in self.place.v2_controllers else self.v1.get("pids")
        peak = "memory.peak" if memory == self.v2 else "memory.max_usage_in_bytes"
        kills = "memory.events" if memory == self.v2 else "memory.oom_control"
        current = _number(pids / "pids.current") if pids else None
        return Usage(
            cpu_ns=self.cpu_ns(),
            memory_peak_bytes=_number(memory / peak) if memory else None,
            oom_kills=_field(memory / kills, "oom_kill") if memory else None,
            processes=None if current is None else max(0, current - self.overhead),
            memory_bytes=_held_bytes(memory, modern=memory == self.v2) if memory else None,
            limit_hits=_limit_hits(memory, modern=memory == self.v2) if memory else None,
        )

    def stalled_ns(self) -> int | None:
        """How long processes of the group were ready and none ran, though the group had not used up its own quota.

        ``None`` if the kernel does not count it.
        """
        stalled = _pressure_ns(self.v2 / "cpu.pressure") if self.v2 else None
        if stalled is None or self.v2 is None:
            return None
        throttled = (_field(self.v2 / "cpu.stat", "throttled_usec") or 0) * 1000
        if "cpu" in self.v1:
            throttled += _field(self.v1["cpu"] / "cpu.stat", "throttled_time") or 0
        return max(0, stalled - throttled)

    def cpu_ns(self) -> int | None:
        """The processor time that the group has used; ``None`` if the kernel does not count it."""
        if self.v2:
            microseconds = _field(self.v2 / "cpu.stat", "usage_usec")
            return None if microseconds is None else microseconds * 1000
        return _number(self.v1["cpuacct"] / "cpuacct.usage") if "cpuacct" in self.v1 else None

    def remove(self) -> None:
        """Remove the directories; they may already be removed."""
        for directory in self.directories:
            remove_group(directory)


def remove_group(directory: Path) -> bool:
    """Remove one empty group, waiting a little for processes that are just going; whether there was one."""
    for _ in range(1000):
        try:
            directory.rmdir()
        except FileNotFoundError:
            return False
        except OSError:
            time.sleep(0.002)
        else:
            return True
    raise InfrastructureFault("the control group does not become empty", where=str(directory))


def _held_bytes(memory: Path, *, modern: bool) -> int | None:
    """The memory that a group holds, without the part of its page cache that is dropped at the first need."""
    whole = _number(memory / ("memory.current" if modern else "memory.usage_in_bytes"))
    if whole is None:
        return None
    return max(0, whole - (_field(memory / "memory.stat", "inactive_file" if modern else "total_inactive_file") or 0))


def _limit_hits(memory: Path, *, modern: bool) -> int | None:
    """How often a group reached its own memory limit; 0 if it never did.

    The kernel counts kills for every reason, also for a limit further up or a machine without free memory. Version 1
    does not count every time that a group reaches its limit, so the group's peak usage is checked as well.
    """
    if modern:
        return _field(memory / "memory.events", "oom")
    peak, limit = _number(memory / "memory.max_usage_in_bytes"), _number(memory / "memory.limit_in_bytes")
    if peak is None or limit is None:
        return None
    counted = sum(_number(memory / name) or 0 for name in ("memory.failcnt", "memory.memsw.failcnt"))
    return counted + int(peak > limit - LIMIT_SLACK_BYTES)


def _pressure_ns(path: Path) -> int | None:
    """The total of the ``full`` line of a pressure file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:  # missing or switched off
        return None
    for line in lines:
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if kind == "full" and total.isdigit():
            return int(total) * 1000
    return None


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value))


def _write_if_there(path: Path, value: int) -> None:
    if path.exists():
        _write(path, value)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _field(path: Path, name: str) -> int | None:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None


LOOK_MS = 50
"""How often to measure. The kernel gives the mean over processors since the last reading, which is too low if a process
moved between processors in that time. So the guardian also reads it, and more often (see ``native/guardian.c``)."""
SAMPLE_NS = 200_000_000
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class StallClock:
    """Counts from its creation. ``source`` says how it measures; it is empty if this machine cannot measure."""

    def __init__(self, group: Group) -> None:
        self._group = group
        begin = group.stalled_ns()
        self.source = "cgroup" if begin is not None else "machine" if group.cpu_ns() is not None else ""
        self._begin_ns = begin or 0
        self._stalled_ns = 0
        self._last = self._sample()

    def look(self) -> None:
        """Measure once; call this every ``LOOK_MS``."""
        if self.source == "cgroup":
            self._stalled_ns = max(self._stalled_ns, (self._group.stalled_ns() or 0) - self._begin_ns)
        elif self.source and time.monotonic_ns() - self._last[0] >= SAMPLE_NS:
            now = self._sample()
            wall, own, idle = (after - before for before, after in zip(self._last, now, strict=True))
            if wall > own + idle and _any_is_ready(self._group):
                self._stalled_ns += wall - max(0, own) - max(0, idle)
            self._last = now

    def read_ns(self) -> int:
        """The stalled nanoseconds so far."""
        self.look()
        return self._stalled_ns

    def _sample(self) -> tuple[int, int, int]:
        """The time, the processor time that the group has used, and the idle time of all processors."""
        return time.monotonic_ns(), self._group.cpu_ns() or 0, _idle_ns()


def _idle_ns() -> int:
    with open("/proc/stat", "rb") as file:
        fields = file.readline().split()
    return (int(fields[4]) + int(fields[5])) * TICK_NS


def _any_is_ready(group: Group) -> bool:
    """Whether a thread of the group runs or could run."""
    for pid in group.processes():
        for task in Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                if task.read_bytes().rpartition(b")")[2].split()[0] == b"R":
                    return True
            except (OSError, IndexError):
                continue  # it has ended
    return False
