"""The filtering proxy: the one way out of a sandbox, for what the allow list permits and nothing else.

It is asked as proxies are, by whole addresses and by CONNECT. At ports where it stands in for the servers themselves
(their names lead to the loopback), it is asked by paths, or tunnels by the name in the TLS greeting. With an authority
it looks into secure connections; without one they pass through unread.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from ssl import SSLContext, SSLObject, SSLSocket

from proctor.base.errors import InfrastructureFault
from proctor.execute.network.allow import plain_host
from proctor.execute.network.client_hello import HELLO_BYTES, NotTls, server_name
from proctor.execute.network.conversation import Conversation, Desk
from proctor.execute.network.messages import RequestHead
from proctor.execute.network.routing import Place, Route, authority
from proctor.execute.network.source import NoAnswer
from proctor.execute.network.stream import Ended, Malformed, Stream
from proctor.execute.network.told import Exchange
from proctor.execute.network.tunnel import carry
from proctor.execute.network.upstream import Upstream

_TLS = b"\x16"
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """Serves connections out of one sandbox or several; ``upstream`` carries tunnels, where there are any."""

    def __init__(self, desk: Desk, upstream: Upstream | None) -> None:
        self._desk = desk
        self._upstream = upstream

    def serve(self, connection: socket.socket) -> None:
        """A connection of a program that knows it talks to a proxy."""
        stream = Stream(connection, self._desk.bounds.client_seconds)
        with self._desk.live.held(connection):
            conversation = Conversation(self._desk, stream, None)
            conversation.run(lambda head: self._connect(stream, conversation, head))

    def stand_in(self, port: int) -> Callable[[socket.socket], None]:
        """Serves connections of programs that believe to have reached a server at ``port``."""

        def serve(connection: socket.socket) -> None:
            stream = Stream(connection, self._desk.bounds.client_seconds)
            with self._desk.live.held(connection):
                if _first_byte(connection, self._desk.bounds.client_seconds) != _TLS:
                    Conversation(self._desk, stream, Place("http", "", port)).run()
                elif self._desk.authority is None:
                    self._by_greeting(stream, port)
                else:
                    self._secure_by_name(connection, port)

        return serve

    def _connect(self, stream: Stream, conversation: Conversation, head: RequestHead) -> None:
        try:
            host, port = authority(head.target, None)
        except Malformed as error:
            conversation.refuse(Route("", "", 0, head.target), head.method, error.status, str(error))
            return
        goes = Route("https", host, port, "")
        if not conversation.may_go_on(goes, head.method, self._desk.allow.opens(host, port)):
            return
        if self._desk.authority is None:
            self._tunnel(stream, conversation, goes)
            return
        stream.send(_ESTABLISHED)
        if stream.waiting:
            raise Ended("it spoke before it was answered")
        if _first_byte(stream.socket, self._desk.bounds.client_seconds) == _TLS:
            self._look_inside(stream.socket, host, port)
        else:
            Conversation(self._desk, stream, Place("http", host, port)).run()

    def _look_inside(self, connection: socket.socket, host: str, port: int) -> None:
        """Be the server ``host`` towards the sandbox."""
        assert self._desk.authority is not None
        try:
            context = self._desk.authority.context(host)
            connection.settimeout(self._desk.bounds.client_seconds)
            secured = context.wrap_socket(connection, server_side=True)
        except (OSError, InfrastructureFault) as error:
            reason = f"no secure connection: {getattr(error, 'reason', None) or error}"
            self._desk.tell(Exchange(host, port, "CONNECT", "", 0, reason=reason))
            return
        self._converse(secured, Place("https", host, port))

    def _converse(self, secured: SSLSocket, place: Place) -> None:
        with secured:
            Conversation(self._desk, Stream(secured, self._desk.bounds.client_seconds), place).run()

    def _tunnel(self, stream: Stream, conversation: Conversation, goes: Route, greeting: bytes = b"") -> None:
        """Open a tunnel, carry it to its end, and tell both."""
        assert self._upstream is not None
        try:
            outside = self._upstream.connect(goes.host, goes.port)
        except NoAnswer as error:
            conversation.refuse(goes, "CONNECT", error.status, str(error), allowed=True)
            return
        opened = Exchange(goes.host, goes.port, "CONNECT", "", 200, reason="opened", canaries=conversation.carried)
        with outside, self._desk.live.held(outside):
            self._desk.tell(opened)
            if not greeting:
                stream.send(_ESTABLISHED)
            first = greeting + (stream.some() if stream.waiting else b"")
            passed = carry(stream.socket, outside, goes.host, self._desk.bounds, first)
        self._desk.tell(
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
        conversation = Conversation(self._desk, stream, Place("https", host, port))
        conversation.carried = self._desk.spot(name.encode())
        if not host or not self._desk.allow.opens(host, port) or self._desk.tell.full:
            reason = "the allow list does not hold it" if host else "a greeting that names no server"
            carried = conversation.carried
            self._desk.tell(
                Exchange(host or name, port, "CONNECT", "", 0, allowed=False, reason=reason, canaries=carried)
            )
            return
        try:
            self._tunnel(stream, conversation, goes, greeting)
        except Ended:
            pass

    def _secure_by_name(self, connection: socket.socket, port: int) -> None:
        """Be whichever allowed server the greeting names."""
        desk, asked = self._desk, ""
        assert desk.authority is not None

        def choose(secured: SSLSocket | SSLObject, name: str | None, context: SSLContext) -> int | None:
            nonlocal asked
            asked = plain_host(name or "")
            if not asked or not desk.allow.opens(asked, port) or desk.tell.full:
                return int(ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME)
            assert desk.authority is not None
            try:
                secured.context = desk.authority.context(asked)
            except InfrastructureFault:
                return int(ssl.ALERT_DESCRIPTION_INTERNAL_ERROR)
            return None

        try:
            connection.settimeout(desk.bounds.client_seconds)
            secured = desk.authority.choosing(choose).wrap_socket(connection, server_side=True)
        except OSError as error:
            opens = desk.allow.opens(asked, port)
            reason = f"no secure connection: {getattr(error, 'reason', None) or error}"
            carried = desk.spot(asked.encode())
            desk.tell(Exchange(asked, port, "CONNECT", "", 0, allowed=opens, reason=reason, canaries=carried))
            return
        self._converse(secured, Place("https", asked, port))


def _first_byte(connection: socket.socket, seconds: float) -> bytes:
    """The first byte that comes, which stays to be read."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""
