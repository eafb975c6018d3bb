"""Takes what comes in at the listeners of one sandbox: queries are answered at once, connections get a thread each.

The number of connections is bounded; one too many is closed at once. So is the pace, because whoever floods a
listener from inside must not keep the harness busy. Closing ends the waiting, not the connections: those are cut by
whoever holds them (``live``).
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable

Handle = Callable[[socket.socket], None]
Answer = Callable[[bytes], bytes]

_DATAGRAM_BYTES = 4096
_PAUSE_SECONDS = 0.05
_PER_SECOND = 2000


class Switchboard:
    """Serves listeners until it is closed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._listeners: dict[socket.socket, Handle] = {}
        self._datagrams: dict[socket.socket, Answer] = {}
        self._threads: set[threading.Thread] = set()
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._second = time.monotonic()
        self._taken = 0
        self._bell, self._ringer = os.pipe2(os.O_CLOEXEC)
        self._main = threading.Thread(target=self._serve, name="network", daemon=True)

    def connections(self, listener: socket.socket, handle: Handle) -> None:
        """Serve each connection at ``listener`` by ``handle``, which owns it."""
        self._listeners[listener] = handle

    def datagrams(self, receiver: socket.socket, answer: Answer) -> None:
        """Answer each datagram; an empty answer is none."""
        self._datagrams[receiver] = answer

    def start(self) -> None:
        self._main.start()

    def close(self, seconds: float) -> None:
        """Take nothing more, and wait some time for the connections to end."""
        if self._closing.is_set():
            return
        self._closing.set()
        os.write(self._ringer, b"x")
        deadline = time.monotonic() + seconds
        if self._main.ident is not None:
            self._main.join()
        for end in (*self._listeners, *self._datagrams):
            end.close()
        with self._turn:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        os.close(self._bell)
        os.close(self._ringer)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._bell, selectors.EVENT_READ)
            for end in (*self._listeners, *self._datagrams):
                end.setblocking(False)
                selector.register(end, selectors.EVENT_READ)
            while not self._closing.is_set():
                for key, _ in selector.select():
                    if isinstance(key.fileobj, socket.socket):
                        self._take(key.fileobj)
                        self._keep_pace()

    def _keep_pace(self) -> None:
        """Wait for the next second when this one has brought too much."""
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._taken = now, 0
        self._taken += 1
        if self._taken >= _PER_SECOND:
            self._closing.wait(max(0.0, self._second + 1 - now))

    def _take(self, end: socket.socket) -> None:
        try:
            if end in self._datagrams:
                data, sender = end.recvfrom(_DATAGRAM_BYTES)
                reply = self._datagrams[end](data)
                if reply:
                    end.sendto(reply, sender)
            else:
                connection, _ = end.accept()
                self._hand_over(connection, self._listeners[end])
        except (BlockingIOError, ConnectionError):
            pass
        except OSError:
            self._closing.wait(_PAUSE_SECONDS)

    def _hand_over(self, connection: socket.socket, handle: Handle) -> None:
        thread = threading.Thread(target=self._run, args=(connection, handle), name="network exchange", daemon=True)
        with self._turn:
            if len(self._threads) >= self._limit:
                connection.close()
                return
            self._threads.add(thread)
        thread.start()

    def _run(self, connection: socket.socket, handle: Handle) -> None:
        try:
            with connection:
                connection.setblocking(True)
                handle(connection)
        finally:
            with self._turn:
                self._threads.discard(threading.current_thread())
