"""Sockets in the network namespace of a live sandbox: opened from outside, served, and closed.

A short-lived child enters the namespace, binds to the loopback there and hands the sockets back; the harness serves
the sandbox from outside, with no process, no mount and no privilege inside. Root enters directly; the ordinary user who
made the sandbox enters through the user namespace that owns its network. Nothing is opened in the harness's own
namespace.

Datagrams are answered at once; each connection gets a thread. The number of connections and the pace are bounded,
because a flood from inside must not keep the harness busy. Closing the listeners ends the waiting; open connections
are ended by ``cut``.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from proctor.base.errors import InfrastructureFault

LOOPBACK = "127.0.0.1"

Setns = Callable[[int, int], None]

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_NS_GET_USERNS = 0xB701
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_IFREQ = struct.Struct("16sh22x")
_BACKLOG = 128
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
    with ours:
        with theirs:
            enter = _setns()
            child = os.fork()
            if child == 0:
                _enter_and_open(enter, pid, wanted, theirs)
        try:
            ours.settimeout(_ANSWER_SECONDS)
            message, handles, _, _ = socket.recv_fds(ours, 4096, len(wanted), socket.MSG_CMSG_CLOEXEC)
        except TimeoutError:
            raise InfrastructureFault("the sandbox's network could not be entered in time") from None
        finally:
            _reap(child)
    sockets = tuple(socket.socket(fileno=handle) for handle in handles)
    if message != b"open" or len(sockets) != len(wanted):
        for one in sockets:
            one.close()
        reason = message.decode("utf-8", "replace") or "the child ended without a word"
        raise InfrastructureFault(f"no listener can be opened in the sandbox: {reason}")
    return sockets


def _reap(child: int) -> None:
    """The child is done or hangs; either way it ends here."""
    try:
        os.kill(child, 9)
    finally:
        os.waitpid(child, 0)


def _enter_and_open(enter: Setns, pid: int, wanted: tuple[SocketRequest, ...], theirs: socket.socket) -> None:
    """The child's whole life; it takes no lock and imports nothing, because other threads were cut off by the fork."""
    step = "enter"
    try:
        gc.disable()
        _enter(enter, pid)
        step = "loopback"
        _loopback_up()
        opened = []
        for one in wanted:
            step = f"{one.kind} {one.port}"
            opened.append(_bound(one))
        socket.send_fds(theirs, [b"open"], [one.fileno() for one in opened])
    except OSError as error:
        theirs.send(f"{step}: {error.strerror}".encode())
    finally:
        os._exit(0)


def _enter(enter: Setns, pid: int) -> None:
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if os.path.samestat(os.fstat(network), os.stat("/proc/self/ns/net")):
        raise OSError(0, "the sandbox has no network namespace of its own")
    if os.geteuid() != 0:
        enter(fcntl.ioctl(network, _NS_GET_USERNS), _CLONE_NEWUSER)
    enter(network, _CLONE_NEWNET)


def _setns() -> Setns:
    """The system call, which Python itself has since 3.12 only."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(handle: int, kind: int) -> None:
        if libc.setns(handle, kind) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return enter


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _IFREQ.pack(b"lo", 0))
        flags: int = _IFREQ.unpack(found)[1]
        if not flags & _IFF_UP:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", flags | _IFF_UP))


def _bound(wanted: SocketRequest) -> socket.socket:
    if wanted.kind == "udp":
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((LOOPBACK, wanted.port))
        return made
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, wanted.port))
    made.listen(_BACKLOG)
    return made


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
