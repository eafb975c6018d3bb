"""The destination of a request, and whether the sandbox may reach it. Pure.

Rules are on host, port and, where wanted, path and method. A rule without path and methods opens a whole address, so
a tunnel to it need not be read. A rule with either needs a proxy that reads the requests: ``restricted`` says
that. Hosts are compared in lower case and without a final dot; ``*.example.org`` matches every name below it, not
for ``example.org``. A path with dot segments or encoded separators never fits a rule with a path, because servers
differ on its meaning.

The destination comes from the first line and the Host header of a request, or from the server name in the first bytes
of a TLS connection (ClientHello). A proxy is asked by whole addresses (``GET http://host/path``, ``CONNECT
host:port``); a server that the proxy replaces is asked by paths, and then the Host header must name that server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from proctor.base.errors import UsageFault
from proctor.execute.network.http_messages import Malformed, RequestHead

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\Z|\[[0-9a-f:.]+\]\Z|[0-9a-f:.]+\Z")
_UNCLEAR = re.compile(r"/\.{1,2}(?:/|\Z)|%2e|%2f|%5c|\\|//|;", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """One thing that is open. ``path`` is a prefix; no ``methods`` means all of them."""

    host: str
    port: int
    path: str = ""
    methods: tuple[str, ...] = ()

    @property
    def restricted(self) -> bool:
        return bool(self.path or self.methods)

    def reaches(self, host: str) -> bool:
        """Whether this rule covers ``host``, which is in plain form."""
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and len(host) > len(self.host) - 1
        return host == self.host

    def fits(self, method: str, target: str) -> bool:
        """Whether a request for ``target`` (a path, perhaps with a query) is one that this rule lets through."""
        if self.methods and method not in self.methods:
            return False
        return not self.path or _below(target.partition("?")[0], self.path)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{' '.join((*self.methods, ''))}{host}:{self.port}{self.path}"


@dataclass(frozen=True)
class AllowList:
    """Everything that is open."""

    rules: tuple[Rule, ...] = ()

    @property
    def restricted(self) -> bool:
        """Whether any rule has more than an address."""
        return any(rule.restricted for rule in self.rules)

    def knows(self, host: str) -> bool:
        """Whether ``host`` can be reached at any port."""
        return any(rule.reaches(host) for rule in self.rules)

    def opens(self, host: str, port: int) -> bool:
        """Whether there is anything to reach at an address."""
        return any(rule.port == port and rule.reaches(host) for rule in self.rules)

    def permits(self, method: str, host: str, port: int, target: str) -> bool:
        """Whether a request may pass."""
        return any(rule.port == port and rule.reaches(host) and rule.fits(method, target) for rule in self.rules)

    def ports(self) -> tuple[int, ...]:
        """Every port that a rule names, once, in order."""
        return tuple(sorted({rule.port for rule in self.rules}))


def plain_host(host: str) -> str:
    """``host`` as rules know it: lower case, no final dot, no brackets; empty if it is not a host."""
    plain = host.lower().removesuffix(".")
    if not _HOST.match(plain) or plain.startswith("*") or len(plain) > 253 or ".." in plain:
        return ""
    return plain.strip("[]")


def parse_rule(address: str, path: str = "", methods: Iterable[str] = ()) -> Rule:
    """The rule for ``host:port`` or ``*.host:port``."""
    host, colon, port = address.lower().rpartition(":")
    if not colon or not _HOST.match(host) or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageFault(f"not an address: {address!r}", hint="write host:port or *.host:port")
    if path and (not path.startswith("/") or _UNCLEAR.search(path)):
        raise UsageFault(f"not a path to allow: {path!r}", hint="write a plain path that starts with /")
    return Rule(host.removesuffix(".").strip("[]"), int(port), path, tuple(method.upper() for method in methods))


def _below(path: str, prefix: str) -> bool:
    if _UNCLEAR.search(path):
        return False
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")


PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Place:
    """The server of a connection; an empty ``host`` is the one that the request names."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True)
class Route:
    """Where a request goes."""

    scheme: str
    host: str
    port: int
    target: str


