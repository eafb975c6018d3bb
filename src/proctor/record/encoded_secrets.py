"""Secrets in other spellings: base64 (plain, for URLs, wrapped over lines), escapes of JSON, after colours. Pure.

A view is a decoded part of some bytes, and maps each of its bytes to a position in the original. The rules for secrets
are applied to views too, and what they find is hidden at its original position.

Base64 is looked for in long runs of its letters, at each of the four places where a group of letters can begin, and
only what spells plain text there is a view. Lines that follow each other are read as one, also in a hunk, in a literal,
or with their breaks escaped. What base64 spells is read once more: base64 is often encoded again.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

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
_LINE = rb"[A-Za-z0-9+/_-]"
_BLOCK = re.compile(
    _LINE + rb"{14,}+(?:" + _GLUE + _LINE + rb"{20,}+)*+(?:" + _GLUE + _LINE + rb"{1,20}+(?!" + _LINE + rb"))?+"
)
"""A long line of letters, those that follow it, and a short last one."""

_EACH = re.compile(rb"(" + _LINE + rb"++)(?:" + _GLUE + rb")?")
_IN_LINES = _LETTERS + b"\n"
_ESCAPED_BREAK = re.compile(rb"x0[ad]|[nrt]")
_CODES = rb"u00[0-7][0-9A-Fa-f](?:\\u00[0-7][0-9A-Fa-f]){0,2000}+"
_ESCAPE = re.compile(
    rb"\\(?:(?P<codes>" + _CODES + rb")"
    rb"|\\{0,14}(?:u00(?P<code>[0-7][0-9A-Fa-f])|(?P<plain>[\"'/])|(?P<space>[nrt]))|\\{1,15})"
)
_ESCAPES = re.compile(
    rb"\\(?=[u/\"'\\])(?:" + _CODES + rb"|u00[0-7]|/|(?<=[^\s:=,({\[\\]\\)\\{0,14}[\"'](?=[^\s,:;=.)}\]\\])"
    rb"|(?<=[^\s\"'\\]\\)\\{1,14}(?=[^nrtuxd/\"'\\]))"
)
"""Escapes that can be inside a secret or its address; quotes around a value are usual, and rules know them."""

_COLOUR = rb"\[[0-9;]{0,20}[a-z]"
_ANY_WORD = rb"[a-z0-9_-]{12}"
AFTER_BYTES = 1 << 13
"""How much of what follows an escape is read."""

_OPENING = b" \t\r\n:=,({[\\"
_CLOSING = b" \t\r\n,:;=.)}]\\"

Pieces = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class View:
    """Some decoded bytes, with a map to their original positions."""

    text: bytes
    where: Callable[[int, int], Pieces]

    @property
    def end(self) -> int:
        """The end of the original of this view."""
        return self.where(len(self.text) - 1, len(self.text))[-1][1]

    def pieces(self, start: int, end: int) -> Pieces:
        """The original positions of ``start`` to ``end``, without the breaks in between."""
        return self.where(start, end)


class _Letters:
    """Lines of letters read as one; positions are computed only for what was found."""

    def __init__(self, data: bytes, start: int, end: int, signs: int = 0) -> None:
        self._block = data[start:end]
        self._start = start
        self._signs = signs
        self._lines: list[tuple[int, int]] = []
        self._begins: list[int] = []
        self._glued = bool(self._block.translate(None, _IN_LINES))
        """Whether there is more than a newline between the lines."""
        lines = self._written()
        self._signs_seen = {line[:1] for line in lines[1:]}
        self.all = b"".join(lines)

    def _written(self) -> list[bytes]:
        """The lines themselves."""
        if self._signs:
            return [self._block[first - self._start : last - self._start] for first, last in self.lines()]
        return _EACH.findall(self._block) if self._glued else self._block.split(b"\n")

    def lines(self) -> list[tuple[int, int]]:
        """The positions of the lines; those after the first without a sign in front of them."""
        if not self._lines:
            if self._glued:
                spans = [line.span(1) for line in _EACH.finditer(self._block)]
            else:
                ends = list(accumulate((len(line) + 1 for line in self._block.split(b"\n")), initial=0))
                spans = [(first, last - 1) for first, last in pairwise(ends)]
            lines = [(self._start + first, self._start + last) for first, last in spans]
            self._lines = [lines[0], *((first + self._signs, last) for first, last in lines[1:])]
            self._begins = [0, *accumulate(last - first for first, last in self._lines)]
        return self._lines

    def has_signs(self) -> bool:
        """Whether all lines but the first begin with the same sign, as in a hunk."""
        return self._signs_seen in ({b"+"}, {b"-"})

    def pieces(self, first: int, last: int) -> Pieces:
        """The positions of the letters from ``first`` to ``last``."""
        found = []
        lines = self.lines()
        number = bisect_right(self._begins, first) - 1
        while number < len(lines) and self._begins[number] < last:
            start, begin = lines[number][0], self._begins[number]
            piece = start + max(first, begin) - begin, start + min(last, self._begins[number + 1]) - begin
            found.append(piece)
            number += 1
        return tuple(found)

    def views(self) -> Iterator[View]:
        """The plain text that the letters decode to, at each start of a group; a long text in parts."""
        if self.all.islower() or self.all.isupper():
            # names and paths are written in one case, and base64 never is
            return
        letters = self.all.translate(_PLAIN)
        for begin in range(0, len(letters) - OVERLAP_BYTES, MOST_BYTES) or (0,):
            for shift in range(begin, begin + 4):
                yield from self._spelled(letters[shift : begin + MOST_BYTES + OVERLAP_BYTES], shift)

    def _spelled(self, letters: bytes, shift: int) -> Iterator[View]:
        """The plain text that the ``letters`` from ``shift`` on decode to."""
        padding = -len(letters) % 4
        text = binascii.a2b_base64(letters + b"A" * padding)
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

        return View(text[first:last], where)


def views_of(data: bytes) -> Iterator[View]:
    """Every view of ``data`` in another spelling."""
    for view in _spelled_in(data):
        yield view
        for inner in _spelled_in(view.text):
            yield View(inner.text, partial(_through, view, inner))
    yield from _unescaped(data)


def _spelled_in(data: bytes) -> Iterator[View]:
    """The decoded base64 in ``data``."""
    for start, end in _blocks(data):
        letters = _Letters(data, start, end)
        yield from letters.views()
        if letters.has_signs():
            yield from _Letters(data, start, end, 1).views()


def _through(outer: View, inner: View, start: int, end: int) -> Pieces:
    """The original positions of ``inner``, which is a view of ``outer``."""
    return tuple(piece for first, last in inner.pieces(start, end) for piece in outer.pieces(first, last))


def before_words(word: bytes) -> dict[bytes, re.Pattern[bytes]]:
    """Escapes and colours right before a ``word``, by what they begin with: their last letter is none of the word's.

    All of it is in lower case.
    """
    escape = rb"(?:x1b|u001b|033|e)" + _COLOUR + rb"|[nrt]|x[0-9a-f]{2}|u00[0-9a-f]{2}"
    written = {
        b"\\": rb"\\(?:" + escape + rb")",
        b"\x1b": rb"\x1b" + _COLOUR,
        b"%": rb"%(?:25)?[0-9a-f]{2}",
    }
    return {begin: re.compile(text + rb"(?=" + word + rb")") for begin, text in written.items()}


_BEFORE_ANY = before_words(_ANY_WORD)


def views_after(data: bytes, low: bytes, escapes: dict[bytes, re.Pattern[bytes]] = _BEFORE_ANY) -> Iterator[View]:
    """What follows some of ``escapes`` in ``data``, which is ``low`` in lower case, with breaks in their places.

    The first of those that are near each other is before the view, so that each byte is read once.
    """
    spans = sorted(one.span() for begin, find in escapes.items() if begin in low for one in find.finditer(low))
    near: list[tuple[int, int]] = []
    for start, end in spans:
        if near and start > near[-1][1] + AFTER_BYTES:
            yield _broken(data, near)
            near = []
        near.append((start, end))
    if near:
        yield _broken(data, near)


def _broken(data: bytes, escapes: list[tuple[int, int]]) -> View:
    """What follows the first of ``escapes``; of the others the sign they begin with stays, which ends most values."""
    first, last = escapes[0][1], min(len(data), escapes[-1][1] + AFTER_BYTES)
    text = bytearray(data[first:last])
    for start, end in escapes[1:]:
        text[start + 1 - first : end - first] = b"\n" * (end - start - 1)
    return View(bytes(text), partial(_shifted, first))


def _shifted(by: int, start: int, end: int) -> Pieces:
    return ((by + start, by + end),)


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Where lines of letters that belong together begin and end."""
    runs = data.translate(_RUNS)
    where = runs.find(_RUN)
    while where >= 0:
        if where and data[where - 1] == 92 and (escaped := _ESCAPED_BREAK.match(data, where)):
            where = escaped.end()
        found = _BLOCK.match(data, where)
        end = found.end() if found is not None else where + 1
        if found is not None:
            yield where, end
        where = runs.find(_RUN, end)


