"""Connections that are open now, so that closing the network ends every wait on them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Live:
    """Holds a second descriptor of each connection: the first may be wrapped and passed on meanwhile."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._open: dict[int, socket.socket] = {}
        self._next = 0
        self._cut = False

    @contextmanager
    def held(self, connection: socket.socket) -> Iterator[None]:
        """Count ``connection`` as open."""
        token = self.add(connection)
        try:
            yield
        finally:
            self.drop(token)

    def add(self, connection: socket.socket) -> int:
        """Count ``connection`` as open until the number that comes back is dropped."""
        second = connection.dup()
        with self._turn:
            token = self._next
            self._next += 1
            self._open[token] = second
            if self._cut:
                _shut(second)
        return token

    def drop(self, token: int) -> None:
        with self._turn:
            second = self._open.pop(token, None)
        if second is not None:
            second.close()

    def cut(self) -> None:
        """End every connection that is open, and from now on each that is added."""
        with self._turn:
            self._cut = True
            for second in self._open.values():
                _shut(second)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
