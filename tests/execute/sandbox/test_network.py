"""Ways to reach anything over a network that must not work; what stays inside does.

The attacks run inside, in one sandbox for all of them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Limits, Sandbox
from tests.execute.sandbox.workplace import open_directory, opened, python


@pytest.fixture(scope="module")
def cage() -> Iterator[Sandbox]:
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top, Limits()) as sandbox:
        yield sandbox


def tried(sandbox: Sandbox, statement: str) -> str:
    """What became of ``statement`` inside: what it printed, or the name of the error."""
    program = f"""
import errno
from socket import *
try:
    {statement}
except gaierror:
    print("no such name")
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    finished = python(sandbox, program)
    assert finished.exit_code == 0, finished.stderr.prefix.decode()
    return finished.stdout.prefix.decode().strip()


def test_an_abstract_socket_of_the_host(cage: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"proctor-test-{os.getpid()}"
        listener.bind("\0" + name)
        listener.listen()
        assert tried(cage, f"socket(AF_UNIX).connect('\\0{name}')") == "ECONNREFUSED"


def test_tcp_to_the_host(cage: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert tried(cage, f"create_connection({listener.getsockname()!r}, 30)") == "ECONNREFUSED"


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
@pytest.mark.parametrize(("family", "address"), [("AF_INET", "192.0.2.1"), ("AF_INET6", "2001:db8::1")])
def test_a_way_to_the_network(cage: Sandbox, family: str, kind: str, address: str) -> None:
    assert tried(cage, f"socket({family}, {kind}).connect(('{address}', 53))") in ("ENETUNREACH", "EADDRNOTAVAIL")


def test_names_of_the_network(cage: Sandbox) -> None:
    assert tried(cage, "print(getaddrinfo('example.org', 80))") == "no such name"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("raw", "AF_INET, SOCK_RAW, IPPROTO_ICMP"),
        ("packet", "AF_PACKET, SOCK_RAW, 0"),
        ("vsock", "AF_VSOCK, SOCK_STREAM, 0"),
        ("netlink audit", "AF_NETLINK, SOCK_RAW, 9"),
        ("netlink netfilter", "AF_NETLINK, SOCK_RAW, 12"),
        ("kernel crypto", "AF_ALG, SOCK_SEQPACKET, 0"),
        ("bluetooth", "AF_BLUETOOTH, SOCK_RAW, 0"),
    ],
)
def test_other_kinds_of_sockets(cage: Sandbox, name: str, arguments: str) -> None:
    assert tried(cage, f"print(socket({arguments}))") in ("EPERM", "EAFNOSUPPORT"), name


def test_the_loopback_still_works(cage: Sandbox) -> None:
    talk = "server = create_server(('127.0.0.1', 0)); client = create_connection(server.getsockname())"
    assert tried(cage, talk + "; client.sendall(b'x'); print(server.accept()[0].recv(1))") == "b'x'"
    assert tried(cage, "print(gethostbyname('localhost'), gethostname(), len(if_nameindex()))") == "127.0.0.1 proctor 1"
