"""Measure how long the processes of a sandbox were ready to run while the machine ran others instead.

That time does not count for the command. There are two ways to measure it:

    cgroup    the ``full`` line of the group's ``cpu.pressure``: processes of the group were ready and none of them ran.
              Time in which the group had used up its own quota is taken off.
    machine   without that file: a process of the group was ready, the group used less processor time than one processor
              has, and the machine had no idle processor. Sampled, so an estimate.

A command that sleeps, waits for a lock or computes all the time does not stall, however loaded the machine is.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from proctor.execute.sandbox.cgroup import Group

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
