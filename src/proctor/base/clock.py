"""Time and randomness as arguments, so that what depends on them can be repeated."""

from __future__ import annotations

import os
import time
from typing import Protocol

NANOSECONDS = 1_000_000_000


class Clock(Protocol):
    """Where time comes from."""

    def wall_ns(self) -> int:
        """Nanoseconds since 1970, as the machine believes."""
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
