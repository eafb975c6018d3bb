"""Listeners inside a sandbox: they serve inside, are nowhere else, and never open in the harness's own namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.network.namespace_sockets import SocketRequest, open_listeners
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from tests.execute.sandbox.workplace import as_ordinary_user, open_directory, opened, python

NEEDED = ctypes
"""Imported before anything gives up root: the interpreter may lie where an ordinary user cannot read."""


@pytest.fixture
def box() -> Iterator[LiveSandbox]:
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top) as sandbox:
        assert isinstance(sandbox, LiveSandbox)
        yield sandbox


def serves(box: LiveSandbox) -> None:
    """What is opened from outside is reached from inside."""
    stream, datagrams = open_listeners(box.init_pid, (SocketRequest("tcp", 80), SocketRequest("udp", 53)))
    with stream, datagrams:
        ask = (
            "from socket import *\n"
            "create_connection(('127.0.0.1', 80), 60).sendall(b'stream')\n"
            "socket(AF_INET, SOCK_DGRAM).sendto(b'datagram', ('127.0.0.1', 53))\n"
        )
        assert python(box, ask).exit_code == 0
        stream.settimeout(60)
        with stream.accept()[0] as connection:
            assert connection.recv(100) == b"stream"
        datagrams.settimeout(60)
        assert datagrams.recv(100) == b"datagram"


def test_what_is_opened_from_outside_is_reached_from_inside(box: LiveSandbox) -> None:
    before = os.readlink("/proc/self/ns/net")
    serves(box)
    assert os.readlink("/proc/self/ns/net") == before


def test_an_ordinary_user_opens_them_alike() -> None:
    with open_directory() as top:
        top.chmod(0o777)

        def action() -> None:
            with opened(BubblewrapBackend(top / "sessions"), top) as sandbox:
                assert isinstance(sandbox, LiveSandbox)
                serves(sandbox)

        as_ordinary_user(action)


def test_nothing_listens_out_here(box: LiveSandbox) -> None:
    (listener,) = open_listeners(box.init_pid, (SocketRequest("tcp", 801),))
    with listener, socket.socket() as outside:
        outside.settimeout(60)
        assert outside.connect_ex(("127.0.0.1", 801)) != 0


def test_a_port_that_is_taken(box: LiveSandbox) -> None:
    (listener,) = open_listeners(box.init_pid, (SocketRequest("tcp", 801),))
    with listener, pytest.raises(InfrastructureFault, match="tcp 801: Address already in use"):
        open_listeners(box.init_pid, (SocketRequest("udp", 53), SocketRequest("tcp", 801)))


def test_a_process_without_a_network_of_its_own() -> None:
    with pytest.raises(InfrastructureFault, match="no network namespace of its own"):
        open_listeners(os.getpid(), (SocketRequest("tcp", 801),))


def test_a_process_that_is_gone() -> None:
    child = subprocess.Popen(["/bin/true"], stdin=subprocess.DEVNULL)
    child.wait()
    with pytest.raises(InfrastructureFault, match="cannot be entered: No such file"):
        open_listeners(child.pid, (SocketRequest("tcp", 801),))


def test_a_loopback_that_is_down_is_brought_up(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["unshare", "--net", "/bin/sh", "-c", "echo ready; read done"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        assert child.stdout.readline() == b"ready\n"
        (listener,) = open_listeners(child.pid, (SocketRequest("tcp", 801),))
        with listener:
            flags = subprocess.run(
                ["nsenter", f"--net=/proc/{child.pid}/ns/net", "/usr/bin/python3", "-c", FLAGS],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=True,
            )
        assert flags.stdout == b"1\n"
        child.stdin.close()


FLAGS = """
import fcntl, socket, struct
found = fcntl.ioctl(socket.socket(), 0x8913, struct.pack('16sh22x', b'lo', 0))
print(struct.unpack('16sh22x', found)[1] & 1)
"""
