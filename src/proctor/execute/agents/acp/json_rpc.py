"""JSON-RPC over two pipes, one message a line, with an untrusted peer.

Lines and their total are bounded; input that is not a message ends the conversation. Both directions are stored, up to
a bound, as evidence. Reading waits only for the other side; when that side ends, the wait ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import dataclass
from typing import Any

from proctor.base.canonical import parse
from proctor.execute.sandbox.interface import Output

LINE_BYTES = 16 << 20
TOTAL_BYTES = 256 << 20
KEPT_BYTES = 8 << 20
CHUNK_BYTES = 1 << 16

NO_METHOD = -32601
BAD_PARAMETERS = -32602
INTERNAL = -32603


class Broken(Exception):
    """The other side does not keep to the protocol, or said that it cannot do what it was asked."""


@dataclass(frozen=True)
class Message:
    """One message: a request (``method`` and ``id``), a notification (``method``), or an answer (``id``)."""

    id: Any
    method: str
    content: dict[str, Any]
    error: str = ""


class Wire:
    """Our ends of the two pipes: ``reading`` from the agent, ``writing`` to the agent. Closed here."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._lines: list[bytes] = []
        """Whole ones that wait to be read, the next one last."""
        self._rest = b""
        self._total = 0
        self._kept = bytearray()
        self._said = 0
        self._digest = hashlib.sha256()
        self._turn = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; if the peer has ended, the next read reports it."""
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        with self._turn:
            self._keep(b"> ", line)
            rest = memoryview(line)
            try:
                while rest and self._writing >= 0:
                    rest = rest[os.write(self._writing, rest) :]
            except BrokenPipeError:
                self._hang_up()

    def receive(self) -> Message | None:
        """The next message, or ``None`` when the other side has ended."""
        while True:
            while self._lines:
                line = self._lines.pop()
                if line.strip():
                    with self._turn:
                        self._keep(b"< ", line + b"\n")
                    return _message(line)
            data = os.read(self._reading, CHUNK_BYTES)
            if not data:
                return None
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines = lines[::-1]
            self._total += len(data)
            if len(self._rest) > LINE_BYTES or self._total > TOTAL_BYTES:
                raise Broken("the agent sends more than the limit")

    def hang_up(self) -> None:
        """Say nothing more."""
        with self._turn:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        self.hang_up()
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1

    def transcript(self) -> Output:
        """Both sides of the conversation."""
        return Output(bytes(self._kept), self._said, self._digest.hexdigest())

    def _keep(self, mark: bytes, line: bytes) -> None:
        whole = mark + line
        self._said += len(whole)
        self._digest.update(whole)
        if len(self._kept) < KEPT_BYTES:
            self._kept += whole[: KEPT_BYTES - len(self._kept)]


def _message(line: bytes) -> Message:
    try:
        value = parse(line)
    except ValueError:
        raise Broken("the agent sends a line that is not JSON") from None
    if not isinstance(value, dict):
        raise Broken("the agent sends JSON that is not a message")
    method = value.get("method", "")
    content = value.get("params") if method else value.get("result")
    error = value.get("error")
    return Message(
        id=value.get("id"),
        method=method if isinstance(method, str) else "",
        content=content if isinstance(content, dict) else {},
        error=_words(error) if error else "",
    )


def _words(error: Any) -> str:
    if isinstance(error, dict):
        return f"{error.get('message', 'error')} {error.get('data') or ''}".strip()[:500]
    return str(error)[:500]
