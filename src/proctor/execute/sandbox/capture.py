"""Bounded output: a stream is read at full speed, hashed whole, and only its first bytes are kept.

A command may print without end; what is held in memory is the prefix and one buffer.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import termios

from proctor.execute.sandbox.interface import Output

BUFFER_BYTES = 1 << 18
PIPE_BYTES = 1 << 20


class Capture:
    """Collects one stream from the read end of a pipe, which it owns."""

    def __init__(self, handle: int, prefix_bytes: int) -> None:
        self.handle = handle
        self.open = True
        self._room = prefix_bytes
        self._prefix = bytearray()
        self._total = 0
        self._digest = hashlib.sha256()
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        os.set_blocking(handle, False)

    def take(self) -> int:
        """Read once; how many bytes there were. At the end of the stream ``open`` becomes false."""
        try:
            size = os.readv(self.handle, [self._buffer])
        except BlockingIOError:
            return 0
        if not size:
            self.open = False
            return 0
        data = self._buffer[:size]
        self._digest.update(data)
        if self._room > 0:
            kept = data[: self._room]
            self._prefix += kept
            self._room -= len(kept)
        self._total += size
        return size

    def take_waiting(self) -> None:
        """Read what is in the pipe at this moment, and no more, however fast a left-over process goes on writing."""
        waiting = struct.unpack("i", fcntl.ioctl(self.handle, termios.FIONREAD, b"\0" * 4))[0]
        while waiting > 0 and self.open:
            size = self.take()
            if not size:
                return
            waiting -= size

    def output(self) -> Output:
        return Output(bytes(self._prefix), self._total, self._digest.hexdigest())

    def close(self) -> None:
        os.close(self.handle)


def wide_pipe() -> tuple[int, int]:
    """A pipe with a large buffer where the system allows it."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except PermissionError:
        pass
    return reading, writing
