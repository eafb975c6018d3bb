"""The proxy on the wire: what clients of every kind get, and tricks by which a request could become two."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.network.allow_list import AllowList, parse_rule
from proctor.execute.network.namespace_sockets import ConnectionServer, OpenConnections
from proctor.execute.network.network_events import Bounds, Exchange, NetworkEventRecorder
from proctor.execute.network.proxy import Proxy
from proctor.execute.network.request_handler import ProxyContext
from proctor.execute.network.upstream import Upstream, dial
from tests.execute.network.conftest import Town
from tests.execute.network.networked import Seen
from tests.execute.network.servers import WAIT_SECONDS

ALLOWED = AllowList(tuple(map(parse_rule, ("plain.test:80", "safe.test:443", "other.test:443", "echo.test:7"))))


class Client:
    """A connection to a live proxy."""

    def __init__(self, address: tuple[str, int], seen: Seen) -> None:
        self.socket = socket.create_connection(address, WAIT_SECONDS)
        self.seen = seen

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, data: bytes) -> bytes:
        """Everything that comes back until the proxy closes."""
        self.say(data)
        return self.rest()

    def rest(self) -> bytes:
        parts = []
        while part := self.socket.recv(65536):
            parts.append(part)
        return b"".join(parts)

    def until(self, mark: bytes) -> bytes:
        found = b""
        while mark not in found:
            part = self.socket.recv(1)
            assert part, found
            found += part
        return found


@contextmanager
def proxied(town: Town, scratch: Path, bounds: Bounds, limit: int = 64, **how: Any) -> Iterator[Any]:
    """Makes clients of a proxy that listens out here."""
    seen = Seen()
    live = OpenConnections()
    how = {"connect": town.web.dial, "context": town.web.client_context, **how}
    upstream = Upstream(bounds, live, **how)
    desk = ProxyContext(ALLOWED, upstream, NetworkEventRecorder(seen.tell, bounds), live, scratch, bounds)
    board = ConnectionServer(limit)
    listener = socket.create_server(("127.0.0.1", 0))
    board.connections(listener, Proxy(desk, upstream).serve)
    board.start()
    made: list[Client] = []

    def client() -> Client:
        made.append(Client(listener.getsockname(), seen))
        return made[-1]

    try:
        yield client
    finally:
        live.cut()
        for one in made:
            one.socket.close()
        board.close(WAIT_SECONDS)


@pytest.fixture
def client(town: Town, tmp_path: Path) -> Iterator[Client]:
    with proxied(town, tmp_path, Bounds(request_bytes=1000, response_bytes=100_000)) as make:
        yield make()


CLOSE = b"Connection: close\r\n\r\n"


def test_a_connection_is_used_again(client: Client) -> None:
    client.say(b"GET http://plain.test/one HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.until(b"GET /one").startswith(b"HTTP/1.1 200 OK")
    answer = client.ask(b"GET http://plain.test/two HTTP/1.1\r\nHost: x\r\n" + CLOSE)
    assert answer.endswith(b"GET /two") and b"Connection: close" in answer
    assert [one.path for one in client.seen.exchanges] == ["/one", "/two"]


def test_the_exchange_is_told_before_its_last_byte_comes(client: Client) -> None:
    client.say(b"GET http://plain.test/one HTTP/1.1\r\n\r\n")
    client.until(b"GET /one")
    assert len(client.seen.exchanges) == 1


def test_the_host_is_the_one_of_the_address(client: Client, town: Town) -> None:
    client.ask(b"GET http://plain.test/host HTTP/1.1\r\nHost: evil.test\r\n" + CLOSE)
    assert town.plain.asked[-1] == "GET plain.test/host"


def test_an_old_client_gets_no_chunks(client: Client) -> None:
    answer = client.ask(b"GET http://plain.test/chunked HTTP/1.0\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nfirst second") and b"chunked" not in answer.lower().partition(b"\r\n\r\n")[0]


def test_chunks_come_as_chunks(client: Client) -> None:
    answer = client.ask(b"GET http://plain.test/chunked HTTP/1.1\r\n" + CLOSE)
    assert b"\r\nTransfer-Encoding: chunked\r\n" in answer and answer.endswith(b"\r\n0\r\n\r\n")
    assert b"X-Trailer" not in answer


def test_a_head_has_its_length_and_no_body(client: Client) -> None:
    answer = client.ask(b"HEAD http://plain.test/page HTTP/1.1\r\n" + CLOSE)
    assert b"\r\nContent-Length: 10\r\n" in answer and answer.endswith(b"\r\n\r\n")


def test_a_client_that_waits_for_leave_to_send(client: Client) -> None:
    client.say(b"POST http://plain.test/ HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n" + CLOSE)
    assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert client.ask(b"abc").endswith(b"got abc")


def test_chunked_requests_pass_with_a_length(client: Client) -> None:
    head = b"POST http://plain.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
    assert client.ask(head + CLOSE + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").endswith(b"got abcde")


SMUGGLED = b"GET http://evil.test/smuggled HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST http://plain.test/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST http://plain.test/ HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 44\r\n\r\n", 400),
        (b"POST http://plain.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", 400),
        (b"POST http://plain.test/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
        (b"GET http://plain.test/ HTTP/1.1\r\nA: b\n\nGET http://evil.test/ HTTP/1.1\r\n\r\n", 400),
        (b"POST http://plain.test/ HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"GET /origin HTTP/1.1\r\nHost: plain.test\r\n\r\n", 400),
        (b"GET http://plain.test@evil.test/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://evil.test/ HTTP/1.1\r\nHost: plain.test\r\n\r\n", 403),
        (b"CONNECT plain.test HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT evil.test:80 HTTP/1.1\r\n\r\n", 403),
        (b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n", 403),
        (b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", 403),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ],
)
def test_a_request_that_could_be_two_ends_the_connection(client: Client, town: Town, head: bytes, status: int) -> None:
    before = len(town.plain.asked)
    answer = client.ask(head + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 %d " % status) and answer.count(b"HTTP/1.1 ") == 1
    assert [one.allowed for one in client.seen.exchanges] == [False]
    assert len(town.plain.asked) == before


def test_a_large_body_that_is_refused_still_gets_its_answer(client: Client) -> None:
    head = b"POST http://evil.test/ HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n"
    client.say(head)
    sender = threading.Thread(target=_send_quietly, args=(client.socket, b"x" * 5_000_000))
    sender.start()
    assert client.rest().startswith(b"HTTP/1.1 403 ")
    client.socket.close()
    sender.join()


def _send_quietly(to: socket.socket, data: bytes) -> None:
    try:
        to.sendall(data)
    except OSError:
        pass


def test_an_answer_that_is_cut_is_told_and_cuts_the_client(client: Client) -> None:
    answer = client.ask(b"GET http://plain.test/cut HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 1000" in answer and len(answer) < 1000
    assert client.seen.exchanges[-1].reason == "cut: in the middle of a body"


def test_an_answer_that_is_too_large(client: Client) -> None:
    client.ask(b"GET http://plain.test/large/100001 HTTP/1.1\r\n\r\n")
    assert "more than 100000 bytes" in client.seen.exchanges[-1].reason


def test_secure_pages_by_whole_address(client: Client) -> None:
    assert client.ask(b"GET https://safe.test/page HTTP/1.1\r\n" + CLOSE).endswith(b"GET /page")


def test_a_server_that_is_not_who_it_should_be(town: Town, tmp_path: Path) -> None:
    town.web.put("other.test", 443, town.secure)
    try:
        with proxied(town, tmp_path, Bounds()) as make:
            answer = make().ask(b"GET https://other.test/page HTTP/1.1\r\n" + CLOSE)
            assert answer.startswith(b"HTTP/1.1 502") and b"no secure connection to other.test" in answer
    finally:
        town.web.put("other.test", 443, town.other)


def test_a_tunnel_for_another_protocol(town: Town, tmp_path: Path) -> None:
    """The server speaks first, and either side may end its half."""
    ready = socket.create_server(("127.0.0.1", 0))

    def echo() -> None:
        with ready.accept()[0] as peer:
            peer.sendall(b"hello\n")
            while data := peer.recv(1000):
                peer.sendall(data.upper())
            peer.sendall(b"bye")

    thread = threading.Thread(target=echo)
    thread.start()

    def connect(host: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection(ready.getsockname(), WAIT_SECONDS)

    with ready, proxied(town, tmp_path, Bounds(), connect=connect) as make:
        client = make()
        client.say(b"CONNECT echo.test:7 HTTP/1.1\r\n\r\n")
        assert client.until(b"hello\n").startswith(b"HTTP/1.1 200")
        client.say(b"some words")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == b"SOME WORDSbye"
        thread.join()
        client.seen.wait_for(lambda one: isinstance(one, Exchange) and one.reason == "ended")
        ended = client.seen.exchanges[-1]
        assert ended.request is not None and ended.request.size == 10
        assert ended.response is not None and ended.response.size == 19


def test_a_tunnel_has_bounds(town: Town, tmp_path: Path) -> None:
    with proxied(town, tmp_path, Bounds(tunnel_bytes=100)) as make:
        client = make()
        client.say(b"CONNECT plain.test:80 HTTP/1.1\r\n\r\n")
        client.until(b"\r\n\r\n")
        client.ask(b"x" * 101)
        client.seen.wait_for(
            lambda one: isinstance(one, Exchange) and one.reason == "ended: more than 100 bytes one way"
        )


def test_connections_have_a_limit(town: Town, tmp_path: Path) -> None:
    with proxied(town, tmp_path, Bounds(), limit=1) as make:
        first, second = make(), make()
        first.say(b"GET http://plain.test/one HTTP/1.1\r\n\r\n")
        first.until(b"GET /one")
        try:
            assert second.ask(b"GET http://plain.test/two HTTP/1.1\r\n\r\n") == b""
        except ConnectionError:
            pass
        assert [one.path for one in first.seen.exchanges] == ["/one"]


def test_a_client_that_says_nothing_is_let_go(town: Town, tmp_path: Path) -> None:
    with proxied(town, tmp_path, Bounds(client_seconds=0.05)) as make:
        assert make().rest() == b""


def test_names_that_lead_back_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns an allowed name must not point the proxy at the harness."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: real("127.0.0.1", *more, **named))
        with pytest.raises(OSError, match=r"evil\.test is an address of this machine"):
            dial("evil.test", port, WAIT_SECONDS)
        dial("127.0.0.1", port, WAIT_SECONDS).close()
        dial("localhost", port, WAIT_SECONDS).close()
