"""Secrets in other spellings: base64 (plain, for URLs, wrapped over lines) and escapes of JSON. Pure.

A view is a part of some bytes as its reader reads it, and knows where each of its bytes stands. The rules for secrets
are held against views as against anything else, and what they find is hidden where it stands.

Base64 is looked for in long runs of its letters, at each of the four places where a group of letters can begin, and
there only where groups spell ASCII: such a group begins with a letter that stands for a small number. Lines that follow
each other are read as one, also in a hunk, in a literal, or with their breaks escaped.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence

from proctor.base.frozen import frozen
from proctor.base.pattern import pattern

RUN_BYTES = 20
LEAST_GROUPS = 4
"""So many groups in a row have to spell ASCII: twelve characters, fewer than a secret and its surroundings have."""

AROUND_BYTES = 200
"""How much of the text around an escape is read with it."""

MOST_BYTES = 1 << 16
"""How much is read as one at most."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_RUNS = bytes(ord("a") if byte in _LETTERS else ord(" ") for byte in range(256))
_RUN = b"a" * RUN_BYTES
_FIRSTS = bytes(ord("a") if byte in b"CDIJKLMNOPQRSTUVWXYZabcdef" else ord(" ") for byte in range(256))
_SPELLED = pattern(rb"a{%d,}" % LEAST_GROUPS)
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

_OPENING = b" \t\r\n:=,({[\\"
_CLOSING = b" \t\r\n,:;=.)}]\\"

Pieces = tuple[tuple[int, int], ...]


@frozen
class View:
    """Some bytes as they are read. ``places`` has the place of each byte, or of each letter of base64, and the end."""

    text: bytes
    places: Sequence[int]
    base64: bool = False

    def pieces(self, start: int, end: int) -> Pieces:
        """Where what is read from ``start`` to ``end`` stands, without the breaks in between."""
        if self.base64:
            start, end = start // 3 * 4, min(-(-end // 3) * 4, len(self.places))
            found: list[tuple[int, int]] = []
            for place in self.places[start:end]:
                if found and found[-1][1] == place:
                    found[-1] = found[-1][0], place + 1
                else:
                    found.append((place, place + 1))
            return tuple(found)
        return ((self.places[start], self.places[end]),)


def views_of(data: bytes) -> Iterator[View]:
    """Everything in ``data`` that may be read otherwise than it is written."""
    for lines in _groups(data):
        yield from _decoded(data, lines)
    yield from _unescaped(data)


def _groups(data: bytes) -> Iterator[list[tuple[int, int]]]:
    """Lines of letters that belong together."""
    lines: list[tuple[int, int]] = []
    for start, end in _long_runs(data):
        if lines and not _is_gap(data, lines[-1][1], start):
            yield from _ended(data, lines)
            lines = []
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
            yield where, end
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
    if len(lines) > 1 and any(data[start] in _SIGNS for start, _ in lines[1:]):
        yield [lines[0], *((start + (data[start] in _SIGNS), end) for start, end in lines[1:])]


def _decoded(data: bytes, lines: list[tuple[int, int]]) -> Iterator[View]:
    letters = b"".join([data[start:end] for start, end in lines])
    for shift in range(4):
        for found in _SPELLED.finditer(letters[shift::4].translate(_FIRSTS)):
            first = shift + 4 * max(0, found.start() - 1)
            chosen = letters[first : shift + 4 * (found.end() + 1)]
            padding = -len(chosen) % 4
            text = binascii.a2b_base64(chosen.translate(_PLAIN) + b"A" * padding)
            yield View(text[: len(text) - padding], _places(lines, first, first + len(chosen)), base64=True)


def _places(lines: list[tuple[int, int]], first: int, last: int) -> Sequence[int]:
    """Where the letters from ``first`` to ``last`` of joined lines stand."""
    if len(lines) == 1:
        return range(lines[0][0] + first, lines[0][0] + last)
    places: list[int] = []
    passed = 0
    for start, end in lines:
        size = end - start
        if first < passed + size and passed < last:
            places += range(start + max(0, first - passed), start + min(size, last - passed))
        passed += size
    return places


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
    return View(bytes(text), places)
