"""A tunnel: bytes pass both ways between the sandbox and one allowed address, unread but for their number.

Only the first bytes from inside are looked at: a TLS client that asks for another name than the tunnel was opened for
would reach another site behind the same address, so that is refused. A greeting without a name, or in a protocol other
than TLS, passes: the address was allowed whole.
"""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass

from proctor.execute.network.body import Count
from proctor.execute.network.client_hello import HELLO_BYTES, NotTls, server_name
from proctor.execute.network.stream import PIECE_BYTES
from proctor.execute.network.told import Bounds, Content


@dataclass(frozen=True)
class Passed:
    """What went through a tunnel, and why it ended if not in peace."""

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
    """Pass bytes both ways until both sides are done, one is gone, or a bound is reached. ``first`` comes first."""
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
