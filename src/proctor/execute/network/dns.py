"""A name server that answers every query itself and asks no other server.

Every name is reported. Names that the sandbox may reach have the loopback as their address, where the proxy listens;
all others do not exist. :func:`respond` is pure; queries are bytes from inside, so nothing in them is trusted, and what
is not a plain question gets a format error or silence.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

from proctor.execute.network.network_events import Lookup, RecordNetworkEvent

QUERY_BYTES = 4096
LABEL_BYTES = 63
NAME_BYTES = 255
SECONDS_TO_LIVE = 5

_HEADER = struct.Struct("!6H")
_KINDS = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 65: "HTTPS"}
_FORMAT_ERROR, _NO_SUCH_NAME, _NOT_IMPLEMENTED = 1, 3, 4


@dataclass(frozen=True)
class Question:
    """The question of one query. ``name`` is lower-case ASCII, unprintable bytes as ``\\DDD``; ``.`` is the root."""

    name: str
    kind: str
    known: bool


def respond(query: bytes, knows: Callable[[str], bool]) -> tuple[bytes, Question | None]:
    """The answer to ``query`` (empty for none) and the question that it held, if it was one."""
    if len(query) < _HEADER.size:
        return b"", None
    identity, flags, questions, _, _, _ = _HEADER.unpack_from(query)
    if flags & 0x8000:
        return b"", None
    if flags & 0x7800:
        return _head(identity, flags, _NOT_IMPLEMENTED, 0, 0), None
    read = _question(query) if questions == 1 else None
    if read is None:
        return _head(identity, flags, _FORMAT_ERROR, 0, 0), None
    name, kind, family, end = read
    asked = query[_HEADER.size : end]
    found = Question(name, _KINDS.get(kind, str(kind)), knows(name))
    if not found.known:
        return _head(identity, flags, _NO_SUCH_NAME, 1, 0) + asked, found
    if kind == 1 and family == 1:
        record = struct.pack("!3HIH4B", 0xC000 | _HEADER.size, 1, 1, SECONDS_TO_LIVE, 4, 127, 0, 0, 1)
        return _head(identity, flags, 0, 1, 1) + asked + record, found
    return _head(identity, flags, 0, 1, 0) + asked, found


def _head(identity: int, flags: int, code: int, questions: int, answers: int) -> bytes:
    """An authoritative answer that offers recursion, as programs expect of the server they are given."""
    return _HEADER.pack(identity, 0x8480 | flags & 0x7900 | code, questions, answers, 0, 0)


def _question(query: bytes) -> tuple[str, int, int, int] | None:
    """Name, kind, class and end of the first question; names in questions are never compressed."""
    at = _HEADER.size
    labels: list[str] = []
    while True:
        if at >= len(query) or at - _HEADER.size >= NAME_BYTES:
            return None
        size = query[at]
        at += 1
        if size == 0:
            break
        if size > LABEL_BYTES or at + size > len(query):
            return None
        labels.append("".join(map(_letter, query[at : at + size])))
        at += size
    if at + 4 > len(query):
        return None
    kind, family = struct.unpack_from("!2H", query, at)
    return ".".join(labels) or ".", kind, family, at + 4


def _letter(byte: int) -> str:
    if 33 <= byte <= 126 and byte not in b'.\\"':
        return chr(byte).lower()
    return f"\\{byte:03d}"


class NameServer:
    """Answers queries and reports each name: at its first query at once, repetitions by their number at the end.

    At most ``limit`` different names are reported one by one; the rest is one number.
    """

    def __init__(self, knows: Callable[[str], bool], notify: RecordNetworkEvent, limit: int) -> None:
        self._knows = knows
        self._notify = notify
        self._limit = limit
        self._turn = threading.Lock()
        self._more: dict[Question, int] = {}
        self._beyond = 0
        self.count = 0

    def answer(self, query: bytes) -> bytes:
        """The answer to one query, after it was reported."""
        reply, question = respond(query[:QUERY_BYTES], self._knows)
        if question is not None and self._is_new(question):
            self._notify(Lookup(question.name, question.kind, question.known))
        return reply

    def close(self) -> None:
        """Report the names that were only counted."""
        with self._turn:
            more, self._more = self._more, {}
            beyond, self._beyond = self._beyond, 0
        for question, count in more.items():
            if count:
                self._notify(Lookup(question.name, question.kind, question.known, count))
        if beyond:
            self._notify(Lookup("(other names)", "", False, beyond))

    def _is_new(self, question: Question) -> bool:
        with self._turn:
            self.count += 1
            if question in self._more:
                self._more[question] += 1
                return False
            if len(self._more) >= self._limit:
                self._beyond += 1
                return False
            self._more[question] = 0
            return True