def _unescaped(data: bytes) -> Iterator[View]:
    """The surroundings of escapes as a reader of JSON has them."""
    if b"\\" not in data:
        return
    first = last = 0
    for found in _ESCAPES.finditer(data):
        start, end = found.span()
        if start > last or start - first > MOST_BYTES:
            if last:
                yield _Escaped(data, first, last).view()
            first = max(0, start - (AROUND_BYTES if start > last else OVERLAP_BYTES))
        last = min(len(data), end + AROUND_BYTES)
    if last:
        yield _Escaped(data, first, last).view()


class _Escaped:
    """A part of some bytes as a reader of JSON has it; any number of backslashes counts as one.

    Positions are computed only for what was found.
    """

    def __init__(self, data: bytes, first: int, last: int) -> None:
        self._data = data
        self._first = first
        self._last = last
        self._marks: list[tuple[int, int, int]] = []
        """For each escape: its position in the view and in the original, and the length of its characters."""

    def view(self) -> View:
        """The whole part."""
        parts = []
        place = self._first
        for found in _ESCAPE.finditer(self._data, self._first, self._last):
            start, end = found.span()
            parts += [self._data[place:start], _read(self._data, found)]
            place = end
        return View(b"".join(parts) + self._data[place : self._last], self._where)

    def _where(self, start: int, end: int) -> Pieces:
        if not self._marks:
            self._marks = list(self._find_marks())
        return ((self._place(start), self._place(end)),)

    def _find_marks(self) -> Iterator[tuple[int, int, int]]:
        yield 0, self._first, 1
        read, place = 0, self._first
        for found in _ESCAPE.finditer(self._data, self._first, self._last):
            start, end = found.span()
            read += start - place
            count = len(_read(self._data, found))
            yield read, start, (end - start) // count
            read += count
            yield read, end, 1
            place = end

    def _place(self, where: int) -> int:
        read, start, size = self._marks[bisect_right(self._marks, where, key=_first_of) - 1]
        return start + (where - read) * size


def _first_of(mark: tuple[int, int, int]) -> int:
    return mark[0]


def _read(data: bytes, escape: re.Match[bytes]) -> bytes:
    """The decoded form of escapes. A quote inside a value, or a backslash, only has to be part of the value."""
    kind = escape.lastgroup
    if kind == "codes":
        digits = bytearray((escape.end() - escape.start()) // 3)
        digits[::2], digits[1::2] = escape[0][4::6], escape[0][5::6]
        return binascii.unhexlify(digits)
    if kind == "code":
        return binascii.unhexlify(escape["code"])
    if kind == "space":
        return b"\n"
    before, after = data[escape.start() - 1 : escape.start()], data[escape.end() : escape.end() + 1]
    inside = before and after and before not in _OPENING and after not in _CLOSING
    return b"~" if kind != "plain" or (escape["plain"] != b"/" and inside) else escape["plain"]
