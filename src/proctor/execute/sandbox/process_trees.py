"""Processes of a live sandbox as the host sees them: found by their pid namespace, ended with what came from them."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

STACK = 28
"""Which field of ``/proc/PID/stat`` says where the stack begins; the third one is the first after the name."""


@dataclass(frozen=True)
class _Place:
    """The place of a process: its pid inside, and the host's pids of its ancestors."""

    inside: int
    parent: int
    leaders: frozenset[int]
    """The leaders of its process group and of its session; they may have ended."""
    stack: int
    """Where its stack begins: chosen at random for a program, and the same in all its forks. 0 is unknown."""


def end_trees(init_pid: int, pid: int, others: tuple[int, ...] = ()) -> int:
    """Kill the process that is ``pid`` inside the sandbox of ``init_pid``, with all that came from it; how many.

    Everything that it is an ancestor of came from it, what is in a process group or session of theirs, and their forks.
    ``others`` are known to have come from it. Their parents then did too, up to where its own ancestors begin: a fork
    that has left the tree is found by what it has started.
    """
    places = _inside(init_pid)
    doomed = {host for host, place in places.items() if place.inside == pid} - {init_pid}
    if not doomed:
        return 0
    spared = _ancestors(places, *doomed) | {init_pid}
    foreign = {places[host].stack for host in spared} | {0}
    doomed |= {host for host, place in places.items() if place.inside in others} - spared
    while True:
        stacks = {places[host].stack for host in doomed} - foreign
        grown = {places[host].parent for host in doomed} & places.keys()
        for host, place in places.items():
            if place.parent in doomed or place.leaders & doomed or place.stack in stacks:
                grown.add(host)
        if not grown - spared - doomed:
            break
        doomed |= grown - spared
    for host in doomed:
        try:
            os.kill(host, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(doomed)


def _ancestors(places: dict[int, _Place], host: int) -> set[int]:
    found: set[int] = set()
    while (host := places[host].parent) in places and host not in found:
        found.add(host)
    return found


def _inside(init_pid: int) -> dict[int, _Place]:
    """The processes in the pid namespace of ``init_pid``, by their pid on the host."""
    namespace = os.readlink(f"/proc/{init_pid}/ns/pid")
    found: dict[int, _Place] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "ns" / "pid") == namespace:
                found[int(entry.name)] = _place((entry / "status").read_text(), (entry / "stat").read_text())
        except OSError:
            continue
    return found


def _place(status: str, stat: str) -> _Place:
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    leaders = frozenset(int(fields[name].split()[0]) for name in ("NSpgid", "NSsid"))
    stack = int(stat.rpartition(")")[2].split()[STACK - 3])
    return _Place(int(fields["NSpid"].split()[-1]), int(fields["PPid"]), leaders, stack)
