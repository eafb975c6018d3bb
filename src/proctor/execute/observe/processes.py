"""What the processes of a sandbox use, read from ``/proc``: for machines without control groups, and for deleted files.

Pid 1 of a sandbox is the forebear of everything inside, so its descendants are all there is. The numbers are lower
bounds: processes come and go during a look. Pages that processes share are left out of their memory, save those that
a fork shares until somebody writes to them, which count for each.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

MOST_PROCESSES = 4096
MOST_FILES = 20_000
_AT_REST = frozenset("TtZXx")


@dataclass(frozen=True)
class ProcessUse:
    """What was found; pid 1 itself is not counted as a process, but the time of those that it has buried is."""

    processes: int
    cpu_ns: int
    memory_bytes: int


def start_ticks(pid: int) -> int | None:
    """When a process started, which with its pid names it for good; ``None`` where there is none."""
    fields = _fields(pid)
    return int(fields[19]) if fields else None


def descendants(init: int) -> list[int]:
    """Pid 1 of a sandbox and all that descend from it, with pids as they are out here."""
    found: list[int] = []
    waiting = [init]
    while waiting and len(found) < MOST_PROCESSES:
        pid = waiting.pop()
        found.append(pid)
        waiting.extend(_children(pid))
    return found


def process_use(init: int) -> ProcessUse | None:
    """What the sandbox of pid 1 ``init`` uses; ``None`` where it is gone."""
    ticks = pages = count = 0
    for pid in descendants(init):
        fields = _fields(pid)
        if fields is None:
            if pid == init:
                return None
            continue
        ticks += sum(int(field) for field in fields[11:15])
        if pid != init and fields[0] != "Z":
            count += 1
            pages += _own_pages(pid)
    nanoseconds = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return ProcessUse(count, ticks * nanoseconds, pages * os.sysconf("SC_PAGE_SIZE"))


def come_to_rest(init: int, seconds: float) -> bool:
    """Whether everything below pid 1 ``init``, which was told to stop, has stopped within so many seconds.

    Two looks must find the same threads, all of them stopped: what is stopped starts nothing, so what the first look
    missed the second one finds.
    """
    deadline = time.monotonic() + seconds
    before: frozenset[str] | None = None
    while True:
        now = _stopped_threads(init)
        if now is not None and now == before:
            return True
        before = now
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.001 if now is not None else 0.01)


def _stopped_threads(init: int) -> frozenset[str] | None:
    """Every thread below ``init``; ``None`` where one still runs."""
    found: set[str] = set()
    pids = descendants(init)
    if len(pids) >= MOST_PROCESSES:
        return None
    for pid in pids[1:]:
        for task in _names(f"/proc/{pid}/task"):
            text = _text(f"/proc/{pid}/task/{task}/stat").rpartition(")")[2].split()
            if text and text[0] not in _AT_REST:
                return None
            found.add(f"{pid}/{task}")
    return frozenset(found)


def nameless_bytes(init: int, device: int) -> int:
    """The disk space on ``device`` of files that have no name any more and are still held open inside."""
    seen: dict[int, int] = {}
    looked = 0
    for pid in descendants(init):
        for handle in _names(f"/proc/{pid}/fd"):
            looked += 1
            if looked > MOST_FILES:
                return sum(seen.values())
            try:
                status = os.stat(f"/proc/{pid}/fd/{handle}")
            except OSError:
                continue
            if status.st_dev == device and status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                seen[status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def _children(pid: int) -> Iterator[int]:
    for task in _names(f"/proc/{pid}/task"):
        yield from (int(child) for child in _text(f"/proc/{pid}/task/{task}/children").split())


def _fields(pid: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` from the state on; the name before them may hold anything."""
    text = _text(f"/proc/{pid}/stat")
    fields = text.rpartition(")")[2].split()
    return fields if len(fields) > 20 else None


def _own_pages(pid: int) -> int:
    fields = _text(f"/proc/{pid}/statm").split()
    return max(0, int(fields[1]) - int(fields[2])) if len(fields) > 2 else 0


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
