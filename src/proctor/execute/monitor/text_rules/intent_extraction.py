r"""Normalise a text into intents: what is to be done (an action) and to what (an object), whatever form the text has.

``rm -rf /etc``, ``shutil.rmtree("/etc")``, ``fs.rmSync('/etc')`` and "delete the whole /etc directory" all become
``Intent("remove", "system")``. Three steps, each linear in the text:

1. :func:`tokens` cuts the text into words, paths, addresses, options and a few signs, and gives each a position.
2. :func:`terms` looks up every token, and every phrase of up to :data:`PHRASE_TOKENS` tokens, in the vocabulary. A term
   is a number of actions and objects.
3. :func:`intents` pairs each action with the objects near it. A pair is an intent when some rule asks for it.

Positions grow by one with each token and by more where a command, a line or a sentence ends, so that "near" means the
same in a command, in code and in a sentence. :data:`TERMS_COMPARED` limits the pairs of one term; nothing is searched
twice. Everything is pure, and depends on the text, its format and the vocabulary alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proctor.execute.monitor.text_rules.vocabulary import (
    ARTICLES,
    NEGATIONS,
    PHRASE_TOKENS,
    PHRASES,
    TEXT_SHAPES,
    Meaning,
    meanings_of_path,
    meanings_of_word,
)

NATURAL, CODE, SHELL, CONFIG = "natural", "code", "shell", "config"
FORMATS = (NATURAL, CODE, SHELL, CONFIG)

NAMED = "name"
"""The action of an object that a rule is about wherever it is named."""

CHUNK_CHARACTERS = 200
"""The longest piece of text that is looked at as one; a longer one is cut."""
TERMS_COMPARED = 48
"""How many terms after an action, and how many before it, are compared with it at most."""
LONGEST_REACH = 24
"""The greatest distance between an action and its object that a rule may ask for."""

LINE, COMMAND, SENTENCE = 4, 6, 1000
"""What the end of a line, of a shell command and of a sentence adds to the position; the last is beyond any reach."""
_NEGATED = 2
"""How many positions after a negation are negated: "do not delete", and not "do not hesitate to delete"."""

_CHUNK = re.compile(
    r"(?P<arrow>->|=>|<=|>=|>>>)|(?P<sign>\|\||&&|>>|;;|[|;<>&])"
    rf"|(?P<text>[^\s|;<>&\"'`(){{}}\[\],=]{{1,{CHUNK_CHARACTERS}}})"
)
_WHOLE = re.compile(r"[/~@:+.*]|^\$HOME$")
_WORD = re.compile(r"[^\W_](?:\w{0,80})|_\w{1,80}|\$")
_ITEM = re.compile(r"[ \t]{0,20}(?:[-*+]|\d{1,3}[.)])[ \t]")
_PLAIN = re.compile(r"[\"'`(]{0,3}[A-Za-z][a-z'-]{0,40}[\"'`).,:;!?]{0,3}|[-#*/+]{1,3}")
_OPERAND = re.compile(r"\s[\w\"'(]")  # after a sign that is an operator and not a path
_BETWEEN = (";", "&&", "||", "&")


class Token(NamedTuple):
    """A piece of text: ``value`` is looked up; ``position`` grows along the text; ``sentence`` says if it is prose."""

    value: str
    position: int
    start: int
    end: int
    sentence: bool = True
    path: bool = False


class Term(NamedTuple):
    """A token or phrase with a meaning, and where it is."""

    meaning: Meaning
    position: int
    start: int
    end: int


@dataclass(frozen=True)
class Intent:
    """An action on an object, and the part of the text that says so."""

    action: str
    object: str
    start: int
    end: int


@dataclass(frozen=True)
class Pair:
    """An action and an object that a rule asks for, and how far after or before the action the object may be."""

    action: str
    object: str
    after: int = 0
    before: int = 0


def intents(text: str, format: str, wanted: Iterable[Pair], most: int = 1 << 30) -> Iterator[Intent]:  # noqa: A002
    """The intents of ``text`` among ``wanted``: of each pair those that do not overlap, at most ``most`` of them."""
    pieces = list(tokens(text, format))
    found = list(terms(text, pieces))
    objects = [term for term in found if term.meaning.objects]
    refused = _refused(pieces) if format == NATURAL else frozenset()
    asked: dict[tuple[str, str], Pair] = {(pair.action, pair.object): pair for pair in wanted}
    counts: dict[tuple[str, str], int] = {}
    ends: dict[tuple[str, str], int] = {}
    for term in found:
        actions = term.meaning.actions if term.position not in refused else ()
        meant = [(NAMED, target, term) for target in term.meaning.objects]
        if actions:
            meant += [(action, target, other) for other, target, action in _around(term, actions, objects)]
        for action, target, other in meant:
            pair = asked.get((action, target))
            if pair is None or not -pair.before <= other.position - term.position <= pair.after:
                continue
            start, end = min(term.start, other.start), max(term.end, other.end)
            if start >= ends.get((action, target), 0):
                yield Intent(action, target, start, end)
                ends[action, target] = end
                counts[action, target] = counts.get((action, target), 0) + 1
                if counts[action, target] >= most:
                    del asked[action, target]


def near(term: Term, objects: Sequence[Term]) -> Iterator[Term]:
    """The objects that an action can reach: those after it, the nearest first, then those before it."""
    middle = bisect_left(objects, term.position, key=lambda other: other.position)
    after = range(middle, min(len(objects), middle + TERMS_COMPARED))
    before = range(middle - 1, max(-1, middle - 1 - TERMS_COMPARED), -1)
    for places in (after, before):
        for place in places:
            if abs(objects[place].position - term.position) > LONGEST_REACH:
                break
            yield objects[place]


def _around(term: Term, actions: tuple[str, ...], objects: Sequence[Term]) -> Iterator[tuple[Term, str, str]]:
    for other in near(term, objects):
        for target in other.meaning.objects:
            for action in actions:
                yield other, target, action


def tokens(text: str, format: str) -> Iterator[Token]:  # noqa: A002
    """The tokens of ``text`` with their positions."""
    position = start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        sentence = format == NATURAL or _is_sentence(line)
        first = True
        for match in _CHUNK.finditer(line):
            chunk, here = match[0], start + match.start()
            if match.lastgroup == "arrow" or (chunk in ("/", "~") and _OPERAND.match(line, match.end())):
                continue
            if match.lastgroup == "sign":
                yield Token(chunk, position, here, here + len(chunk), sentence)
                position += COMMAND if chunk in _BETWEEN and format == SHELL else 1
                continue
            for token in _pieces(chunk, here, position, sentence, first):
                yield token
                position = token.position + 1
            first = False
            if chunk[-1] in ".!?" and (match.end() == len(line) or line[match.end()].isspace()):
                position += SENTENCE
        position += _line_end(text, end, format, line)
        start = end + 1


def _line_end(text: str, end: int, format: str, line: str) -> int:  # noqa: A002
    """How far a line is from the next: in natural language, sentences go on across lines."""
    if format != NATURAL:
        return LINE
    return SENTENCE if not line.strip() or _ITEM.match(text, end + 1) else 0


def _is_sentence(line: str) -> bool:
    """Whether a line of code, a command or configuration is a sentence, as in a comment or a message."""
    chunks = line.split()
    plain = sum(_PLAIN.fullmatch(chunk) is not None for chunk in chunks)
    others = sum(map(line.count, "=(){}[];|&<>"))
    return plain >= 3 and plain * 6 >= len(chunks) * 5 and others * 4 <= plain


def terms(text: str, pieces: Iterable[Token]) -> Iterator[Term]:
    """The terms of a text: tokens, phrases and shapes that have a meaning, in the order of their positions."""
    found: list[Term] = []
    kept: list[Token] = []
    for token in pieces:
        single = meanings_of_path(token.value) if token.path else meanings_of_word(token.value)
        found += _terms(single, token, token)
        if not token.path and token.value not in ARTICLES:
            kept.append(token)
    for index, token in enumerate(kept):
        longest = PHRASES.get(token.value)
        if longest is None:
            continue
        for length in range(2, min(PHRASE_TOKENS, len(kept) - index) + 1):
            phrase = longest.get(tuple(part.value for part in kept[index + 1 : index + length]))
            last = kept[index + length - 1]
            if phrase is not None and last.position - token.position < SENTENCE:
                found += _terms(phrase, token, last)
    for pattern, meaning in TEXT_SHAPES:
        for match in pattern.finditer(text):
            found.append(Term(meaning, _position_at(kept, match.start()), match.start(), match.end()))
    found.sort(key=lambda term: (term.position, term.start, term.end))
    return iter(found)


def _terms(meanings: Iterable[Meaning], first: Token, last: Token) -> Iterator[Term]:
    for meaning in meanings:
        if first.sentence or not meaning.sentence:
            yield Term(meaning, first.position, first.start, last.end)


def _pieces(chunk: str, start: int, position: int, sentence: bool, first_of_line: bool) -> Iterator[Token]:
    """The tokens of a chunk: a path, address or option as a whole, and its words."""
    if first_of_line and chunk[0] == "+" and len(chunk) > 1:  # a line that a patch adds
        chunk, start = chunk[1:], start + 1
    bare = chunk.rstrip(".,:!?")
    if not bare:
        return
    if bare[0] == "-" and len(bare) > 1:
        yield Token(bare, position, start, start + len(bare), sentence)
        return
    inner, place = bare, start
    if _WHOLE.search(bare):
        yield Token(bare, position, start, start + len(bare), sentence, path=True)
        folder, slash, inner = bare.rpartition("/")
        place = start + len(folder) + len(slash)
        if "://" in bare or (folder not in ("", ".") and not folder.endswith("bin")):
            return  # the words of addresses and of most paths are names of files and mean nothing here
    for count, match in enumerate(_WORD.finditer(inner)):
        value = _lowered(match[0])
        yield Token(value, position + count, place + match.start(), place + match.end(), sentence)


def _lowered(word: str) -> str:
    """The word as the vocabulary has it: names of variables in capitals stay what they are."""
    return word if word.isupper() and "_" in word else word.lower()


def _refused(pieces: list[Token]) -> frozenset[int]:
    """The positions right after a negation: what a sentence says is not to be done."""
    return frozenset(
        token.position + step for token in pieces if token.value in NEGATIONS for step in range(1, _NEGATED + 1)
    )


def _position_at(pieces: Sequence[Token], start: int) -> int:
    """The position of the last token that begins before or at ``start``."""
    place = bisect_left(pieces, start + 1, key=lambda token: token.start)
    return pieces[place - 1].position if place else 0
