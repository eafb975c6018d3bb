"""A source that keeps what another one answers, as a cassette.

Exchanges stand on the tape in the order in which they were asked. What could not be kept whole is a gap, and a tape
with gaps says so: an answer that broke off, one that the sandbox did not wait for, a body for which there is no room.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

from proctor.base.files import write_whole
from proctor.execute.network.body import Body
from proctor.execute.network.cassette import Tape, Taped, dump, varies_of
from proctor.execute.network.source import Answer, NoAnswer, Request, Source
from proctor.execute.network.told import Bounds, Content

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
        self._kept: dict[int, Taped] = {}
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

    def gap(self, words: str) -> None:
        """Something passed that a cassette cannot hold."""
        with self._turn:
            self._gaps[self._asked] = words
            self._asked += 1

    def write(self, path: Path) -> tuple[str, tuple[str, ...]]:
        """Write the cassette; its digest and its gaps."""
        with self._turn:
            gaps = tuple(text[:300] for _, text in sorted(self._gaps.items()))
            exchanges = tuple(taped for _, taped in sorted(self._kept.items()))
            tape = Tape(self._name, exchanges, dict(self._bodies), gaps)
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

    def _keep(self, number: int, taped: Taped, body: bytes) -> None:
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


def _taped(request: Request, answer: Answer | None, content: Content, status: int, fault: str) -> Taped:
    return Taped(
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
