"""What the makers of edits for JavaScript and C share: calls, branches, and the edits of a literal. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from proctor.base.frozen import frozen
from proctor.judge.inverted.edit import EXPECTATION, NEGATION, Edit
from proctor.judge.inverted.tokens import MARK, NAME, NUMBER, STRING, Token, arguments, brackets
from proctor.judge.inverted.values import Draw

Span = tuple[int, int]
"""The indices of a first and a last token."""

_CONSTANTS = {b"true": b"false", b"false": b"true", b"null": b"0", b"undefined": b"null"}
_OPPOSITES = {
    b"==": b"!=",
    b"!=": b"==",
    b"===": b"!==",
    b"!==": b"===",
    b"<": b">=",
    b">=": b"<",
    b">": b"<=",
    b"<=": b">",
}
_IN_OPERANDS = frozenset((b"(", b"[", b".", b"->"))
"""The punctuation outside of brackets of what ``!`` and ``+`` take as one operand."""
_IN_COMPARISONS = _IN_OPERANDS | frozenset((b"*", b"/", b"%", b"+", b"-", *_OPPOSITES))
_BRANCHING = frozenset((b"if", b"else", b"switch", b"while", b"catch"))
_IN_VALUES = frozenset((b"(", b")", b"[", b"]", b"{", b"}", b",", b":", b".", b"+", b"-"))
"""The punctuation of an expression whose literals are parts of its value, whatever the code under test does."""


@frozen
class Call:
    """A call in a source file: the token with its name, and the first and last token of each argument."""

    name: int
    opening: int
    end: int
    given: tuple[Span, ...]


class Source:
    """A file that edits are made for."""

    def __init__(self, data: bytes, several: Sequence[Token], draw: Draw) -> None:
        self.data = data
        self.tokens = several
        self.draw = draw
        self.ends = brackets(several)
        self._newlines = [at for at, byte in enumerate(data) if byte == 10]
        self._branches = bytearray(len(several))
        for index in range(len(several)):
            if not self._branches[index]:
                self._mark_branch(index)

    def is_text(self, index: int, *texts: bytes) -> bool:
        """Whether there is a token at ``index`` with one of ``texts``."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text in texts

    def call_at(self, name: int) -> Call | None:
        """The call whose name is the token ``name``; nothing where no bracket follows or none closes it."""
        opening = name + 1
        if self.tokens[name].kind != NAME or not self.is_text(opening, b"(") or opening not in self.ends:
            return None
        return Call(name, opening, self.ends[opening], arguments(self.tokens, self.ends, opening))

    def may_be_skipped(self, index: int) -> bool:
        """Whether a token is in a branch: a correct solution may take another branch than the reference."""
        return bool(self._branches[index])

    def _mark_branch(self, index: int) -> None:
        """Mark the tokens that the keyword at ``index`` makes conditional."""
        text, first = self.tokens[index].text, index + 1
        if text == b"try":
            end = self.ends.get(first, first)
            if self.is_text(end + 1, b"catch"):
                self._mark(first, end)
        elif text in _BRANCHING:
            is_method = self.is_text(index - 1, b".")
            if self.is_text(first, b"(") and not is_method:
                first = self.ends.get(first, first) + 1
            if not (text == b"else" and self.is_text(first, b"if")):
                self._mark(first, self.ends.get(first, first - 1) if is_method else self._end_of_statement(first))

    def _mark(self, first: int, last: int) -> None:
        self._branches[first : last + 1] = b"\1" * (last + 1 - first)

    def _end_of_statement(self, index: int) -> int:
        """The last token of the block at ``index``, or of a statement up to its semicolon."""
        if self.is_text(index, b"{"):
            return self.ends.get(index, index)
        while index < len(self.tokens) and not self.is_text(index, b";", b")", b"]", b"}"):
            index = self.ends.get(index, index) + 1
        return index - 1

    def text(self, span: Span) -> bytes:
        """The source from the first to the last token of ``span``."""
        return self.data[self.tokens[span[0]].start : self.tokens[span[1]].end]

    def edit(self, span: Span, new: bytes, kind: str) -> Edit:
        """The edit after which the tokens of ``span`` are ``new``."""
        return Edit(self.tokens[span[0]].start, self.tokens[span[1]].end, new, kind, self._line(span[0]))

    def before(self, token: int, new: bytes, kind: str) -> Edit:
        """The edit that puts ``new`` before a token."""
        start = self.tokens[token].start
        return Edit(start, start, new, kind, self._line(token))

    def _line(self, token: int) -> int:
        return bisect_left(self._newlines, self.tokens[token].start) + 1

    def literals(self, span: Span) -> Iterator[Edit]:
        """Every literal of ``span`` that is part of its value, altered; arguments of calls and indices are not."""
        inside = range(span[0], span[1] + 1)
        if any(self.tokens[at].kind == MARK and self.tokens[at].text not in _IN_VALUES for at in inside):
            return
        index = span[0]
        while index <= span[1]:
            if index > span[0] and self.is_text(index, b"(", b"[") and self._is_operand(index - 1):
                index = self.ends.get(index, span[1])
            elif not self.is_text(index + 1, b":"):  # the key of an object is not a value
                new = self._other(self.tokens[index])
                if new:
                    yield self.edit((index, index), new, EXPECTATION)
            index += 1

    def _is_operand(self, index: int) -> bool:
        return self.tokens[index].kind in (NAME, STRING) or self.is_text(index, b")", b"]")

    def _other(self, token: Token) -> bytes:
        if token.kind == NUMBER:
            return self.draw.other_number(token.text, token.start)
        if token.kind == STRING and token.text[:1] in (b'"', b"'"):
            return self.draw.other_string(token.text, token.start)
        return _CONSTANTS.get(token.text, b"")

    def outer(self, span: Span) -> list[int]:
        """The tokens of ``span`` that are in no brackets, opening ones among them."""
        found, index = [], span[0]
        while index <= span[1]:
            found.append(index)
            index = self.ends.get(index, index) + 1
        return found

    def marks(self, span: Span) -> list[int]:
        """The punctuation of ``span`` that is in no brackets."""
        return [index for index in self.outer(span) if self.tokens[index].kind == MARK]

    def is_operand(self, span: Span) -> bool:
        """Whether an operator can be put before or after ``span`` without brackets."""
        if any(self.is_text(index, b"in", b"instanceof") for index in self.outer(span)):
            return False
        return all(self.tokens[index].text in _IN_OPERANDS for index in self.marks(span))

    def negated(self, span: Span) -> Edit:
        """The edit that turns a condition into its opposite, in the usual form."""
        marks = self.marks(span)
        operators = [index for index in marks if self.tokens[index].text in _OPPOSITES]
        if len(operators) == 1 and all(self.tokens[index].text in _IN_COMPARISONS for index in marks):
            (operator,) = operators
            return self.edit((operator, operator), _OPPOSITES[self.tokens[operator].text], NEGATION)
        inner = (span[0] + 1, span[1])
        if self.is_text(span[0], b"!") and inner[0] <= inner[1] and self.is_operand(inner):
            return self.edit(span, self.text(inner), NEGATION)
        text = self.text(span)
        return self.edit(span, b"!" + text if self.is_operand(span) else b"!(" + text + b")", NEGATION)

    def starts_statement(self, index: int) -> bool:
        """Whether a token is the first of a statement."""
        return index == 0 or (self.tokens[index - 1].kind == MARK and self.is_text(index - 1, b";", b"{", b"}"))
