"""What a request is for: scheme, host, port and path, from its first line and its Host header. Pure.

There are two ways to ask. A proxy is asked by whole addresses (``GET http://host/path``, ``CONNECT host:port``); a
server that the proxy stands in for is asked by paths, and then the Host header must name that server.
"""

from __future__ import annotations

from dataclasses import dataclass

from proctor.execute.network.allow import plain_host
from proctor.execute.network.messages import RequestHead
from proctor.execute.network.stream import Malformed

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Place:
    """The server that a connection stands for; an empty ``host`` is whichever the request names."""

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
