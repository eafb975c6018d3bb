"""Listeners that are flooded, and what closing them ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from proctor.execute.network import namespace_sockets
from proctor.execute.network.namespace_sockets import ConnectionServer, OpenConnections
from tests.execute.network.servers import WAIT_SECONDS


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A receiver and a socket to ask it with."""
    with socket.socket(type=socket.SOCK_DGRAM) as receiver, socket.socket(type=socket.SOCK_DGRAM) as asking:
        receiver.bind(("127.0.0.1", 0))
        asking.connect(receiver.getsockname())
        asking.settimeout(WAIT_SECONDS)
        yield receiver, asking


def test_a_flood_is_slowed_down_and_not_lost(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace_sockets, "_PER_SECOND", 3)
    board = ConnectionServer(1)
    board.datagrams(ends[0], bytes.upper)
    board.start()
    for number in range(5):
        ends[1].send(b"number %d" % number)
    assert [ends[1].recv(100) for _ in range(5)] == [b"NUMBER %d" % number for number in range(5)]
    board.close(WAIT_SECONDS)


def test_an_empty_answer_is_none(ends: tuple[socket.socket, socket.socket]) -> None:
    board = ConnectionServer(1)
    board.datagrams(ends[0], lambda data: data[1:])
    board.start()
    for data in (b"x", b"", b"xy"):
        ends[1].send(data)
    assert ends[1].recv(100) == b"y"
    board.close(WAIT_SECONDS)


def test_closing_waits_for_what_is_cut(ends: tuple[socket.socket, socket.socket]) -> None:
    live = OpenConnections()
    board = ConnectionServer(2)
    listener = socket.create_server(("127.0.0.1", 0))
    taken, ended = threading.Event(), threading.Event()

    def handle(connection: socket.socket) -> None:
        with live.held(connection):
            taken.set()
            connection.recv(1)
        ended.set()

    board.connections(listener, handle)
    board.start()
    with socket.create_connection(listener.getsockname(), WAIT_SECONDS) as peer:
        assert taken.wait(WAIT_SECONDS)
        live.cut()
        board.close(WAIT_SECONDS)
        assert ended.is_set() and peer.recv(1) == b""
    board.close(WAIT_SECONDS)
    assert listener.fileno() == -1


def test_a_connection_that_comes_after_the_cut() -> None:
    live = OpenConnections()
    live.cut()
    ours, theirs = socket.socketpair()
    with ours, theirs, live.held(ours):
        assert theirs.recv(1) == b""


def test_a_board_that_never_started() -> None:
    board = ConnectionServer(1)
    board.connections(socket.create_server(("127.0.0.1", 0)), lambda connection: None)
    board.close(WAIT_SECONDS)
