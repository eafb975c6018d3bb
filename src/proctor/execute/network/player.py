"""A source that answers from a cassette, and from nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from proctor.execute.network.allow import AllowList, Rule
from proctor.execute.network.body import Body
from proctor.execute.network.cassette import Tape, choose, index, key_of
from proctor.execute.network.source import Answer, NoAnswer, Request
from proctor.execute.network.stream import PIECE_BYTES


class Player:
    """Implements ``Source`` from a tape; each exchange on it is played once."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._index = index(tape)
        self._used: set[int] = set()
        self._turn = threading.Lock()

    @property
    def unplayed(self) -> int:
        """How many exchanges of the tape nobody has asked for."""
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


def allowed_by(tape: Tape) -> AllowList:
    """The addresses on a tape."""
    return AllowList(tuple(Rule(host, port) for host, port in sorted({(one.host, one.port) for one in tape.exchanges})))


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
