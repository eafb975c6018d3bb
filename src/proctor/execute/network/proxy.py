"""The filtering proxy: the one way out of a sandbox, for what the allow list permits and nothing else.

It is asked as proxies are, by whole addresses and by CONNECT. At ports where it replaces the servers (their names
resolve to the loopback), it is asked by paths, or tunnels by the name in the TLS greeting. With an authority it
decrypts secure connections; without one they pass through unread.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from ssl import SSLContext, SSLObject, SSLSocket

from proctor.base.errors import InfrastructureFault
from proctor.execute.network.allow_list import HELLO_BYTES, NotTls, Place, Route, authority, plain_host, server_name
from proctor.execute.network.http_exchange import Count, NoAnswer
from proctor.execute.network.http_messages import PIECE_BYTES, Ended, Malformed, RequestHead, Stream
from proctor.execute.network.network_events import Bounds, Content, Exchange
from proctor.execute.network.request_handler import ConnectionHandler, ProxyContext
from proctor.execute.network.upstream import Upstream


@dataclass(frozen=True)
class Passed:
    """The bytes of a tunnel, and why it ended if not normally."""

    sent: Content
    received: Content
    problem: str = ""
    refused: bool = False


class Opening:
    """Holds back what comes from inside until it is clear that it may pass."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._held: bytearray | None = bytearray()

    def pass_on(self, data: bytes) -> bytes:
        """The bytes that may go out now; ``PermissionError`` when the greeting names another host."""
        if self._held is None:
            return data
        self._held += data
        try:
            name = server_name(bytes(self._held))
        except NotTls:
            name = ""
        if name is None and len(self._held) < 2 * HELLO_BYTES:
            return b""
        if name and name.removesuffix(".") != self._host:
            raise PermissionError(f"a tunnel to {self._host} in which {name} is asked for")
        ready, self._held = bytes(self._held), None
        return ready


def carry(inside: socket.socket, outside: socket.socket, host: str, bounds: Bounds, first: bytes = b"") -> Passed:
    """Pass bytes both ways until both sides are done, one is closed, or a bound is reached. ``first`` comes first."""
    sent, received = Count(), Count()
    opening = Opening(host)
    deadline = time.monotonic() + bounds.exchange_seconds
    ends = {inside: (outside, sent), outside: (inside, received)}
    try:
        if first:
            _push(outside, opening.pass_on(first), sent, bounds)
        with selectors.DefaultSelector() as selector:
            for end in ends:
                selector.register(end, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, min(bounds.client_seconds, deadline - time.monotonic())))
                if not ready:
                    return Passed(sent.content(), received.content(), "it took too long")
                for key, _ in ready:
                    here = inside if key.fileobj is inside else outside
                    other, count = ends[here]
                    data = here.recv(PIECE_BYTES)
                    if not data:
                        selector.unregister(here)
                        other.shutdown(socket.SHUT_WR)
                    else:
                        _push(other, opening.pass_on(data) if here is inside else data, count, bounds)
    except PermissionError as error:
        return Passed(sent.content(), received.content(), str(error), refused=True)
    except OverflowError as error:
        return Passed(sent.content(), received.content(), str(error))
    except OSError as error:
        return Passed(sent.content(), received.content(), str(error.strerror or error))
    return Passed(sent.content(), received.content())


def _push(to: socket.socket, data: bytes, count: Count, bounds: Bounds) -> None:
    if count.size + len(data) > bounds.tunnel_bytes:
        raise OverflowError(f"more than {bounds.tunnel_bytes} bytes one way")
    count.add(data)
    to.settimeout(bounds.client_seconds)
    to.sendall(data)


