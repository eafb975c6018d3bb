"""One alteration of a test file, and the literals that replace expected values. Pure.

A test that passes honestly must fail once one of its expectations is altered. Every kind of alteration below is valid
for every correct solution, not only for the reference:

    expectation   the value that a result must equal, contain or match is another one of the same form
    form          that value is part of another one, such as a pair
    negation      an assertion is turned into its opposite, or an expected exception is no longer expected
    exception     another exception is expected, or none where one was
    assertion     an assertion that always fails is added
    call          a call that may not raise must raise
    declared      the author of the contract wrote the alteration

An altered input is deliberately not among them: a correct solution may treat an input that no test names in its own
way.

Code under test can read the test that runs. If altered tests had a form of their own, it could recognise them, behave
honestly there and forge everywhere else. So an altered number keeps its form and its number of digits, and an altered
string has another word of the strings in the same file, or another letter. Names and keywords of the file are not used:
they hardly ever occur in its strings. Values are drawn for each pool: no program can know them beforehand.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from proctor.judge.checks.inverted_tests.python_alterable_parts import Case

EXPECTATION, FORM, NEGATION, EXCEPTION = "expectation", "form", "negation", "exception"
ASSERTION, CALL, DECLARED = "assertion", "call", "declared"
KINDS = (EXPECTATION, FORM, NEGATION, EXCEPTION, ASSERTION, CALL, DECLARED)
INDEPENDENT = (ASSERTION, CALL)
"""Kinds that fail whatever the code under test does: they find only code that changes how tests are run."""

DIFF_LINES = 40


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` of a file become ``new``. ``line`` is the first line of the span, from 1.

    ``case`` is the case of a parametrised test that the edit alters, where it does not alter all of them.
    """

    start: int
    end: int
    new: bytes
    kind: str
    line: int
    case: Case | None = None

    def overlaps(self, other: Edit) -> bool:
        """Whether two edits of one file cannot both be made."""
        return (self.start < other.end and other.start < self.end) or self.start == other.start


@dataclass(frozen=True)
class Block:
    """A test or a helper in a source file: its name, the names around it, the edits that invert it.

    ``calls`` are the functions that it calls whenever it passes, ``mentions`` all names in it. A function with
    ``is_decorated`` may not run when it is called.
    """

    name: str
    around: tuple[str, ...]
    edits: tuple[Edit, ...]
    calls: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    is_decorated: bool = False


