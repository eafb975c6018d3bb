"""Record HTTP exchanges to a cassette, and answer requests from one.

Both are sources of answers. Recorded exchanges are in the order in which they were asked. An exchange that could not
be stored completely is a gap, which the cassette notes: an answer that broke off, one that the sandbox did not wait
for, a body over the limit. On replay each exchange is used once, and no server is asked.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

from proctor.base.files import write_whole
from proctor.execute.network.allow_list import AllowList, Rule
from proctor.execute.network.http_cassette import HttpCassette, RecordedExchange, choose, dump, index, key_of, varies_of
from proctor.execute.network.http_exchange import Answer, Body, NoAnswer, Request, Source
from proctor.execute.network.http_messages import PIECE_BYTES
from proctor.execute.network.network_events import Bounds, Content

_EMPTY = Content(hashlib.sha256(b"").hexdigest(), 0)


class Recorder:
    """Implements ``Source`` in front of another one."""

    def __init__(self, inner: Source, name: str, scratch: Path, bounds: Bounds) -> None:
        self._inner = inner
        self._name = name
        self._scratch = scratch
        self._bounds = bounds
        self._turn = threading.Lock()
        self._asked = 0
        self._kept: dict[int, RecordedExchange] = {}
        self._gaps: dict[int, str] = {}
        self._bodies: dict[str, bytes] = {}
        self._room_bytes = bounds.tape_bytes

    def answer(self, request: Request, body: Body) -> Answer:
        with self._turn:
            number = self._asked
            self._asked += 1
            self._gaps[number] = f"{request.method} {request.authority}{request.target}: it did not end"
        try:
            answer = self._inner.answer(request, body)
        except NoAnswer as error:
            self._keep(number, _taped(request, None, _EMPTY, error.status, str(error)), b"")
            raise
        copy = Body(self._scratch)
        close = answer.close

        def end() -> None:
            copy.close()
            close()

        answer.pieces = self._copied(number, request, answer, answer.pieces, copy)
        answer.close = end
        return answer

    def gap(self, message: str) -> None:
        """Something passed that a cassette cannot hold."""
        with self._turn:
            self._gaps[self._asked] = message
            self._asked += 1

    def write(self, path: Path) -> tuple[str, tuple[str, ...]]:
        """Write the cassette; its digest and its gaps."""
        with self._turn:
            gaps = tuple(text[:300] for _, text in sorted(self._gaps.items()))
            exchanges = tuple(taped for _, taped in sorted(self._kept.items()))
            tape = HttpCassette(self._name, exchanges, dict(self._bodies), gaps)
        data = dump(tape)
        write_whole(path, data, sync=False)
        return hashlib.sha256(data).hexdigest(), gaps

    def _copied(
        self, number: int, request: Request, answer: Answer, pieces: Iterator[bytes], copy: Body
    ) -> Iterator[bytes]:
        for piece in pieces:
            if copy.size <= self._bounds.tape_bytes:
                copy.add(piece)
            yield piece
        taped = _taped(request, answer, copy.content(), answer.status, "")
        self._keep(number, taped, b"".join(copy.pieces()))

    def _keep(self, number: int, taped: RecordedExchange, body: bytes) -> None:
        with self._turn:
            known = taped.response.sha256 in self._bodies
            if not known and len(body) > self._room_bytes:
                self._gaps[number] = f"{taped.method} {taped.host}:{taped.port}{taped.target}: the cassette is full"
                return
            if body and not known:
                self._bodies[taped.response.sha256] = body
                self._room_bytes -= len(body)
            self._kept[number] = taped
            del self._gaps[number]


def _taped(request: Request, answer: Answer | None, content: Content, status: int, fault: str) -> RecordedExchange:
    return RecordedExchange(
        method=request.method,
        scheme=request.scheme,
        host=request.host,
        port=request.port,
        target=request.target,
        request=request.content,
        varies=varies_of(request.headers, answer.headers if answer else ()),
        status=status,
        reason=answer.reason if answer else "",
        headers=answer.headers if answer else (),
        response=content,
        bodiless=answer.bodiless if answer else False,
        fault=fault,
    )


class Player:
    """Implements ``Source`` from a tape; each exchange on it is played once."""

    def __init__(self, tape: HttpCassette) -> None:
        self._tape = tape
        self._index = index(tape)
        self._used: set[int] = set()
        self._turn = threading.Lock()

    @property
    def unplayed(self) -> int:
        """How many exchanges of the tape were not used."""
        with self._turn:
            return len(self._tape.exchanges) - len(self._used)

    def answer(self, request: Request, body: Body) -> Answer:
        with self._turn:
            place = choose(self._tape, self._index.get(key_of(request), ()), self._used, request)
            if isinstance(place, str):
                raise NoAnswer(f"not on the cassette: {place}", 403, refused=True)
            self._used.add(place)
        taped = self._tape.exchanges[place]
        if taped.fault:
            raise NoAnswer(taped.fault, taped.status)
        data = self._tape.bodies.get(taped.response.sha256, b"")
        return Answer(
            taped.status,
            taped.reason,
            taped.headers,
            _pieces(data),
            length=len(data),
            bodiless=taped.bodiless,
            replayed=True,
        )


def allowed_by(tape: HttpCassette) -> AllowList:
    """The addresses on a tape."""
    return AllowList(tuple(Rule(host, port) for host, port in sorted({(one.host, one.port) for one in tape.exchanges})))


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
