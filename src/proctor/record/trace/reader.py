"""Reading a trace: complete and strict, tolerant of a cut tail, or live while it grows.

Every reader checks the chain as it goes and holds one line at a time; a line that is too long, is not JSON or does not
follow from the one before ends the reading with :class:`BrokenSeal` and the number of the event. Links are never
followed. Only complete lines are events: bytes after the last newline are a write that a crash cut off.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from proctor.base.errors import BrokenSeal
from proctor.record.trace.chain import Chain
from proctor.record.trace.event import EVENT_BYTES, Event

_BUFFER_BYTES = 1 << 20


def open_trace(path: Path) -> BinaryIO:
    """The log, opened for reading; anything but a regular file is refused."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BrokenSeal(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BrokenSeal("not a regular file", where=str(path))
    return os.fdopen(handle, "rb", buffering=_BUFFER_BYTES)


def iterate_events(path: Path, *, removed: bool = False) -> Iterator[Event]:
    """Every event of a finished log, one at a time; without its payload where one may be ``removed``, and was."""
    return follow_chain(path, Chain(removed=removed))


def follow_chain(path: Path, chain: Chain) -> Iterator[Event]:
    """The same with a ``chain`` that the caller can look at after each event."""
    with open_trace(path) as file:
        while line := file.readline(EVENT_BYTES + 1):
            yield chain.take(line)


def read_events(path: Path) -> list[Event]:
    """Every event of a finished log."""
    return list(iterate_events(path))


def read_finished_events(path: Path) -> tuple[list[Event], int]:
    """The finished events of a log that may have been cut off, and how many bytes of an unfinished one follow."""
    events, torn, problem = read_up_to_break(path)
    if problem is not None:
        raise problem
    return events, torn


def read_up_to_break(path: Path, *, removed: bool = False) -> tuple[list[Event], int, BrokenSeal | None]:
    """Like :func:`read_finished_events`, for showing: the events before the first wrong line, and the problem.

    Where payloads may be ``removed``, an event of which one was has an empty payload and no salt.
    """
    chain = Chain(removed=removed)
    events: list[Event] = []
    with open_trace(path) as file:
        while line := file.readline(EVENT_BYTES + 1):
            if not line.endswith(b"\n") and len(line) <= EVENT_BYTES:
                return events, len(line), None
            try:
                events.append(chain.take(line))
            except BrokenSeal as problem:
                return events, 0, problem
    return events, 0, None


def follow(path: Path, *, stop: Callable[[], bool], poll_seconds: float = 0.05) -> Iterator[Event]:
    """Events as they are written; ends when ``stop`` says so and every finished event has been given out."""
    while not path.exists():
        if stop():
            return
        time.sleep(poll_seconds)
    chain = Chain()
    rest = b""
    with open_trace(path) as file:
        while True:
            last = stop()
            while piece := file.readline(EVENT_BYTES + 1 - len(rest)):
                rest += piece
                if not rest.endswith(b"\n") and len(rest) <= EVENT_BYTES:
                    continue
                yield chain.take(rest)
                rest = b""
            if last:
                return
            time.sleep(poll_seconds)