def kinds_of(edits: Iterable[Edit]) -> frozenset[str]:
    """The kinds of ``edits``, where ``form`` counts as ``expectation``: they detect the same forgeries."""
    return frozenset(EXPECTATION if edit.kind == FORM else edit.kind for edit in edits)


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` after all ``edits``, which do not overlap."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.new + data[edit.end :]
    return data


def diff(path: str, before: bytes, after: bytes) -> str:
    """A readable diff of at most ``DIFF_LINES`` lines."""
    old, new = (data.decode(errors="replace").splitlines() for data in (before, after))
    lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=2, lineterm=""))
    return "\n".join(lines[:DIFF_LINES])


_LITERAL = re.compile(
    rb"\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)
_VOCABULARY = re.compile(rb"(?<![A-Za-z0-9_\\%{])[a-z]{3,10}(?![A-Za-z0-9_])")
"""Words in a literal; after a brace there may be a name, as in f-strings."""
_USUAL = (b"value", b"name", b"other", b"first", b"second", b"item", b"result", b"text")
"""Words for a file whose strings have few."""

_OPENING = re.compile(rb"[A-Za-z]*(\"\"\"|'''|[\"'])")
_WORD = re.compile(rb"(?<![\w\\%])[A-Za-z]{3,}")
_LETTER = re.compile(rb"(?<![\w\\%])[A-Za-z]")
_NUMBER_IN_TEXT = re.compile(rb"(?<![\w\\%])[0-9]+")
_DECIMAL = re.compile(rb"[0-9_]*\.?[0-9_]*")

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_DIGITS = {b"0b": b"01", b"0o": b"01234567", b"0x": b"0123456789abcdef"}
ZERO = ord("0")
_MANY = 3
"""With fewer other words in the file, a letter of a word is altered: the same few words could be recognised."""
_SIGNIFICANT = 2
"""One of the first two digits is altered: the change is larger than any tolerance of a comparison."""


class ReplacementValues:
    """Values that follow from a nonce, the place where they are used, and the file around them."""

    def __init__(self, nonce: bytes, data: bytes = b"") -> None:
        self._nonce = nonce
        self._own = sorted({word for text in _LITERAL.findall(data) for word in _VOCABULARY.findall(text)})
        self._vocabulary = self._own if len(self._own) >= len(_USUAL) else sorted({*self._own, *_USUAL})

    def number(self, place: int) -> int:
        """A number between 1 and 97."""
        return 1 + self._bytes(place)[6] % 97

    def word(self, place: int, but: bytes = b"") -> bytes:
        """A word of the file's strings in small letters, another one than ``but``."""
        return self.choice(place, [word for word in self._vocabulary if word != but.lower()])

    def choice(self, place: int, several: Sequence[bytes]) -> bytes:
        """One of several texts."""
        return several[int.from_bytes(self._bytes(place)[:6]) % len(several)]

    def other_number(self, text: bytes, place: int) -> bytes:
        """The literal of another number in the same form: one of the digits that count most is another one."""
        prefix = text[:2].lower()
        if prefix in _DIGITS:
            return self._with_digit(text, 2, _DIGITS[prefix], place)
        decimal = _DECIMAL.match(text)
        digits = [at for at in range(decimal.end() if decimal else 0) if text[at : at + 1].isdigit()]
        counting = list(dropwhile(lambda at: text[at] == ZERO, digits))[:_SIGNIFICANT] or digits[-1:]
        at = counting[self.number(place) % len(counting)]
        is_octal = text[:1] == b"0" and text[1:2].isdigit() and b"." not in text
        return self._with_digit(text, at, b"01234567" if is_octal else b"0123456789", place)

    def _with_digit(self, text: bytes, at: int, digits: bytes, place: int) -> bytes:
        """``text`` with another digit at ``at``; the result does not begin with 0."""
        begins = at == 0 and text[1:2].isdigit()
        allowed = [
            b"%c" % one for one in digits if one != text[at : at + 1].lower()[0] and not (begins and one == ZERO)
        ]
        return text[:at] + self.choice(place, allowed) + text[at + 1 :]

    def other_string(self, text: bytes, place: int) -> bytes:
        """A literal, quotes included, with another word, letter or number in it; one without any gets a word."""
        opening = _OPENING.match(text)
        assert opening is not None
        start = opening.end()
        body = text[start : len(text) - len(opening[1])]
        found = list(_WORD.finditer(body)) or list(_LETTER.finditer(body)) or list(_NUMBER_IN_TEXT.finditer(body))
        if not found:
            return text[:start] + self.word(place) + text[start:]
        match = found[self.number(place) % len(found)]
        return text[: start + match.start()] + self._other(match[0], place) + text[start + match.end() :]

    def longer_string(self, text: bytes, place: int) -> bytes:
        """A literal, quotes included, with two words appended.

        An honest text that contains the old one may go on with one of these words, but hardly with both.
        """
        opening = _OPENING.match(text)
        assert opening is not None
        end = len(text) - len(opening[1])
        first = self.word(place)
        return b"%s %s %s%s" % (text[:end], first, self.word(place + 1, first), text[end:])

    def _other(self, old: bytes, place: int) -> bytes:
        """Another word, letter or number in the form of ``old``."""
        if old.isdigit():
            return self.other_number(old, place)
        candidates = [word for word in self._own if word != old.lower()]
        letter = self._with_letter(old, place)
        if len(old) == 1 or len(candidates) < _MANY:
            return letter
        word = self.choice(place, candidates)
        word = word.upper() if old.isupper() else word.capitalize() if old[:1].isupper() else word
        return self.choice(place + 1, [word, letter])

    def _with_letter(self, old: bytes, place: int) -> bytes:
        """A word in which one letter is another one of the same case."""
        at = self.number(place + 1) % len(old)
        new = self.choice(place, [b"%c" % one for one in _LETTERS if one != old[at : at + 1].lower()[0]])
        return old[:at] + (new.upper() if old[at : at + 1].isupper() else new) + old[at + 1 :]

    def _bytes(self, place: int) -> bytes:
        return hashlib.sha256(self._nonce + place.to_bytes(8)).digest()
