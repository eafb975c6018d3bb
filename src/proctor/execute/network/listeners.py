"""Sockets inside a live sandbox's network namespace, opened from outside.

A short-lived child enters the namespace, binds to the loopback there and hands the sockets back; whoever holds them
serves the sandbox from outside it, with no process, no mount and no privilege inside. Root enters directly; the
ordinary user who made the sandbox enters through the user namespace that owns its network. Nothing is ever opened in
the harness's own namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import socket
import struct
from collections.abc import Callable
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


class Inhabited(Protocol):
    """A live sandbox whose pid 1 can be told from outside."""

    @property
    def init_pid(self) -> int: ...


@dataclass(frozen=True)
class Wanted:
    """A socket to open on the loopback: ``tcp`` (listening) or ``udp``."""

    kind: str
    port: int


def open_listeners(pid: int, wanted: tuple[Wanted, ...]) -> tuple[socket.socket, ...]:
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


def _enter_and_open(enter: Setns, pid: int, wanted: tuple[Wanted, ...], theirs: socket.socket) -> None:
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


def _bound(wanted: Wanted) -> socket.socket:
    if wanted.kind == "udp":
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((LOOPBACK, wanted.port))
        return made
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, wanted.port))
    made.listen(_BACKLOG)
    return made
