"""Resource usage of a live sandbox: processes as read from ``/proc``, disk and inodes of the workspace."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.base.untrusted_directories import in_reach, join, open_top
from proctor.execute.monitor.sensors.workspace_scan import open_path, status_of
from proctor.execute.sandbox.interface import Tree
from proctor.execute.workspace.workspace import Workspace

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
    """The start time of a process, which with its pid identifies it; ``None`` if there is none."""
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
    """The use of the sandbox of pid 1 ``init``; ``None`` if it has ended."""
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
    """Whether everything below pid 1 ``init`` has stopped within ``seconds`` after the stop signal.

    Two scans must find the same threads, all of them stopped: a stopped thread starts nothing, so the second scan finds
    what the first one missed.
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
    """The disk space on ``device`` of deleted files that are still open inside."""
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


LOOK_NAMES = 20_000
BLOCK_BYTES = 512


@dataclass(frozen=True)
class DiskUse:
    """What was counted; ``complete`` when a pass over everything came to its end."""

    bytes: int = 0
    inodes: int = 0
    unread: int = 0
    complete: bool = True


def disk_of(workspace: Workspace, look_names: int = LOOK_NAMES) -> Disk:
    """The count for a workspace: of the upper directory of an overlay, or of what a copy has grown by from now on."""
    disk = Disk(workspace.upper, look_names=look_names)
    if isinstance(workspace.view(), Tree):
        disk.start_here()
    return disk


class Disk:
    """Counts the files below one directory."""

    def __init__(self, top: Path, *, look_names: int = LOOK_NAMES) -> None:
        self._top = top
        self._look_names = look_names
        self._base = DiskUse()
        self._last = DiskUse()
        self._pass: Generator[DiskUse, None, None] | None = None

    def start_here(self) -> None:
        """The present content does not count."""
        self.close()
        while not self.look().complete:
            pass
        self._base = self._last

    def look(self) -> DiskUse:
        """Continue counting for one scan; returns the result so far."""
        if self._pass is None:
            self._pass = self._count()
        found = next(self._pass)
        if found.complete:
            self.close()
            self._last = found
        return DiskUse(
            max(0, found.bytes - self._base.bytes, self._last.bytes - self._base.bytes),
            max(0, found.inodes - self._base.inodes, self._last.inodes - self._base.inodes),
            max(found.unread, self._last.unread),
            found.complete,
        )

    def close(self) -> None:
        """Let go of the directory that a look may have stopped in; the next look begins a new pass."""
        if self._pass is not None:
            self._pass.close()
            self._pass = None

    def _count(self) -> Generator[DiskUse, None, None]:
        """One pass: what was found so far at the end of each look, and at last everything."""
        size = names = unread = 0
        left = self._look_names
        for status in self._walk():
            if left == 0:
                yield DiskUse(size, names, unread, complete=False)
                left = self._look_names
            left -= 1
            if status is None:
                unread += 1
            else:
                names += 1
                size += _share(status)
        yield DiskUse(size, names, unread)

    def _walk(self) -> Iterator[os.stat_result | None]:
        """The status of every name; ``None`` for a directory that cannot be looked into."""
        waiting = [b""]
        top = open_top(self._top)
        try:
            while waiting:
                path = waiting.pop()
                try:
                    handle = open_path(top, path)
                except PermissionError:
                    yield None
                    continue
                if handle is None:
                    continue
                try:
                    for name, status in _listed_names(handle):
                        yield status
                        inner = join(path, name)
                        if stat.S_ISDIR(status.st_mode):
                            if in_reach(inner):
                                waiting.append(inner)
                            else:
                                yield None
                except PermissionError:  # names can be listed, but nothing can be known about them
                    yield None
                finally:
                    os.close(handle)
        finally:
            os.close(top)


def _listed_names(directory: int) -> Iterator[tuple[bytes, os.stat_result]]:
    """The names in an open directory, as they come; those that vanish meanwhile are left out."""
    with os.scandir(directory) as entries:
        for entry in entries:
            status = status_of(directory, name := os.fsencode(entry.name))
            if status is not None:
                yield name, status


def _share(status: os.stat_result) -> int:
    """The bytes on disk of one name."""
    size = status.st_blocks * BLOCK_BYTES
    if stat.S_ISDIR(status.st_mode) or status.st_nlink <= 1:
        return size
    return -(-size // status.st_nlink)
