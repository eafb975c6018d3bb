"""Judging slots: how many commands of the judge run at the same time.

A check has a wall-clock timeout, so checks must not compete with each other for the processors. A slot is an exclusive
lock on a file of the home. Threads of one process and processes that share a home therefore wait for each other, and
the kernel frees the slot of a process that ends. Agents need no slot.

Processes with different numbers of slots share the first ones: each holds at most as many as it was given.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_SECONDS = 0.01
"""How often the first in the queue looks for a free slot."""


def processors() -> int:
    """How many processors this process may use; where the system does not say so, how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def default_slots() -> int:
    """One slot for each processor that this process may use."""
    return processors()


class Slots:
    """``count`` slots, whose locks are files in ``directory``."""

    def __init__(self, directory: Path, count: int) -> None:
        self._directory = directory
        self._count = count

    @contextmanager
    def hold(self) -> Iterator[int]:
        """Hold a slot for the duration of a ``with`` block; yields the nanoseconds spent waiting for it."""
        begin = time.monotonic_ns()
        handle = self._take()
        try:
            yield time.monotonic_ns() - begin
        finally:
            _release(handle)

    def _take(self) -> int:
        """The locked file of a free slot. Waiting callers queue for another lock; only the first looks for a slot."""
        self._directory.mkdir(parents=True, exist_ok=True)
        queue = self._open(f"queue-{self._count}")
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            while True:
                for number in range(self._count):
                    handle = self._open(f"slot-{number}")
                    try:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        os.close(handle)
                    else:
                        return handle
                time.sleep(LOOK_SECONDS)
        finally:
            _release(queue)

    def _open(self, name: str) -> int:
        return os.open(self._directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _release(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_UN)  # a process that was forked in the meantime may also have the file open
    os.close(handle)
