"""Sockets in the network namespace of a live sandbox: opened from outside, served, and closed.

``proctor-init listen`` (``native/listen.c``) enters the namespace, binds to the loopback there and sends the sockets
back; the harness serves the sandbox from outside, with no process, no mount and no privilege inside. Nothing is opened
in the harness's own namespace.

Datagrams are answered at once; each connection gets a thread. The number of connections and the pace are bounded,
because a flood from inside must not keep the harness busy. Closing the listeners ends the waiting; open connections
are ended by ``cut``.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.bubblewrap.init_protocol import PROGRAM

LOOPBACK = "127.0.0.1"

_ANSWER_SECONDS = 30


class SandboxProcess(Protocol):
    """A live sandbox whose pid 1 is known outside."""

    @property
    def init_pid(self) -> int: ...


@dataclass(frozen=True)
class SocketRequest:
    """A socket to open on the loopback: ``tcp`` (listening) or ``udp``."""

    kind: str
    port: int


def open_listeners(pid: int, wanted: tuple[SocketRequest, ...]) -> tuple[socket.socket, ...]:
    """The sockets, in order, open in the network namespace of process ``pid``."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _network_of(pid) as network:
        try:
            done = subprocess.run(
                [
                    *(PROGRAM, "listen", str(network), str(theirs.fileno())),
                    *(f"{one.kind}:{one.port}" for one in wanted),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=(network, theirs.fileno()),
                timeout=_ANSWER_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise InfrastructureFault("the sandbox's network could not be entered in time") from None
        if done.returncode != 0:
            reason = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
            raise InfrastructureFault(f"no listener can be opened in the sandbox: {reason}")
        _, handles, _, _ = socket.recv_fds(ours, 1, len(wanted), socket.MSG_CMSG_CLOEXEC)
    return tuple(socket.socket(fileno=handle) for handle in handles)


@contextmanager
def _network_of(pid: int) -> Iterator[int]:
    """A descriptor of the network namespace of process ``pid``, which must not be that of this process."""
    try:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InfrastructureFault(f"the sandbox's network cannot be entered: {error.strerror}") from None
    try:
        if os.path.samestat(os.fstat(network), os.stat("/proc/self/ns/net")):
            raise InfrastructureFault("the sandbox has no network namespace of its own")
        yield network
    finally:
        os.close(network)


class OpenConnections:
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


Handle = Callable[[socket.socket], None]
Answer = Callable[[bytes], bytes]

_DATAGRAM_BYTES = 4096
_PAUSE_SECONDS = 0.05
_PER_SECOND = 2000


class ConnectionServer:
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
        """Answer each datagram; an empty answer is not sent."""
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
