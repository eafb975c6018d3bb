"""Connections to servers on the network, and requests passed on to them.

A name that resolves to this machine itself or to its link is refused, unless the allow list has it as an address or as
``localhost``: the owner of a name must not be able to direct the proxy to the harness. Certificates of servers
are checked against the machine's own store.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from ipaddress import ip_address
from ssl import SSLContext

from proctor.execute.network.http_exchange import Answer, Body, NoAnswer, Request
from proctor.execute.network.http_messages import (
    Ended,
    Malformed,
    ResponseHead,
    Stream,
    body_pieces,
    end_to_end,
    head_bytes,
    header,
    read_response,
    response_framing,
)
from proctor.execute.network.namespace_sockets import OpenConnections
from proctor.execute.network.network_events import Bounds

Dial = Callable[[str, int, float], socket.socket]
"""A TCP connection to host and port within some seconds; ``OSError`` if it fails."""


def dial(host: str, port: int, seconds: float) -> socket.socket:
    """Connect to the first address of ``host`` that answers."""
    problem: OSError = OSError(f"{host} has no address")
    deadline = time.monotonic() + seconds
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        found = ip_address(str(address[0]).partition("%")[0])
        near = found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
        if near and host not in (str(found), "localhost"):
            problem = OSError(f"{host} is an address of this machine")
            continue
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(max(0.001, deadline - time.monotonic()))
            made.connect(address)
        except OSError as error:
            made.close()
            problem = error
            continue
        return made
    raise problem


class Upstream:
    """Implements ``Source`` by asking the server itself."""

    def __init__(
        self,
        bounds: Bounds,
        live: OpenConnections,
        *,
        connect: Dial = dial,
        context: Callable[[], SSLContext] | None = None,
        plain_bodies: bool = False,
    ) -> None:
        self._bounds = bounds
        self._live = live
        self._dial = connect
        self._make_context = context
        self._context: SSLContext | None = None
        self._plain_bodies = plain_bodies
        """Ask for bodies that are not compressed, so that the stored answer fits every later request."""

    def connect(self, host: str, port: int) -> socket.socket:
        """A plain connection, or :class:`NoAnswer`."""
        try:
            return self._dial(host, port, self._bounds.connect_seconds)
        except TimeoutError:
            raise NoAnswer(f"{host}:{port} did not answer in time", 504) from None
        except OSError as error:
            raise NoAnswer(f"{host}:{port} cannot be reached: {error.strerror or error}") from None

    def answer(self, request: Request, body: Body) -> Answer:
        connection = self.connect(request.host, request.port)
        held = self._live.add(connection)

        def end() -> None:
            connection.close()
            self._live.drop(held)

        try:
            if request.scheme == "https":
                connection = self._secured(connection, request.host)
            deadline = time.monotonic() + self._bounds.exchange_seconds
            stream = Stream(connection, self._bounds.upstream_seconds, deadline)
            self._ask(stream, request, body)
            head = read_response(stream, self._bounds.head_bytes)
            return self._under_way(stream, head, request.method, end)
        except (Ended, Malformed) as error:
            end()
            raise NoAnswer(f"{request.host}:{request.port} failed: {error}") from None
        except BaseException:
            end()
            raise

    def _secured(self, connection: socket.socket, host: str) -> socket.socket:
        if self._context is None:
            self._context = self._make_context() if self._make_context else ssl.create_default_context()
        try:
            connection.settimeout(self._bounds.connect_seconds)
            return self._context.wrap_socket(connection, server_hostname=host)
        except OSError as error:
            raise NoAnswer(f"no secure connection to {host}: {error.strerror or error}") from None

    def _ask(self, stream: Stream, request: Request, body: Body) -> None:
        headers = [("Host", request.authority)]
        for key, value in request.headers:
            if key.lower() != "host" and not (self._plain_bodies and key.lower() == "accept-encoding"):
                headers.append((key, value))
        if self._plain_bodies:
            headers.append(("Accept-Encoding", "identity"))
        if request.content.size or request.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", str(request.content.size)))
        headers.append(("Connection", "close"))
        stream.send(head_bytes(f"{request.method} {request.target} HTTP/1.1", tuple(headers)))
        for piece in body.pieces():
            stream.send(piece)

    def _under_way(self, stream: Stream, head: ResponseHead, method: str, end: Callable[[], None]) -> Answer:
        if head.status == 101:
            raise NoAnswer("a change of protocol, which is not let through", refused=True)
        frame = response_framing(head, method)
        kept = end_to_end(head.headers)
        if frame.kind == "none":
            length = header(head.headers, "content-length")
            if length is not None and length.isdecimal() and head.status != 204:
                kept = (*kept, ("Content-Length", length))
        return Answer(
            head.status,
            head.reason,
            kept,
            body_pieces(stream, frame, self._bounds.response_bytes),
            length=frame.length if frame.kind == "length" else None,
            bodiless=frame.kind == "none",
            close=end,
        )
