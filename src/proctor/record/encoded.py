"""Secrets in other spellings: base64 (plain, for URLs, wrapped over lines), escapes of JSON, after colours. Pure.

A view is a part of some bytes as its reader reads it, and knows where each of its bytes stands. The rules for secrets
are held against views as against anything else, and what they find is hidden where it stands.

Base64 is looked for in long runs of its letters, at each of the four places where a group of letters can begin, and
only what spells plain text there is a view. Lines that follow each other are read as one, also in a hunk, in a literal,
or with their breaks escaped.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate

from proctor.base.frozen import frozen
from proctor.base.pattern import pattern

RUN_BYTES = 20
LEAST_BYTES = 12
"""So many characters in a row have to be plain text, fewer than a secret and its surroundings have."""

AROUND_BYTES = 200
"""How much of the text around an escape is read with it."""

MOST_BYTES = 1 << 16
OVERLAP_BYTES = 1 << 12
"""How much is read as one, and how much of it once more with what follows."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_RUNS = bytes(ord("a") if byte in _LETTERS else ord(" ") for byte in range(256))
_RUN = b"a" * RUN_BYTES
_PRINTED = bytes(ord("a") if 32 <= byte < 127 or byte in b"\t\r\n" else ord(" ") for byte in range(256))
_SPELLED = b"a" * LEAST_BYTES
_PLAIN = bytes.maketrans(b"-_", b"+/")
_GLUE = rb"[\"',\\ \t]{0,8}(?:(?:\r?\n|\\{1,4}(?:x0[ad]|[nr]))[ \t>|]{0,16}){1,4}[\"' ]{0,2}"
_GAP = pattern(_GLUE)
_LAST = pattern(_GLUE + rb"(?P<last>[A-Za-z0-9+/_-]{1,%d})(?![A-Za-z0-9+/_-])" % RUN_BYTES)
_ESCAPED_BREAK = pattern(rb"x0[ad]|[nrt]")
_SIGNS = b"+-"
_ESCAPE = pattern(rb"\\{1,15}(?:u00(?P<code>[0-7][0-9A-Fa-f])|(?P<plain>[\"'/])|(?P<space>[nrt]))|\\{2,16}")
_TELLING = pattern(
    rb"\\(?:u00[0-7]|/|(?<=[^\s:=,({\[\\]\\)\\{0,14}[\"'](?=[^\s,:;=.)}\]\\])"
    rb"|(?<=[^\s\"'\\]\\)\\{1,14}(?=[^nrtuxd/\"'\\]))"
)
"""Escapes that can stand inside a secret or its address; quotes around a value are usual, and rules know them."""

_COLOUR = rb"\[[0-9;]{0,20}[A-Za-z]"
_WORD = rb"(?=[A-Za-z0-9_-]{12})"
_BEFORE = {
    b"\\": pattern(
        rb"\\(?:(?:x1[bB]|u001[bB]|033|e)" + _COLOUR + rb"|[nrt]|x[0-9A-Fa-f]{2}|u00[0-9A-Fa-f]{2})" + _WORD
    ),
    b"\x1b": pattern(rb"\x1b" + _COLOUR + _WORD),
    b"%": pattern(rb"%(?:25)?[0-9A-Fa-f]{2}" + _WORD),
}
"""Escapes and colours right before a word: their last letter is none of the word's."""

_OPENING = b" \t\r\n:=,({[\\"
_CLOSING = b" \t\r\n,:;=.)}]\\"

Pieces = tuple[tuple[int, int], ...]


@frozen
class View:
    """Some bytes as they are read, of what is written before ``end``."""

    text: bytes
    end: int
    where: Callable[[int, int], Pieces]

    def pieces(self, start: int, end: int) -> Pieces:
        """Where what is read from ``start`` to ``end`` stands, without the breaks in between."""
        return self.where(start, end)


