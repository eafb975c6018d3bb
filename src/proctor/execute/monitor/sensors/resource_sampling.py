"""Samples of what a live sandbox uses, taken at a steady pace on a thread,
and the alerts that follow from two samples in a row.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from proctor.base.clock import NANOSECONDS, Clock, seconds_text
from proctor.base.dataclass_fields import field_items, field_names
from proctor.base.errors import ProctorError
from proctor.contract.policy import Budget
from proctor.execute.monitor.sensors.resource_usage import DiskUse, disk_of, nameless_bytes, process_use, start_ticks
from proctor.execute.sandbox.interface import HOME, WORKSPACE, Sandbox
from proctor.execute.workspace.workspace import Workspace

STORES = ("/tmp", HOME, "/dev/shm")
"""The memory file systems of a sandbox."""

DISK_SHARE = 20
"""Counting the disk may take at most one part in this many of the time."""

FULL_PERCENT = 99
NEAR_PERCENT = 95


@dataclass(frozen=True)
class Ceilings:
    """The limits for alerts; ``None`` is no limit. ``free_bytes`` must stay free on the machine's disk."""

    wall_seconds: int | None = None
    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    inodes: int | None = None
    processes: int | None = None
    free_bytes: int | None = 256 << 20


def ceilings_of(budget: Budget) -> Ceilings:
    """The ceilings that a contract's budget sets: its fields of the same names."""
    known = set(field_names(Ceilings))
    return Ceilings(**{name: value for name, value in field_items(budget) if name in known})


@dataclass(frozen=True)
class Store:
    """How full one memory file system is."""

    place: str
    used_bytes: int
    size_bytes: int
    used_inodes: int
    inodes: int

    @property
    def full(self) -> bool:
        """Whether next to nothing more fits in."""
        return self.used_bytes * 100 >= self.size_bytes * FULL_PERCENT or (
            self.inodes > 0 and self.used_inodes * 100 >= self.inodes * FULL_PERCENT
        )


@dataclass(frozen=True)
class Sample:
    """The use of a sandbox at one moment; ``None`` if this machine cannot measure it.

    ``unread`` directories could not be read, so the real ``disk_bytes`` and ``inodes`` may be higher.
    """

    wall_ns: int
    cpu_ns: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    inodes: int | None = None
    processes: int | None = None
    oom_kills: int | None = None
    free_bytes: int | None = None
    unread: int = 0
    stores: tuple[Store, ...] = ()

    def payload(self, phase: str) -> dict[str, Any]:
        """The payload of a ``monitor.sample`` event."""
        return {
            "wall_seconds": seconds_text(self.wall_ns),
            "cpu_seconds": None if self.cpu_ns is None else seconds_text(self.cpu_ns),
            "memory_bytes": self.memory_bytes,
            "disk_bytes": self.disk_bytes,
            "inodes": self.inodes,
            "processes": self.processes,
            "oom_kills": self.oom_kills,
            "phase": phase,
        }


@dataclass(frozen=True)
class Alert:
    """Something that a sample shows: a code, what was measured, and a sentence about it."""

    code: str
    grade: str
    signals: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""


class Sampler:
    """Takes samples of one sandbox. Not for several threads at a time."""

    def __init__(self, sandbox: Sandbox, workspace: Workspace, clock: Clock, limits: Ceilings) -> None:
        self.limits = limits
        self._sandbox = sandbox
        self._top = workspace.upper
        self._clock = clock
        self._start_ns = clock.steady_ns()
        self._init = sandbox.init_pid
        self._started = start_ticks(self._init) if self._init else None
        self._disk = disk_of(workspace)
        self._disk_use = DiskUse()
        self._next_disk_ns = 0

    def sample(self) -> Sample:
        """What is used now; a fault where the sandbox is closed."""
        usage = self._sandbox.usage()
        now = self._clock.steady_ns()
        alive = self._started is not None and start_ticks(self._init) == self._started
        cpu, memory, processes = usage.cpu_ns, usage.memory_bytes, usage.processes
        if alive and (memory is None or processes is None):
            seen = process_use(self._init)
            if seen is not None:
                memory = seen.memory_bytes if memory is None else memory
                processes = seen.processes if processes is None else processes
                cpu = max(cpu or 0, seen.cpu_ns)
        used = self._disk_now(now)
        return Sample(
            wall_ns=now - self._start_ns,
            cpu_ns=cpu,
            memory_bytes=memory,
            disk_bytes=used.bytes + (self._nameless() if alive else 0),
            inodes=used.inodes,
            processes=processes,
            oom_kills=usage.oom_kills,
            free_bytes=_free_bytes(os.fspath(self._top)),
            unread=used.unread,
            stores=tuple(self._stores()) if alive else (),
        )

    def close(self) -> None:
        """Let go of what a count of the disk may hold open."""
        self._disk.close()

    def _disk_now(self, now: int) -> DiskUse:
        """The disk as it was counted last; it is counted again when that has become cheap against the time since."""
        if now >= self._next_disk_ns:
            self._disk_use = self._disk.look()
            after = self._clock.steady_ns()
            self._next_disk_ns = after + (after - now) * (DISK_SHARE - 1)
        return self._disk_use

    def _nameless(self) -> int:
        try:
            return nameless_bytes(self._init, os.stat(f"/proc/{self._init}/root{WORKSPACE}").st_dev)
        except OSError:
            return 0

    def _stores(self) -> Iterator[Store]:
        for place in STORES:
            try:
                found = os.statvfs(f"/proc/{self._init}/root{place}")
            except OSError:
                continue
            size = found.f_blocks * found.f_frsize
            used = size - found.f_bfree * found.f_frsize
            yield Store(place, used, size, found.f_files - found.f_ffree, found.f_files)