_TLS = b"\x16"
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """Serves connections out of one sandbox or several; ``upstream`` carries tunnels, where there are any."""

    def __init__(self, context: ProxyContext, upstream: Upstream | None) -> None:
        self._context = context
        self._upstream = upstream

    def serve(self, connection: socket.socket) -> None:
        """A connection of a program that knows it talks to a proxy."""
        stream = Stream(connection, self._context.bounds.client_seconds)
        with self._context.live.held(connection):
            conversation = ConnectionHandler(self._context, stream, None)
            conversation.run(lambda head: self._connect(stream, conversation, head))

    def stand_in(self, port: int) -> Callable[[socket.socket], None]:
        """Serves connections of programs that expect a server at ``port``."""

        def serve(connection: socket.socket) -> None:
            stream = Stream(connection, self._context.bounds.client_seconds)
            with self._context.live.held(connection):
                if _first_byte(connection, self._context.bounds.client_seconds) != _TLS:
                    ConnectionHandler(self._context, stream, Place("http", "", port)).run()
                elif self._context.authority is None:
                    self._by_greeting(stream, port)
                else:
                    self._secure_by_name(connection, port)

        return serve

    def _connect(self, stream: Stream, conversation: ConnectionHandler, head: RequestHead) -> None:
        try:
            host, port = authority(head.target, None)
        except Malformed as error:
            conversation.refuse(Route("", "", 0, head.target), head.method, error.status, str(error))
            return
        goes = Route("https", host, port, "")
        if not conversation.may_go_on(goes, head.method, self._context.allow.opens(host, port)):
            return
        if self._context.authority is None:
            self._tunnel(stream, conversation, goes)
            return
        stream.send(_ESTABLISHED)
        if stream.waiting:
            raise Ended("it sent data before the answer")
        if _first_byte(stream.socket, self._context.bounds.client_seconds) == _TLS:
            self._look_inside(stream.socket, host, port)
        else:
            ConnectionHandler(self._context, stream, Place("http", host, port)).run()

    def _look_inside(self, connection: socket.socket, host: str, port: int) -> None:
        """Be the server ``host`` towards the sandbox."""
        assert self._context.authority is not None
        try:
            context = self._context.authority.context(host)
            connection.settimeout(self._context.bounds.client_seconds)
            secured = context.wrap_socket(connection, server_side=True)
        except (OSError, InfrastructureFault) as error:
            reason = f"no secure connection: {getattr(error, 'reason', None) or error}"
            self._context.notify(Exchange(host, port, "CONNECT", "", 0, reason=reason))
            return
        self._converse(secured, Place("https", host, port))

    def _converse(self, secured: SSLSocket, place: Place) -> None:
        with secured:
            ConnectionHandler(self._context, Stream(secured, self._context.bounds.client_seconds), place).run()

    def _tunnel(self, stream: Stream, conversation: ConnectionHandler, goes: Route, greeting: bytes = b"") -> None:
        """Open a tunnel, carry it to its end, and report both."""
        assert self._upstream is not None
        try:
            outside = self._upstream.connect(goes.host, goes.port)
        except NoAnswer as error:
            conversation.refuse(goes, "CONNECT", error.status, str(error), allowed=True)
            return
        opened = Exchange(goes.host, goes.port, "CONNECT", "", 200, reason="opened", canaries=conversation.carried)
        with outside, self._context.live.held(outside):
            self._context.notify(opened)
            if not greeting:
                stream.send(_ESTABLISHED)
            first = greeting + (stream.some() if stream.waiting else b"")
            passed = carry(stream.socket, outside, goes.host, self._context.bounds, first)
        self._context.notify(
            Exchange(
                *(goes.host, goes.port, "CONNECT", "", 0 if passed.refused else 200),
                request=passed.sent,
                response=passed.received,
                allowed=not passed.refused,
                reason=f"ended: {passed.problem}" if passed.problem else "ended",
            )
        )

    def _by_greeting(self, stream: Stream, port: int) -> None:
        """A tunnel to the server that a TLS greeting names."""
        greeting = b""
        try:
            while (name := server_name(greeting)) is None:
                piece = stream.some()
                if not piece or len(greeting) > 2 * HELLO_BYTES:
                    return
                greeting += piece
        except (NotTls, Ended):
            return
        host = plain_host(name)
        goes = Route("https", host, port, "")
        conversation = ConnectionHandler(self._context, stream, Place("https", host, port))
        conversation.carried = self._context.spot(name.encode())
        if not host or not self._context.allow.opens(host, port) or self._context.notify.full:
            reason = "the allow list does not contain it" if host else "a greeting that names no server"
            carried = conversation.carried
            self._context.notify(
                Exchange(host or name, port, "CONNECT", "", 0, allowed=False, reason=reason, canaries=carried)
            )
            return
        try:
            self._tunnel(stream, conversation, goes, greeting)
        except Ended:
            pass

    def _secure_by_name(self, connection: socket.socket, port: int) -> None:
        """Be whichever allowed server the greeting names."""
        context, asked = self._context, ""
        assert context.authority is not None

        def choose(secured: SSLSocket | SSLObject, name: str | None, tls: SSLContext) -> int | None:
            nonlocal asked
            asked = plain_host(name or "")
            if not asked or not context.allow.opens(asked, port) or context.notify.full:
                return int(ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME)
            assert context.authority is not None
            try:
                secured.context = context.authority.context(asked)
            except InfrastructureFault:
                return int(ssl.ALERT_DESCRIPTION_INTERNAL_ERROR)
            return None

        try:
            connection.settimeout(context.bounds.client_seconds)
            secured = context.authority.choosing(choose).wrap_socket(connection, server_side=True)
        except OSError as error:
            opens = context.allow.opens(asked, port)
            reason = f"no secure connection: {getattr(error, 'reason', None) or error}"
            carried = context.spot(asked.encode())
            context.notify(Exchange(asked, port, "CONNECT", "", 0, allowed=opens, reason=reason, canaries=carried))
            return
        self._converse(secured, Place("https", asked, port))


def _first_byte(connection: socket.socket, seconds: float) -> bytes:
    """The first byte that comes, which stays to be read."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""
