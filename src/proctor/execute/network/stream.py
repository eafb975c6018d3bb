"""A connection that is read piece by piece, with an end to every wait.

Each wait ends after ``seconds``, and all of them together at ``deadline``. What goes wrong on a connection is one of
two things: :class:`Ended` (it is gone, or took too long) or :class:`Malformed` (it said something that cannot be).
"""

from __future__ import annotations

import socket
import time

PIECE_BYTES = 64 << 10


class Ended(Exception):
    """The other side is gone, or took too long."""


class Malformed(Exception):
    """The other side broke the rules of the protocol; ``status`` is what to answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Stream:
    """Reads and writes of one socket."""

    def __init__(self, connection: socket.socket, seconds: float, deadline: float | None = None) -> None:
        self.socket = connection
        self._seconds = seconds
        self._deadline = deadline
        self._buffer = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether bytes were read that nobody has taken."""
        return bool(self._buffer)

    def until(self, mark: bytes, limit: int) -> bytes | None:
        """Everything up to and with ``mark``, or ``None`` when the stream ends before its first byte."""
        looked = 0
        while True:
            found = self._buffer.find(mark, max(0, looked - len(mark)), limit)
            if found >= 0:
                return self._take(found + len(mark))
            looked = len(self._buffer)
            if looked >= limit:
                raise Malformed(f"more than {limit} bytes before the end of a head", 431)
            data = self._receive()
            if not data:
                if looked:
                    raise Ended("in the middle of a head")
                return None
            self._buffer += data

    def some(self, limit: int = PIECE_BYTES) -> bytes:
        """At least one byte and at most ``limit``; nothing at the end."""
        if self._buffer:
            return self._take(min(limit, len(self._buffer)))
        return self._receive(min(limit, PIECE_BYTES))

    def exactly(self, count: int) -> bytes:
        """``count`` bytes, or nothing when the stream ends before the first of them."""
        while len(self._buffer) < count:
            data = self._receive()
            if not data:
                if self._buffer:
                    raise Ended("in the middle of a message")
                return b""
            self._buffer += data
        return self._take(count)

    def send(self, data: bytes) -> None:
        self._set_timeout()
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise Ended("it took too long") from None
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None

    def linger(self, seconds: float = 5) -> None:
        """Say that nothing more comes, and read what is still on its way, so that the last answer is not lost."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            self._seconds, self._deadline = seconds, time.monotonic() + seconds
            while self._receive():
                pass
        except (OSError, Ended):
            pass

    def close(self) -> None:
        self.socket.close()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _receive(self, limit: int = PIECE_BYTES) -> bytes:
        self._set_timeout()
        try:
            return self.socket.recv(limit)
        except TimeoutError:
            raise Ended("it took too long") from None
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None

    def _set_timeout(self) -> None:
        seconds = self._seconds
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - time.monotonic())
            if seconds <= 0:
                raise Ended("it took too long")
        try:
            self.socket.settimeout(seconds)
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None