def alerts(previous: Sample | None, sample: Sample, limits: Ceilings) -> tuple[Alert, ...]:
    """What ``sample`` shows that ``previous`` did not show yet."""
    before = {(alert.code, alert.signals.get("place")) for alert in _standing(previous, limits)} if previous else set()
    found = [alert for alert in _standing(sample, limits) if (alert.code, alert.signals.get("place")) not in before]
    kills, known = sample.oom_kills or 0, (previous.oom_kills or 0) if previous else 0
    if kills > known:
        signals = {"oom_kills": kills, "before": known}
        message = f"the kernel has ended {kills - known} processes for want of memory"
        found.append(Alert("oom", "alert", signals, message))
    return tuple(found)


def _standing(sample: Sample, limits: Ceilings) -> Iterator[Alert]:
    """Every ceiling that ``sample`` has reached."""
    for code, used, most in (
        ("wall", sample.wall_ns, limits.wall_seconds),
        ("cpu", sample.cpu_ns, limits.cpu_seconds),
    ):
        if used is not None and most is not None and used >= most * NANOSECONDS:
            signals = {f"{code}_seconds": seconds_text(used), "cap": most}
            yield Alert(code, "alert", signals, f"{seconds_text(used)} s of {code} time used; {most} s are allowed")
    for code, name, value, most in (
        ("disk", "disk_bytes", sample.disk_bytes, limits.disk_bytes),
        ("inodes", "inodes", sample.inodes, limits.inodes),
        ("processes", "processes", sample.processes, limits.processes),
    ):
        if value is not None and most is not None and value >= most:
            yield Alert(code, "alert", {name: value, "cap": most}, f"{name} is {value}; {most} are allowed")
    memory, most = sample.memory_bytes, limits.memory_bytes
    if memory is not None and most is not None and memory * 100 >= most * NEAR_PERCENT:
        message = f"{memory} of {most} bytes of memory are in use"
        yield Alert("memory", "notice", {"memory_bytes": memory, "cap": most}, message)
    free, least = sample.free_bytes, limits.free_bytes
    if free is not None and least is not None and free < least:
        message = f"the machine's disk has {free} bytes left; {least} must stay free"
        yield Alert("disk-low", "alert", {"free_bytes": free, "least": least}, message)
    for store in sample.stores:
        if store.full:
            yield Alert("tmpfs-full", "notice", dict(field_items(store)), f"nothing more fits into {store.place}")


def _free_bytes(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


INTERVAL_SECONDS = 1.0

Notify = Callable[[Sample, tuple[Alert, ...]], None]
"""Called for each sample with the alerts that the one before did not have."""


class SamplingThread:
    """A watch over one sandbox. It begins at once; end it with :meth:`stop`, or use it as a context."""

    def __init__(
        self,
        sampler: Sampler,
        notify: Notify,
        interval_seconds: float = INTERVAL_SECONDS,
        lost: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.problem = ""
        self._sampler = sampler
        self._notify = notify
        self._interval = interval_seconds
        self._lost = lost
        self._previous: Sample | None = None
        self._turn = threading.RLock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proctor-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether samples are still being taken."""
        return self._thread.is_alive()

    def look(self) -> bool:
        """Take a sample now, from whatever thread; whether there was anything to take it from."""
        with self._turn:
            try:
                sample = self._sampler.sample()
            except (ProctorError, OSError) as error:
                self.problem = self.problem or str(error)
                return False
            found = alerts(self._previous, sample, self._sampler.limits)
            self._previous = sample
            self._notify(sample, found)
            return True

    def stop(self) -> Sample | None:
        """End the watch, with one last sample where the sandbox is still there; the last sample that was taken."""
        if not self._stop.is_set():
            self._stop.set()
            if threading.current_thread() is self._thread:
                return self._previous
            self._thread.join()
            if not self.problem:
                self.look()
            self._sampler.close()
        return self._previous

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watch(self) -> None:
        try:
            while not self._stop.is_set() and self.look():
                self._stop.wait(self._interval)
        except (ProctorError, OSError) as error:
            self.problem = self.problem or str(error)
        finally:
            if not self._stop.is_set():
                self._lost(self.problem or "the watch has ended")
