"""Kills processes of sandboxes from the host, by pid, as a machine or a careless operator does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path


def processes(marker: str) -> list[int]:
    """The processes inside some sandbox that have ``marker`` among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if marker.encode() in words and words[0] != b"/usr/bin/bwrap":
            found.append(int(entry.name))
    return sorted(found)


def init_of(pid: int) -> int:
    """Pid 1 of the sandbox that ``pid`` is in: the ancestor whose number inside is 1."""
    while True:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
        )
        if fields["NSpid"].split()[-1] == "1" and len(fields["NSpid"].split()) > 1:
            return pid
        pid = int(fields["PPid"])


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


@contextmanager
def killer(
    marker: str,
    which: Container[int] = (0,),
    number: int = signal.SIGKILL,
    whom: Callable[[int], int] = lambda pid: pid,
    delay_seconds: float = 0.05,
) -> Iterator[list[int]]:
    """For the time of a ``with`` block, kill processes that carry ``marker`` and have lived for a while.

    ``which`` are their places in the order in which they were seen; gives the pids of those that were killed.
    """
    killed: list[int] = []
    seen: dict[int, float] = {}
    order: list[int] = []
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            for pid in processes(marker):
                begun = seen.setdefault(pid, time.monotonic())
                if pid in order or time.monotonic() - begun < delay_seconds:
                    continue
                order.append(pid)
                if len(order) - 1 in which:
                    kill(whom(pid), number)
                    killed.append(pid)
            over.wait(0.01)

    thread = threading.Thread(target=work, name="killer")
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