class _Letters:
    """Lines of letters read as one; what stands where is worked out only for what was found."""

    def __init__(self, data: bytes, lines: list[tuple[int, int]]) -> None:
        self.all = b"".join([data[start:end] for start, end in lines]) if len(lines) > 1 else data[slice(*lines[0])]
        self._lines = lines
        self._begins = [0, *accumulate(end - start for start, end in lines)]

    def pieces(self, first: int, last: int) -> Pieces:
        """Where the letters from ``first`` to ``last`` stand."""
        found = []
        number = bisect_right(self._begins, first) - 1
        while number < len(self._lines) and self._begins[number] < last:
            start, begin = self._lines[number][0], self._begins[number]
            piece = start + max(first, begin) - begin, start + min(last, self._begins[number + 1]) - begin
            found.append(piece)
            number += 1
        return tuple(found)

    def views(self, shift: int) -> Iterator[View]:
        """What the letters spell in plain text where the first group begins at ``shift``."""
        chosen = self.all[shift:]
        padding = -len(chosen) % 4
        text = binascii.a2b_base64(chosen.translate(_PLAIN) + b"A" * padding)
        printed = text.translate(_PRINTED)
        where = printed.find(_SPELLED)
        while where >= 0:
            end = printed.find(b" ", where)
            end = min(end if end >= 0 else len(text), len(text) - padding)
            if where < end:
                yield self._view(shift, text, where, end)
            where = printed.find(_SPELLED, end + 1)

    def _view(self, shift: int, text: bytes, first: int, last: int) -> View:
        def where(start: int, end: int) -> Pieces:
            return self.pieces(shift + (first + start) // 3 * 4, min(shift - (first + end) // -3 * 4, len(self.all)))

        return View(text[first:last], where(last - first - 1, last - first)[-1][1], where)


def views_of(data: bytes) -> Iterator[View]:
    """Everything in ``data`` that may be read otherwise than it is written."""
    for lines in _groups(data):
        letters = _Letters(data, lines)
        for shift in range(4):
            yield from letters.views(shift)
    yield from _unescaped(data)
    yield from _after_escapes(data)


def _after_escapes(data: bytes) -> Iterator[View]:
    """What follows an escape or a colour, read from its own first letter."""
    for begin, written in _BEFORE.items():
        for found in written.finditer(data) if begin in data else ():
            first = found.end()
            last = min(len(data), first + AROUND_BYTES)
            yield View(data[first:last], last, partial(_shifted, first))


def _shifted(by: int, start: int, end: int) -> Pieces:
    return ((by + start, by + end),)


def _groups(data: bytes) -> Iterator[list[tuple[int, int]]]:
    """Lines of letters that belong together."""
    lines: list[tuple[int, int]] = []
    for start, end in _long_runs(data):
        if lines and not _is_gap(data, lines[-1][1], start):
            yield from _ended(data, lines)
            lines = []
        elif lines and end - lines[0][0] > MOST_BYTES:
            yield from _ended(data, lines)
            lines = [line for line in lines if start - line[0] < OVERLAP_BYTES]
        lines.append((start, end))
    if lines:
        yield from _ended(data, lines)


def _long_runs(data: bytes) -> Iterator[tuple[int, int]]:
    runs = data.translate(_RUNS)
    where = runs.find(_RUN)
    while where >= 0:
        end = runs.find(b" ", where + RUN_BYTES)
        end = len(data) if end < 0 else end
        run = data[where:end]
        # names and paths are written in one case, and base64 never is
        if not run.islower() and not run.isupper():
            if where and data[where - 1] == 92 and (escaped := _ESCAPED_BREAK.match(data, where)):
                where = escaped.end()
            for start in range(where, end - OVERLAP_BYTES, MOST_BYTES) or (where,):
                yield start, min(end, start + MOST_BYTES + OVERLAP_BYTES)
        where = runs.find(_RUN, end)


def _is_gap(data: bytes, end: int, start: int) -> bool:
    found = _GAP.match(data, end, start)
    return found is not None and found.end() == start


def _ended(data: bytes, lines: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """``lines`` with a short last one, if it follows; once more without the sign in front of each, as hunks have it."""
    last = _LAST.match(data, lines[-1][1])
    if last is not None:
        lines = [*lines, last.span("last")]
    yield lines
    if len(lines) > 1 and data[lines[1][0]] in _SIGNS and len({data[start] for start, _ in lines[1:]}) == 1:
        yield [lines[0], *((start + 1, end) for start, end in lines[1:])]


def _unescaped(data: bytes) -> Iterator[View]:
    if b"\\" not in data:
        return
    first = last = 0
    for found in _TELLING.finditer(data):
        if found.start() > last or found.start() - first > MOST_BYTES:
            if last:
                yield _read(data, first, last)
            first = max(0, found.start() - AROUND_BYTES)
        last = min(len(data), found.end() + AROUND_BYTES)
    if last:
        yield _read(data, first, last)


def _byte(data: bytes, escape: re.Match[bytes]) -> bytes:
    """What an escape is read as. A quote in the middle of a value, or a backslash, only has to be part of the value."""
    if escape["code"]:
        return bytes([int(escape["code"], 16)])
    if escape["space"]:
        return b"\n"
    before, after = data[escape.start() - 1 : escape.start()], data[escape.end() : escape.end() + 1]
    inside = before and after and before not in _OPENING and after not in _CLOSING
    return b"~" if not escape["plain"] or (escape["plain"] != b"/" and inside) else escape["plain"]


def _read(data: bytes, first: int, last: int) -> View:
    """A part of ``data`` as a reader of JSON has it; any number of backslashes counts as one."""
    text = bytearray()
    places: list[int] = []
    place = first
    for found in _ESCAPE.finditer(data, first, last):
        text += data[place : found.start()]
        places += range(place, found.start())
        text += _byte(data, found)
        places.append(found.start())
        place = found.end()
    text += data[place:last]
    places += range(place, last + 1)
    return View(bytes(text), last, lambda start, end: ((places[start], places[end]),))
