"""Kills processes of sandboxes from the host, by pid, as a machine or a careless operator does.

A program that runs ``WAIT`` blocks two signals and waits for SIGUSR1. The mask of blocked signals is public, so the
killer knows when the program has come that far, however busy the machine is, and lets it go on with SIGUSR1 if it is
not to be killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = "import signal as s; s.pthread_sigmask(s.SIG_BLOCK, {s.SIGUSR1, s.SIGUSR2}); s.sigtimedwait({s.SIGUSR1}, 20)"
"""A line of Python that waits until a killer ends the process or lets it go on.

The signals stay blocked. SIGUSR2 is only a sign: the kernel takes the signal that is waited for out of the mask.
"""


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


def status_of(pid: int) -> dict[str, str]:
    """What the kernel says about a process, by the names of the fields."""
    return dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)


def waits(pid: int) -> bool:
    """Whether a process has come to ``WAIT``; one that has ended has not."""
    try:
        return bool(int(status_of(pid)["SigBlk"], 16) & 1 << signal.SIGUSR2 - 1)
    except OSError:
        return False


def init_of(pid: int) -> int:
    """Pid 1 of the sandbox that ``pid`` is in: the ancestor whose number inside is 1."""
    while True:
        fields = status_of(pid)
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
    delay_seconds: float | None = None,
) -> Iterator[list[int]]:
    """For the time of a ``with`` block, kill processes that carry ``marker`` and have come to ``WAIT``.

    ``which`` are their places in the order in which they came there; the others may go on. With ``delay_seconds`` the
    processes need not wait: each is due when it was seen for that long. Gives the pids of those that were killed.
    """
    killed: list[int] = []
    seen: dict[int, float] = {}
    order: list[int] = []
    over = threading.Event()

    def due(pid: int) -> bool:
        if delay_seconds is None:
            return waits(pid)
        return time.monotonic() - seen.setdefault(pid, time.monotonic()) >= delay_seconds

    def work() -> None:
        while not over.is_set():
            for pid in filter(due, processes(marker)):
                if pid not in order:
                    order.append(pid)
                    if len(order) - 1 in which:
                        kill(whom(pid), number)
                        killed.append(pid)
                if pid not in killed and delay_seconds is None:
                    kill(pid, signal.SIGUSR1)  # as often as it waits; it never unblocks the signal
            over.wait(0.01)

    thread = threading.Thread(target=work, name="killer")
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
