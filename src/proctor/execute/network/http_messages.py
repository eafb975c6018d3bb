"""HTTP/1 messages on a connection, read strictly: what two programs could read in two ways is refused.

:class:`Stream` reads and writes one socket; each wait ends after ``seconds``, and all of them together at ``deadline``.
What goes wrong on a connection is one of two things: :class:`Ended` (it was closed, or took too long) or
:class:`Malformed` (it broke the rules of the protocol). Heads are bounded by the caller; bodies are read in pieces,
without their framing. Header values are text in Latin-1, which loses no byte.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

PIECE_BYTES = 64 << 10


class Ended(Exception):
    """The other side closed the connection, or took too long."""


class Malformed(Exception):
    """The other side broke the rules of the protocol; ``status`` is what to answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Stream:
    """Reads and writes of one socket."""

    def __init__(self, connection: socket.socket, seconds: float, deadline: float | None = None) -> None:
        self.socket = connection
        self._seconds = seconds
        self._deadline = deadline
        self._buffer = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether bytes were read that are not used yet."""
        return bool(self._buffer)

    def until(self, mark: bytes, limit: int) -> bytes | None:
        """Everything up to and with ``mark``, or ``None`` when the stream ends before its first byte."""
        looked = 0
        while True:
            found = self._buffer.find(mark, max(0, looked - len(mark)), limit)
            if found >= 0:
                return self._take(found + len(mark))
            looked = len(self._buffer)
            if looked >= limit:
                raise Malformed(f"more than {limit} bytes before the end of a head", 431)
            data = self._receive()
            if not data:
                if looked:
                    raise Ended("in the middle of a head")
                return None
            self._buffer += data

    def some(self, limit: int = PIECE_BYTES) -> bytes:
        """At least one byte and at most ``limit``; nothing at the end."""
        if self._buffer:
            return self._take(min(limit, len(self._buffer)))
        return self._receive(min(limit, PIECE_BYTES))

    def exactly(self, count: int) -> bytes:
        """``count`` bytes, or nothing when the stream ends before the first of them."""
        while len(self._buffer) < count:
            data = self._receive()
            if not data:
                if self._buffer:
                    raise Ended("in the middle of a message")
                return b""
            self._buffer += data
        return self._take(count)

    def send(self, data: bytes) -> None:
        self._set_timeout()
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise Ended("it took too long") from None
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None

    def linger(self, seconds: float = 5) -> None:
        """Say that nothing more comes, and read what is still on its way, so that the last answer is not lost."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            self._seconds, self._deadline = seconds, time.monotonic() + seconds
            while self._receive():
                pass
        except (OSError, Ended):
            pass

    def close(self) -> None:
        self.socket.close()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _receive(self, limit: int = PIECE_BYTES) -> bytes:
        self._set_timeout()
        try:
            return self.socket.recv(limit)
        except TimeoutError:
            raise Ended("it took too long") from None
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None

    def _set_timeout(self) -> None:
        seconds = self._seconds
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - time.monotonic())
            if seconds <= 0:
                raise Ended("it took too long")
        try:
            self.socket.settimeout(seconds)
        except OSError as error:
            raise Ended(str(error.strerror or error)) from None


Headers = tuple[tuple[str, str], ...]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
_TARGET = re.compile(r"[\x21-\x7e]+\Z")
_VERSION = re.compile(r"HTTP/1\.[01]\Z")
_STATUS = re.compile(r"[1-5][0-9][0-9]\Z")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n\Z")
_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer")
) | frozenset(("transfer-encoding", "upgrade", "content-length", "expect", "alt-svc"))
_LINE_BYTES = 4096
_HEADERS = 200


@dataclass(frozen=True)
class RequestHead:
    """The first part of a request, as it came."""

    method: str
    target: str
    version: str
    headers: Headers


@dataclass(frozen=True)
class ResponseHead:
    """The first part of an answer, as it came."""

    status: int
    reason: str
    headers: Headers


@dataclass(frozen=True)
class Framing:
    """How long a body is: ``none``, ``length``, ``chunked``, or ``close`` (to the end of the stream)."""

    kind: str
    length: int = 0


def read_request(stream: Stream, limit: int) -> RequestHead | None:
    """The next request head; ``None`` when the other side is done."""
    raw = stream.until(b"\r\n\r\n", limit)
    if raw is None:
        return None
    first, headers = _parts(raw)
    parts = first.split(" ")
    if len(parts) != 3 or not _TOKEN.match(parts[0]) or not _TARGET.match(parts[1]) or not _VERSION.match(parts[2]):
        raise Malformed("not an HTTP/1 request")
    return RequestHead(parts[0], parts[1], parts[2], headers)


