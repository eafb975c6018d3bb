"""HTTP messages: what is read, and everything that is refused because it could be read in two ways."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.network import http_messages
from proctor.execute.network.http_messages import Ended, Framing, Malformed, RequestHead, ResponseHead, Stream

HEAD_BYTES = 2000


@pytest.fixture
def pair() -> Iterator[tuple[Stream, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Stream(ours, 60), theirs


def stream_of(data: bytes) -> tuple[Stream, socket.socket]:
    """A stream that holds ``data`` and then ends."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    theirs.sendall(data)
    theirs.close()
    return Stream(ours, 60), ours


def request_of(data: bytes) -> RequestHead | None:
    stream, ours = stream_of(data)
    with ours:
        return http_messages.read_request(stream, HEAD_BYTES)


def body_of(data: bytes, frame: Framing, limit: int = 1000) -> bytes:
    stream, ours = stream_of(data)
    with ours:
        return b"".join(http_messages.body_pieces(stream, frame, limit))


def test_a_request() -> None:
    head = request_of(b"GET /a?b HTTP/1.1\r\nHost: x\r\nX-Latin: \xe9\r\nEmpty:\r\n\r\nrest")
    assert head == RequestHead("GET", "/a?b", "HTTP/1.1", (("Host", "x"), ("X-Latin", "é"), ("Empty", "")))
    assert request_of(b"") is None


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET / HTTP/1.1 \r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET /\r\n\r\n",
        b"G(T / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nName : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\rB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: \0\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"x" * HEAD_BYTES + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A:b\r\n" * 201 + b"\r\n",
    ],
)
def test_requests_that_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        request_of(data)


def test_a_request_that_is_cut() -> None:
    with pytest.raises(Ended):
        request_of(b"GET / HTTP/1.1\r\nHost")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), Framing("none")),
        ((("Content-Length", "0"),), Framing("none")),
        ((("Content-Length", "12"),), Framing("length", 12)),
        ((("Content-Length", "12"), ("content-length", "12")), Framing("length", 12)),
        ((("Transfer-Encoding", "Chunked"),), Framing("chunked")),
    ],
)
def test_framing(headers: http_messages.Headers, expected: Framing) -> None:
    assert http_messages.request_framing(RequestHead("POST", "/", "HTTP/1.1", headers)) == expected


@pytest.mark.parametrize(
    "headers",
    [
        (("Content-Length", "1"), ("Content-Length", "2")),
        (("Content-Length", "1, 1"),),
        (("Content-Length", "-1"),),
        (("Content-Length", "+1"),),
        (("Content-Length", "0x1"),),
        (("Content-Length", "²"),),
        (("Content-Length", "1"), ("Transfer-Encoding", "chunked")),
        (("Transfer-Encoding", "gzip, chunked"),),
        (("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")),
        (("Transfer-Encoding", "xchunked"),),
    ],
)
def test_bodies_that_could_be_framed_in_two_ways(headers: http_messages.Headers) -> None:
    with pytest.raises(Malformed):
        http_messages.request_framing(RequestHead("POST", "/", "HTTP/1.1", headers))


def test_answers_without_bodies() -> None:
    head = ResponseHead(200, "OK", (("Content-Length", "12"),))
    assert http_messages.response_framing(head, "HEAD") == Framing("none")
    assert http_messages.response_framing(head, "GET") == Framing("length", 12)
    assert http_messages.response_framing(ResponseHead(304, "", head.headers), "GET") == Framing("none")
    assert http_messages.response_framing(ResponseHead(200, "", ()), "GET") == Framing("close")


def test_interim_answers_are_passed_over() -> None:
    stream, ours = stream_of(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nA: b\r\n\r\nHTTP/1.0 200\r\n\r\n")
    with ours:
        assert http_messages.read_response(stream, HEAD_BYTES) == ResponseHead(200, "", ())
    stream, ours = stream_of(b"HTTP/1.1 100 Continue\r\n\r\n" * 20)
    with ours, pytest.raises(Malformed, match="without end"):
        http_messages.read_response(stream, HEAD_BYTES)


@pytest.mark.parametrize("data", [b"HTTP/1.1 99 x\r\n\r\n", b"HTTP/1.1 200x\r\n\r\n", b"ICY 200 OK\r\n\r\n"])
def test_answers_that_are_none(data: bytes) -> None:
    stream, ours = stream_of(data)
    with ours, pytest.raises(Malformed):
        http_messages.read_response(stream, HEAD_BYTES)


def test_bodies() -> None:
    assert body_of(b"12345rest", Framing("length", 5)) == b"12345"
    assert body_of(b"5\r\n12345\r\n3;x=y\r\n678\r\n0\r\nTrailer: x\r\n\r\nrest", Framing("chunked")) == b"12345678"
    assert body_of(b"everything", Framing("close")) == b"everything"
    assert body_of(b"rest", Framing("none")) == b""


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        (b"1234", Framing("length", 5)),
        (b"5\r\n123", Framing("chunked")),
        (b"5\r\n12345", Framing("chunked")),
    ],
)
def test_bodies_that_are_cut(data: bytes, frame: Framing) -> None:
    with pytest.raises((Ended, Malformed)):
        body_of(data, frame)


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        (b"", Framing("length", 1001)),
        (b"3e9\r\n", Framing("chunked")),
        (b"fffffffffffffff\r\n", Framing("chunked")),
        (b"ffffffffffffffffffff\r\n", Framing("chunked")),
        (b"x" * 1001, Framing("close")),
        (b"-1\r\n", Framing("chunked")),
        (b"5 5\r\n", Framing("chunked")),
        (b"1\nx\r\n0\r\n\r\n", Framing("chunked")),
        (b"1\r\nxy\r\n0\r\n\r\n", Framing("chunked")),
        (b"0\r\n" + b"A: b\r\n" * 300, Framing("chunked")),
    ],
)
def test_bodies_that_are_too_large_or_wrong(data: bytes, frame: Framing) -> None:
    with pytest.raises(Malformed):
        body_of(data, frame)


def test_headers_of_one_connection_go_no_further() -> None:
    headers = (
        *(("Connection", "X-Mine, close"), ("X-Mine", "1"), ("Proxy-Authorization", "secret"), ("TE", "trailers")),
        *(("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("Content-Length", "1"), ("Accept", "*/*")),
    )
    assert http_messages.end_to_end(headers) == (("Accept", "*/*"),)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        request_of(data + b"\r\n\r\n")
    except (Malformed, Ended):
        pass


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=10))
def test_chunks_round_trip(pieces: list[bytes]) -> None:
    data = b"".join(map(http_messages.chunk, pieces)) + b"0\r\n\r\n"
    assert body_of(data, Framing("chunked")) == b"".join(pieces)


def test_a_wait_has_an_end(pair: tuple[Stream, socket.socket]) -> None:
    stream = Stream(pair[1], 60, deadline=0)
    with pytest.raises(Ended, match="too long"):
        stream.some()
    with pytest.raises(Ended, match="too long"):
        Stream(pair[1], 0.001).until(b"\n", 10)