def route(head: RequestHead, place: Place | None) -> Route:
    """Where a request goes that came on a connection to ``place``, or to the proxy itself."""
    if "#" in head.target:
        raise Malformed("a request for a part of a page")
    if place is None:
        return _absolute(head.target)
    if not head.target.startswith("/"):
        raise Malformed("a request to a server must name a path")
    host, port = _host_header(head, place)
    if place.host and (host, port) != (place.host, place.port):
        raise Malformed(f"a request to {place.host}:{place.port} that names another host", 421)
    if port != place.port:
        raise Malformed(f"a request at port {place.port} that names another port", 421)
    return Route(place.scheme, host, port, head.target)


def authority(text: str, usual: int | None) -> tuple[str, int]:
    """Host and port of ``host:port``; the port may be left out where there is a usual one."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, "" if usual is None else str(usual)
    plain = plain_host(host)
    bracketed = host.startswith("[") and host.endswith("]")
    if not plain or not (port.isascii() and port.isdecimal()) or not 0 < int(port[:6]) < 65536:
        raise Malformed("an address that is not host:port")
    if (":" in plain) != bracketed:
        raise Malformed("an address that is not host:port")
    return plain, int(port)


def _absolute(target: str) -> Route:
    scheme, mark, rest = target.partition("://")
    scheme = scheme.lower()
    if not mark or scheme not in PORTS:
        raise Malformed("a proxy is asked by whole http addresses, such as http://host/path")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    host, port = authority(rest[:cut], PORTS[scheme])
    path = rest[cut:]
    return Route(scheme, host, port, path if path.startswith("/") else "/" + path)


def _host_header(head: RequestHead, place: Place) -> tuple[str, int]:
    named = [value for key, value in head.headers if key.lower() == "host"]
    if len(named) > 1:
        raise Malformed("more than one Host")
    if named and named[0]:
        return authority(named[0], PORTS[place.scheme])
    if place.host:
        return place.host, place.port
    raise Malformed("a request that names no host")


HELLO_BYTES = 32 << 10

_HANDSHAKE = 0x16
_CLIENT_HELLO = 1
_SERVER_NAME = 0


class NotTls(ValueError):
    """These bytes do not begin a TLS connection."""


def server_name(data: bytes) -> str | None:
    """The name in a greeting, empty when it has none; ``None`` when more bytes are needed."""
    message = bytearray()
    at = 0
    while True:
        if at < len(data) and data[at] != _HANDSHAKE:
            raise NotTls("no greeting")
        if len(data) < at + 5:
            return None
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        if size == 0:
            raise NotTls("an empty record")
        message += data[at + 5 : at + 5 + size]
        if message and message[0] != _CLIENT_HELLO:
            raise NotTls("no greeting of a client")
        if len(message) >= 4:
            wanted = 4 + int.from_bytes(message[1:4], "big")
            if wanted > HELLO_BYTES:
                raise NotTls("a greeting without end")
            if len(message) >= wanted:
                return _name_in(bytes(message[4:wanted]))
        if len(data) < at + 5 + size:
            return None
        at += 5 + size


def _name_in(hello: bytes) -> str:
    """The server name among the extensions of a greeting."""
    rest = _Bytes(hello)
    rest.take(34)
    rest.block(1)
    rest.block(2)
    rest.block(1)
    if not rest.left:
        return ""
    extensions = _Bytes(rest.block(2))
    while extensions.left:
        kind = int.from_bytes(extensions.take(2), "big")
        content = extensions.block(2)
        if kind == _SERVER_NAME:
            names = _Bytes(_Bytes(content).block(2))
            if names.take(1) != b"\0":
                raise NotTls("a name of an unknown kind")
            return names.block(2).decode("latin-1").lower()
    return ""


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.left = data

    def take(self, count: int) -> bytes:
        taken, self.left = self.left[:count], self.left[count:]
        if len(taken) < count:
            raise NotTls("a greeting that ends too early")
        return taken

    def block(self, width: int) -> bytes:
        """Bytes after their length."""
        return self.take(int.from_bytes(self.take(width), "big"))
