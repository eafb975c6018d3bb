"""Time, randomness and run ids. Time and randomness are arguments, so that a run or a test can be repeated exactly."""

from __future__ import annotations

import os
import re
import time
from typing import Protocol

NANOSECONDS = 1_000_000_000


class Clock(Protocol):
    """Where time comes from."""

    def wall_ns(self) -> int:
        """Nanoseconds since 1970, by the machine's clock."""
        ...

    def steady_ns(self) -> int:
        """Nanoseconds that never go back, for durations."""
        ...


class Entropy(Protocol):
    """Where random bytes come from."""

    def __call__(self, size: int, /) -> bytes: ...


class SystemClock:
    """The machine's own clocks."""

    def wall_ns(self) -> int:
        return time.time_ns()

    def steady_ns(self) -> int:
        return time.monotonic_ns()


def system_entropy(size: int, /) -> bytes:
    """Random bytes from the kernel."""
    return os.urandom(size)


def utc_text(wall_ns: int) -> str:
    """``2026-03-07T12:00:00Z`` for a wall-clock time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_ns // NANOSECONDS))


def seconds_text(duration_ns: int) -> str:
    """A duration as a decimal string of seconds with milliseconds, the form in which records hold it."""
    milliseconds = (duration_ns + 500_000) // 1_000_000
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{10}\Z")
SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")


def new_run_id(clock: Clock, entropy: Entropy) -> str:
    """A new id such as ``20260307T120000-0123456789``."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(clock.wall_ns() // NANOSECONDS))
    return f"{stamp}-{entropy(5).hex()}"
