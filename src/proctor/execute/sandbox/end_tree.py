"""Processes of a live sandbox as the host sees them: found by their pid namespace, ended as a tree."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def end_tree(init_pid: int, pid: int) -> int:
    """Kill the process that is ``pid`` inside the sandbox of ``init_pid``, with all its descendants; how many."""
    parents: dict[int, int] = {}
    target = 0
    for host, (parent, inside) in _inside(init_pid).items():
        parents[host] = parent
        if inside == pid:
            target = host
    if not target or target == init_pid:
        return 0
    doomed = {target}
    while grown := {host for host, parent in parents.items() if parent in doomed} - doomed:
        doomed |= grown
    for host in doomed:
        try:
            os.kill(host, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(doomed)


def _inside(init_pid: int) -> dict[int, tuple[int, int]]:
    """The processes in the pid namespace of ``init_pid``: by host pid, the parent's host pid and the pid inside."""
    namespace = os.readlink(f"/proc/{init_pid}/ns/pid")
    found: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "ns" / "pid") == namespace:
                found[int(entry.name)] = _numbers((entry / "status").read_text())
        except OSError:
            continue
    return found


def _numbers(status: str) -> tuple[int, int]:
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(fields["PPid"]), int(fields["NSpid"].split()[-1])