def read_response(stream: Stream, limit: int) -> ResponseHead:
    """The next answer's head that is not an interim one."""
    for _ in range(10):
        raw = stream.until(b"\r\n\r\n", limit)
        if raw is None:
            raise Ended("it closed the connection without an answer")
        first, headers = _parts(raw)
        version, _, rest = first.partition(" ")
        status, _, reason = rest.partition(" ")
        if not _VERSION.match(version) or not _STATUS.match(status) or not _VALUE.match(reason):
            raise Malformed("not an HTTP/1 answer")
        if status[0] != "1" or status == "101":
            return ResponseHead(int(status), reason, headers)
    raise Malformed("interim answers without end")


def header(headers: Headers, name: str) -> str | None:
    """The value of a header, its repetitions joined by commas."""
    found = [value for key, value in headers if key.lower() == name]
    return ", ".join(found) if found else None


def end_to_end(headers: Headers) -> Headers:
    """The headers that are not about this one connection, nor about how a body is framed on it."""
    named = {word.strip().lower() for word in (header(headers, "connection") or "").split(",")}
    return tuple((key, value) for key, value in headers if key.lower() not in _HOP and key.lower() not in named)


def framing(headers: Headers) -> Framing:
    """How a message says its body is framed; ``close`` when it does not say."""
    coding = header(headers, "transfer-encoding")
    lengths = {value.strip() for key, value in headers if key.lower() == "content-length"}
    if coding is not None:
        if lengths or coding.strip().lower() != "chunked":
            raise Malformed("a body that is framed in two ways, or in an unknown way")
        return Framing("chunked")
    if not lengths:
        return Framing("close")
    length = lengths.pop()
    if lengths or not re.match(r"[0-9]{1,15}\Z", length):
        raise Malformed("a body without one clear length")
    return Framing("length", int(length))


def request_framing(head: RequestHead) -> Framing:
    """A request that says nothing about a body has none."""
    found = framing(head.headers)
    if found.kind == "close" or found == Framing("length", 0):
        return Framing("none")
    if found.kind == "chunked" and head.version == "HTTP/1.0":
        raise Malformed("HTTP/1.0 has no chunks")
    return found


def response_framing(head: ResponseHead, method: str) -> Framing:
    """Some answers have no body, whatever their headers say."""
    if method == "HEAD" or head.status in (204, 304) or head.status < 200:
        return Framing("none")
    return framing(head.headers)


def body_pieces(stream: Stream, frame: Framing, limit: int) -> Iterator[bytes]:
    """The bytes of a body; :class:`Malformed` with 413 beyond ``limit``, :class:`Ended` when it is cut short."""
    if frame.kind == "length":
        if frame.length > limit:
            raise Malformed(f"a body of more than {limit} bytes", 413)
        yield from _exactly(stream, frame.length)
    elif frame.kind == "chunked":
        yield from _chunks(stream, limit)
    elif frame.kind == "close":
        total = 0
        while piece := stream.some():
            total += len(piece)
            if total > limit:
                raise Malformed(f"a body of more than {limit} bytes", 413)
            yield piece


def head_bytes(first: str, headers: Headers) -> bytes:
    """A head as it goes over the wire."""
    lines = [first, *(f"{key}: {value}" for key, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def chunk(piece: bytes) -> bytes:
    """A piece of a body as a chunk."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _exactly(stream: Stream, count: int) -> Iterator[bytes]:
    while count:
        piece = stream.some(min(count, PIECE_BYTES))
        if not piece:
            raise Ended("in the middle of a body")
        count -= len(piece)
        yield piece


def _chunks(stream: Stream, limit: int) -> Iterator[bytes]:
    total = 0
    while True:
        match = _SIZE.match(stream.until(b"\r\n", _LINE_BYTES) or b"")
        if not match:
            raise Malformed("a chunk without a size")
        size = int(match[1], 16)
        total += size
        if total > limit:
            raise Malformed(f"a body of more than {limit} bytes", 413)
        yield from _exactly(stream, size)
        if size == 0:
            break
        if stream.until(b"\r\n", 2) != b"\r\n":
            raise Malformed("a chunk that does not end")
    for _ in range(_HEADERS):
        if stream.until(b"\r\n", _LINE_BYTES) in (b"\r\n", None):
            return
    raise Malformed("trailers without end")


def _parts(raw: bytes) -> tuple[str, Headers]:
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    if len(lines) > _HEADERS:
        raise Malformed("too many headers", 431)
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        value = value.strip(" \t")
        if not colon or not _TOKEN.match(name) or not _VALUE.match(value):
            raise Malformed("a line that is not a header")
        headers.append((name, value))
    return first, tuple(headers)
