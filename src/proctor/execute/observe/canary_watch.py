"""Seeing that canary files are opened or read, by whatever process, at no cost to anything else.

The planted files are watched from outside: a sandbox shows them by bind mounts, and what is told about a file does not
depend on the way to it. Root gets the process from fanotify; an ordinary user has inotify, which knows no process. A
look at the name alone (``ls``, ``stat``) is not told, an open is. Reads come in numbers, and equal ones in a row may be
told as one. The process is looked up when the read is told, so one that ended at once has no command line.
"""

from __future__ import annotations

import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proctor.base.frozen import frozen

ACCESS, OPEN = 0x1, 0x20
"""The same bits in both mechanisms."""

FANOTIFY = struct.Struct("=IBBHQii")
INOTIFY = struct.Struct("=iIII")
BUFFER_BYTES = 4 << 10
"""So few at a time that the descriptors that come with them are never too many."""
MOST_ARGUMENTS = 64
ARGUMENT_BYTES = 4096
_AT_FDCWD = -100


@frozen
class CanaryRead:
    """A canary file was opened; ``pid`` is 0 where the process is not known, and counts as inside the sandbox."""

    path: str
    time_ns: int
    pid: int = 0
    argv: tuple[str, ...] = ()
    was_read: bool = False

    def payload(self) -> dict[str, Any]:
        """The payload of a ``guard.attempt`` event."""
        return {
            "code": "read-canary",
            "syscall": "open",
            "pid": self.pid,
            "argv": list(self.argv),
            "detail": "opened and read" if self.was_read else "opened",
            "path": self.path,
            "address": "",
            "allowed": True,
            "errno": "",
            "count": 1,
        }


class CanaryWatch:
    """Watches planted files (for each place inside the file outside) until it is stopped."""

    def __init__(self, planted: Mapping[str, Path], tell: Callable[[CanaryRead], None]) -> None:
        self._tell = tell
        self._turn = threading.RLock()
        self._places: dict[object, str] = {}
        self._handle, self.mechanism = -1, ""
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC)
        try:
            self._begin(planted)
        except BaseException:
            self._close()
            raise
        self._thread = threading.Thread(target=self._watch, name="proctor-canaries", daemon=True)
        self._thread.start()

    def settle(self) -> None:
        """Return when every read that happened before this call has been told."""
        with self._turn:
            if self._handle >= 0:
                for seen in self._drain():
                    self._tell(seen)

    def stop(self) -> None:
        """Tell what is left and end the watch; safe to call twice."""
        self.settle()
        with self._turn:
            if self._woken < 0:
                return
            os.close(self._woken)
            self._woken = -1
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._turn:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _begin(self, planted: Mapping[str, Path]) -> None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if os.geteuid() == 0:
            self._handle = libc.fanotify_init(0x3, os.O_RDONLY | os.O_CLOEXEC | os.O_LARGEFILE)
            self.mechanism = "fanotify"
        if self._handle < 0:
            self._handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            self.mechanism = "inotify"
        for place, path in planted.items():
            name = os.fsencode(path)
            if self.mechanism == "fanotify":
                status = path.stat()
                self._places[status.st_dev, status.st_ino] = place
                done = libc.fanotify_mark(self._handle, 1, ctypes.c_uint64(ACCESS | OPEN), _AT_FDCWD, name)
            else:
                done = libc.inotify_add_watch(self._handle, name, ACCESS | OPEN)
                self._places[done] = place
            if done < 0:
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), str(path))

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self._wake in ready:
                return
            self.settle()

    def _drain(self) -> Iterator[CanaryRead]:
        while True:
            try:
                data = os.read(self._handle, BUFFER_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            yield from self._by_process(data) if self.mechanism == "fanotify" else self._by_watch(data)

    def _by_process(self, data: bytes) -> Iterator[CanaryRead]:
        at = 0
        while at < len(data):
            length, _, _, _, mask, handle, pid = FANOTIFY.unpack_from(data, at)
            at += length
            if handle < 0:
                continue
            try:
                status = os.fstat(handle)
            finally:
                os.close(handle)
            place = self._places.get((status.st_dev, status.st_ino))
            if place is not None and pid != os.getpid():
                yield CanaryRead(place, time.time_ns(), inner_pid(pid), command_line(pid), bool(mask & ACCESS))

    def _by_watch(self, data: bytes) -> Iterator[CanaryRead]:
        seen: dict[str, bool] = {}
        at = 0
        while at < len(data):
            watch, mask, _, length = INOTIFY.unpack_from(data, at)
            at += INOTIFY.size + length
            place = self._places.get(watch)
            if place is not None and mask & (ACCESS | OPEN):
                seen[place] = seen.get(place, False) or bool(mask & ACCESS)
        for place, was_read in seen.items():
            yield CanaryRead(place, time.time_ns(), was_read=was_read)

    def _close(self) -> None:
        for handle in (self._handle, self._wake, self._woken):
            if handle >= 0:
                os.close(handle)
        self._handle = self._wake = self._woken = -1


def inner_pid(pid: int) -> int:
    """The pid that a process has in its own namespace; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except (OSError, ValueError):
        pass
    return 0


def command_line(pid: int) -> tuple[str, ...]:
    """The arguments of a process as far as they can be read; they are what it claims."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read(ARGUMENT_BYTES)
    except OSError:
        return ()
    words = data.rstrip(b"\0").split(b"\0") if data else []
    return tuple(word.decode("utf-8", "backslashreplace") for word in words[:MOST_ARGUMENTS])
