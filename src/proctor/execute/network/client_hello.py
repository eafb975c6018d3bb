"""The name that a TLS client asks for, read from its first bytes. Pure.

Only what decides about a tunnel is read: whether the bytes are a TLS greeting at all, whether enough of them are
there, and the server name. Everything is bounded by the greeting itself.
"""

from __future__ import annotations

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
        """Bytes that stand behind their own number."""
        return self.take(int.from_bytes(self.take(width), "big"))
