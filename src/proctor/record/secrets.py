"""Find secrets in bytes, by the rules in ``secret_rules.json``.

A rule has literals, all in lower case, one of which is where its pattern begins (``back`` bytes later at most, or with
``word`` anywhere in the word of letters, digits, ``_`` and ``-`` that it begins with); the group ``secret`` is what is
to be hidden, or all of the match. Literals are looked for first, because finding one is fifty times faster than a
pattern. Literals of tokens are looked for only near a long run of token characters, which is rare in ordinary text;
those of rules with ``anywhere`` in all of it. Every pattern is bounded, so that no text takes long.

``(?&margin)`` in a pattern is replaced by the part of that name: what programs put before each line that they show,
such as its number, a sign of a quotation, or the name of a file. ``lines`` hides each line of the secret by itself, so
that a hunk keeps its lines and a listing its numbers; ``entropy`` (bits for each byte) and ``digit`` exclude plain
words; ``talk`` marks rules for conversations only. Everything is also searched in other spellings: see
``encoded_secrets``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from proctor.base.canonical import parse
from proctor.record.encoded_secrets import AFTER_BYTES, View, before_words, views_after, views_of

RULES = Path(__file__).with_name("secret_rules.json")
RUN_BYTES = 20
WORD_BYTES = 80
NEAR_BYTES = 24
MOSTLY = 3
"""If more than one in this many bytes is in a long run, the text is searched as a whole."""

WALL_LINE_BYTES = 50
WALL_END_BYTES = 100
"""The length of the lines of a wall, and how much of its end is still searched."""

BLOCK_BYTES = 1 << 17
"""Literals are looked for block by block: a block stays in the cache of the processor."""

SKIPPED_BYTES = 500
"""How much of a match is searched again for its literal, because a value may contain the name of the next one."""

APART = b"\n\0\n"
"""The separator between views; no pattern matches across it."""

_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_RUNS = bytes(ord("a") if byte in _TOKEN else ord(" ") for byte in range(256))
_RUN = b"a" * RUN_BYTES
_PIECES = rb"(?:\n|\\+(?:x[0-9a-f]{2}|[nrt]))(?&gutter)|[A-Za-z0-9/=][A-Za-z0-9+/=]*"
"""The parts of a secret that is hidden line by line, and its line ends with the prefix of the next line."""

_PART = re.compile(rb"\(\?&([a-z]+)\)")
_SOLID = bytes(ord("a") if byte in b"abcdefghijklmnopqrstuvwxyz0123456789+/_-" else ord(" ") for byte in range(256))
_WALL_LINE = b"a" * WALL_LINE_BYTES
_WALL = re.compile(
    rb"[a-z0-9+/_-]{%d,}+|[a-z0-9+/]{%d,}+(?:(?:\r?\n|\\{1,4}n)[ \t]{0,16}[a-z0-9+/]{%d,}+)*+"
    % (2 * WALL_END_BYTES, WALL_LINE_BYTES, WALL_LINE_BYTES)
)
"""One long line, or lines without the signs that options of commands begin with."""

_DIGIT = re.compile(rb"[0-9]")
OTHER_WORDS = rb"[_t-](?:(?<=-)-[a-z]|(?<=_)auth|(?<=t)oken=)"
"""The first characters of literals that match anywhere except after a letter."""

_BOUND = b"(?<![A-Za-z0-9"


@dataclass(frozen=True)
class Rule:
    """One kind of secret; ``order`` decides between rules that find the same."""

    kind: str
    literals: tuple[bytes, ...]
    text: bytes
    pattern: re.Pattern[bytes]
    pieces: re.Pattern[bytes]
    back: int
    word: bool
    anywhere: bool
    lines: bool
    talk: bool
    digit: bool
    entropy: float
    order: int


@dataclass(frozen=True)
class SecretSpan:
    """A secret: where it begins and ends, and its kind."""

    start: int
    end: int
    kind: str


Hit = tuple[int, int, int, str]
"""Beginning, order of the rule, end, kind."""


class Rules:
    """The rules, sorted by where their literals are looked for."""

    def __init__(self, data: bytes) -> None:
        self.id = sha256(data).hexdigest()
        parsed = parse(data)
        parts = {name.encode(): text.encode() for name, text in parsed["parts"].items()}
        self.all = tuple(_rule(entry, order, parts) for order, entry in enumerate(parsed["rules"]))
        self._anywhere = {
            talk: _by_literal(rule for rule in self.all if rule.anywhere and (talk or not rule.talk))
            for talk in (False, True)
        }
        self.near = _by_literal(rule for rule in self.all if not rule.anywhere)
        self._inside = {literal: rules for literal, rules in self.near.items() if not _begin_words(rules)}
        self._begun = _by_prefix({literal: rules for literal, rules in self.near.items() if _begin_words(rules)})
        begun = _any_of(self._begun)
        self._words = re.compile(rb"[^a-z0-9](?=[a-z0-9])(?=(%s))" % begun)
        self._escaped = before_words(rb"(%s)" % begun)
        self._after = before_words(OTHER_WORDS)

    def find(self, data: bytes, *, talk: bool = False) -> list[SecretSpan]:
        """The secrets in ``data`` in order, without overlaps; ``talk`` counts addresses of people among them."""
        low = data.lower()
        views = [*views_of(data), *views_after(data, low, self._after)]
        return joined_hits([*self._plain(data, low, talk), *self._viewed(views, talk)])

    def plain(self, data: bytes, talk: bool = False) -> Iterator[Hit]:
        """The secrets in ``data`` as it is written."""
        return self._plain(data, data.lower(), talk)

    def _plain(self, data: bytes, low: bytes, talk: bool) -> Iterator[Hit]:
        yield from _hits(data, low, self._anywhere[talk], talk)
        yield from self._tokens(data, low, talk)

    def _viewed(self, views: list[View], talk: bool) -> Iterator[Hit]:
        """The secrets in other spellings, which are concatenated first."""
        if not views:
            return
        begins = [0, *accumulate(len(view.text) + len(APART) for view in views)]
        for start, order, end, kind in self.plain(APART.join([view.text for view in views]), talk):
            number = bisect_right(begins, start) - 1
            view, begin = views[number], begins[number]
            yield from placed(view, (start - begin, order, min(end - begin, len(view.text)), kind))

    def _tokens(self, data: bytes, low: bytes, talk: bool) -> Iterator[Hit]:
        """The matches of rules for tokens around long runs of token characters, which are concatenated first."""
        windows = list(_windows(data))
        near = b"\n" + b"\n".join([low[start:end] for start, end in windows])
        begins = list(accumulate((end - start + 1 for start, end in windows), initial=1))

        def place(where: int) -> int:
            number = bisect_right(begins, where) - 1
            return windows[number][0] + where - begins[number]

        for word in self._words.finditer(near):
            yield from _held(data, self._begun[word[1]], place(word.end()), talk)
        for begin, written in self._escaped.items():
            for word in written.finditer(near) if begin in near else ():
                first = place(word.end())
                for start, order, end, kind in _held(data[first : first + AFTER_BYTES], self._begun[word[1]], 0, talk):
                    yield first + start, order, first + end, kind
        for literal, rules in self._inside.items():
            where = near.find(literal)
            while where >= 0:
                yield from _held(data, rules, place(where), talk)
                where = near.find(literal, where + 1)


@cache
def usual_rules() -> Rules:
    """The rules that come with Proctor."""
    return Rules(RULES.read_bytes())


def spans_in_text(text: str) -> list[tuple[int, int]]:
    """The positions of secrets and addresses of people in a text of a conversation, in characters."""
    data = text.encode("utf-8", "surrogatepass")
    found = usual_rules().find(data, talk=True)
    if len(data) == len(text):
        return [(one.start, one.end) for one in found]
    return [(_characters(data[: one.start]), _characters(data[: one.end])) for one in found]


def _characters(data: bytes) -> int:
    """How many characters begin in ``data``."""
    return sum(byte & 0xC0 != 0x80 for byte in data)


def _rule(entry: dict[str, object], order: int, parts: Mapping[bytes, bytes]) -> Rule:
    literals = entry["literals"]
    assert isinstance(literals, list)
    text = _expanded(str(entry["pattern"]).encode(), parts)
    return Rule(
        kind=str(entry["kind"]),
        literals=tuple(str(literal).encode() for literal in literals),
        text=text,
        pattern=re.compile(text),
        pieces=re.compile(_expanded(_PIECES, parts)),
        back=int(str(entry.get("back", 0))),
        word=bool(entry.get("word")),
        anywhere=bool(entry.get("anywhere")),
        lines=bool(entry.get("lines")),
        talk=bool(entry.get("talk")),
        digit=bool(entry.get("digit")),
        entropy=float(str(entry.get("entropy", 0))),
        order=order,
    )


def _expanded(text: bytes, parts: Mapping[bytes, bytes]) -> bytes:
    """A pattern with the names of parts replaced by the parts."""
    while _PART.search(text):
        text = _PART.sub(lambda part: parts[part[1]], text)
    return text


def _by_literal(rules: Iterator[Rule]) -> dict[bytes, list[Rule]]:
    table: dict[bytes, list[Rule]] = {}
    for rule in rules:
        for literal in rule.literals:
            table.setdefault(literal, []).append(rule)
    return table


def _begin_words(rules: list[Rule]) -> bool:
    """Whether all of ``rules`` match only if no letter or digit is before their literal."""
    return all(rule.text.startswith(_BOUND) and not rule.back for rule in rules)


def _by_prefix(table: dict[bytes, list[Rule]]) -> dict[bytes, list[Rule]]:
    """The same; a literal that begins with another has the rules of both."""
    return {long: [rule for short in table if long.startswith(short) for rule in table[short]] for long in table}


def _any_of(literals: Iterable[bytes]) -> bytes:
    """A pattern for the longest of ``literals`` at a place, sorted by their first letters."""
    by_letter: dict[bytes, list[bytes]] = {}
    for literal in sorted(literals, key=len, reverse=True):
        by_letter.setdefault(literal[:1], []).append(re.escape(literal[1:]))
    return b"|".join(re.escape(first) + b"(?:" + b"|".join(rest) + b")" for first, rest in by_letter.items())


def _windows(data: bytes) -> Iterator[tuple[int, int]]:
    """The surroundings of each long run of token characters, joined where they touch."""
    runs = data.translate(_RUNS)
    if runs.count(_RUN) * RUN_BYTES * MOSTLY > len(data):
        yield 0, len(data)
        return
    first = last = -1
    where = runs.find(_RUN)
    while where >= 0:
        end = runs.find(b" ", where + RUN_BYTES)
        end = len(data) if end < 0 else end
        if last >= max(0, where - NEAR_BYTES):
            last = end
        else:
            if last >= 0:
                yield first, last
            first, last = max(0, where - NEAR_BYTES), end
        where = runs.find(_RUN, end)
    if last >= 0:
        yield first, last


def _hits(data: bytes, low: bytes, table: dict[bytes, list[Rule]], talk: bool) -> Iterator[Hit]:
    """Every place in all of ``data`` where a rule holds."""
    parts = list(_outside_walls(low))
    firsts = [start for start, _ in parts]
    begins = list(accumulate((end - start for start, end in parts), initial=0))
    if len(parts) > 1:
        low = b"".join([low[start:end] for start, end in parts])

    def outside(place: int) -> int:
        """Where in ``low`` the end of a hit is read: one that reaches into a wall does so up to its end."""
        number = bisect_right(firsts, place) - 1
        return min(begins[number] + place - firsts[number], begins[number + 1])

    for block in range(0, len(low), BLOCK_BYTES):
        for literal, rules in table.items():
            end = block + BLOCK_BYTES + len(literal) - 1
            where = low.find(literal, block, end)
            while where >= 0:
                number = bisect_right(begins, where, hi=len(firsts)) - 1
                beyond = where + 1
                for hit in _held(data, rules, firsts[number] + where - begins[number], talk):
                    beyond = max(beyond, outside(hit[2]) - SKIPPED_BYTES)
                    yield hit
                where = low.find(literal, beyond, end)


def _outside_walls(low: bytes) -> Iterator[tuple[int, int]]:
    """The parts outside of walls of letters and digits, and the end of each wall.

    What makes a value a secret ends in a sign, such as ``=``, and a wall contains no sign.
    """
    runs = low.translate(_SOLID)
    first = 0
    where = runs.find(_WALL_LINE)
    while where >= 0:
        wall = _WALL.match(low, where)
        end = wall.end() if wall is not None else where + WALL_LINE_BYTES
        if end - where > 2 * WALL_END_BYTES:
            yield first, where + WALL_LINE_BYTES
            first = end - WALL_END_BYTES
        where = runs.find(_WALL_LINE, end)
    yield first, len(low)


def _held(data: bytes, rules: list[Rule], where: int, talk: bool) -> Iterator[Hit]:
    """The secrets found by those of ``rules`` that match a literal at ``where``."""
    for rule in rules:
        match = None if rule.talk and not talk else _match(rule, data, where)
        if match is not None:
            for start, end in _pieces(rule, data, match):
                yield start, rule.order, end, rule.kind


def _match(rule: Rule, data: bytes, where: int) -> re.Match[bytes] | None:
    """The match that a literal at ``where`` belongs to."""
    if rule.word:
        before = data[max(0, where - WORD_BYTES) : where]
        return rule.pattern.match(data, where - len(before) + len(before.rstrip(_TOKEN)))
    if not rule.back:
        return rule.pattern.match(data, where)
    for first in range(max(0, where - rule.back), where + 1):
        match = rule.pattern.match(data, first)
        if match is not None and match.end() > where:
            return match
    return None


def _pieces(rule: Rule, data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """What of a match is to be hidden."""
    start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
    if rule.lines:
        for piece in rule.pieces.finditer(data, start, end):
            if not piece[0].startswith((b"\\", b"\n")):
                yield piece.span()
        return
    text = data[start:end]
    if (not rule.digit or _DIGIT.search(text)) and (not rule.entropy or entropy(text) >= rule.entropy):
        yield start, end


def entropy(text: bytes) -> float:
    """Shannon's entropy of the bytes of ``text``, in bits for each."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values())


def placed(view: View, hit: Hit) -> Iterator[Hit]:
    """A hit in a view, as pieces with their positions in the data."""
    start, order, end, kind = hit
    if start < end:
        for first, last in view.pieces(start, end):
            yield first, order, last, kind


def joined(found: list[SecretSpan]) -> list[SecretSpan]:
    """The same in order; those that overlap become one."""
    return joined_hits([(one.start, 0, one.end, one.kind) for one in found])


def joined_hits(hits: list[Hit]) -> list[SecretSpan]:
    """Hits in order; those that overlap become one, of the kind of the first."""
    found: list[SecretSpan] = []
    for start, _, end, kind in sorted(hits):
        if found and start < found[-1].end:
            if end > found[-1].end:
                found[-1] = SecretSpan(found[-1].start, end, found[-1].kind)
        elif end > start:
            found.append(SecretSpan(start, end, kind))
    return found
