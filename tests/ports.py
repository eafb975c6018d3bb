"""Ports for tests that need one on which nothing listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port of the loopback address that refuses connections for as long as the ``with`` block lasts.

    It is bound and does not listen: no other process can take it, as it could take a port that was bound and freed.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
