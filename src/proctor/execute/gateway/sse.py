"""Server-sent events out of raw bytes, with nothing lost: all pieces together are the bytes that came. Pure.

An event larger than the bound is passed on unread, so that one endless line costs no memory and hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.gateway.dialects.reading import shallow

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")
_LONGEST_END = 4


@dataclass(frozen=True)
class Piece:
    """Some bytes of a stream; ``data`` is the JSON object of the event that they are, ``problem`` why there is none.

    ``done`` marks the event that says that the stream is over.
    """

    raw: bytes
    data: dict[str, Any] | None = None
    problem: str = ""
    done: bool = False


class EventSplitter:
    """Splits one stream."""

    def __init__(self, event_bytes: int) -> None:
        self._limit = event_bytes
        self._held = bytearray()
        self._searched = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The events that are whole now, each read when it is asked for; all must be."""
        self._held += chunk
        while found := _END.search(self._held, self._searched):
            raw = bytes(self._held[: found.end()])
            del self._held[: found.end()]
            self._searched = 0
            yield self._piece(raw)
        self._searched = max(0, len(self._held) - _LONGEST_END)
        if len(self._held) > self._limit:
            kept = self._held[-_LONGEST_END:]
            problem = "" if self._skipping else f"an event of more than {self._limit} bytes"
            yield Piece(bytes(self._held[:-_LONGEST_END]), problem=problem)
            self._held = kept
            self._searched = 0
            self._skipping = True

    def rest(self) -> list[Piece]:
        """What is left at the end of the stream: an event without its end is whole, or was cut."""
        raw = bytes(self._held)
        self._held = bytearray()
        piece = self._piece(raw)
        return [Piece(raw) if piece.problem else piece] if raw else []

    def _piece(self, raw: bytes) -> Piece:
        if self._skipping:
            self._skipping = False
            return Piece(raw)
        lines = [line[5:].removeprefix(b" ") for line in _LINE.split(raw) if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == b"[DONE]":
            return Piece(raw, done=True)
        if not data:
            return (
                Piece(raw) if lines or b":" in raw or not raw.strip() else Piece(raw, problem="a line that is no event")
            )
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            return Piece(raw, problem=f"an event that is not JSON: {error.msg}")
        if not isinstance(value, dict) or not shallow(value):
            return Piece(raw, problem="an event that is no JSON object")
        return Piece(raw, value)
