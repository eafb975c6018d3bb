"""Tokens, calls and branches in the source of C-like languages, and the edits of a literal. Pure.

The makers of edits for JavaScript and C share this. It is enough to find calls and their arguments, not to understand a
program: a misread token only costs an edit, because each edit is tried on the reference before it counts.

A correct solution may take another branch than the reference, or return nothing to iterate over. Nothing is altered
there, nor behind a branch that may leave the test, unless it is certain from the source that a loop runs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION, NEGATION, Edit, ReplacementValues

NAME, NUMBER, STRING, MARK = "name", "number", "string", "mark"

_TOKEN = re.compile(
    rb"""
      (?P<skip>\s+ | //[^\n]* | /\*.*?(?:\*/|\Z))
    | (?P<string>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<number>\.?[0-9](?:[eEpP][+-]|[A-Za-z0-9_.])*)
    | (?P<mark>=>|===|!==|==|!=|<=|>=|&&|\|\||->|\+\+|--|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGULAR = re.compile(rb"/(?![*/])(?:[^\\/\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_DIRECTIVE = re.compile(rb"[ \t]*#(?:\\\r\n|\\.|[^\n\\])*", re.DOTALL)
_IN_TEMPLATE = re.compile(rb"\\.|`|\$\{", re.DOTALL)
_IN_SUBSTITUTION = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[`{}]", re.DOTALL)

OPENING = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSING = frozenset(OPENING.values())
_BEFORE_A_VALUE = frozenset(b"( , = : [ ! & | ? { } ; + - * % ~ ^ => == === != !== && || return case".split())


@dataclass(frozen=True)
class Token:
    """One token: what kind, its bytes and where it starts."""

    kind: str
    text: bytes
    start: int

    @property
    def end(self) -> int:
        """Where the next one can start."""
        return self.start + len(self.text)


def tokens(data: bytes, *, directives: bool = False) -> tuple[Token, ...]:
    """The tokens of ``data`` without white space and comments.

    With ``directives`` the lines of a preprocessor are left out, and a slash never begins a regular expression.
    """
    found: list[Token] = []
    at, is_line_start = 0, True
    while at < len(data):
        if directives and is_line_start and (directive := _DIRECTIVE.match(data, at)):
            at = directive.end()
            continue
        kind, end = _javascript_string(data, at, found) if not directives else ("", at)
        if not kind:
            kind, end = _token(data, at)
        if kind != "skip":
            found.append(Token(kind, data[at:end], at))
        is_line_start = kind == "skip" and b"\n" in data[at:end]
        at = end
    return tuple(found)


def _token(data: bytes, at: int) -> tuple[str, int]:
    match = _TOKEN.match(data, at)
    assert match is not None  # a mark is any byte
    return match.lastgroup or MARK, match.end()


def _javascript_string(data: bytes, at: int, found: Sequence[Token]) -> tuple[str, int]:
    """Kind and end of the template or regular expression that begins at ``at``; the kind is empty if none does."""
    if data[at : at + 1] == b"`":
        return STRING, _template_end(data, at)
    expects_value = not found or found[-1].text in _BEFORE_A_VALUE
    if expects_value and (regular := _REGULAR.match(data, at)):
        return STRING, regular.end()
    return "", at


def _template_end(data: bytes, at: int) -> int:
    """The end of a template literal, including nested templates; the end of the file if it is not closed."""
    inside = [b"`"]
    at += 1
    while inside:
        match = (_IN_TEMPLATE if inside[-1] == b"`" else _IN_SUBSTITUTION).search(data, at)
        if match is None:
            return len(data)
        at, text = match.end(), match.group()
        if text in (b"${", b"{") or (text == b"`" and inside[-1] != b"`"):
            inside.append(text)
        elif text in (b"`", b"}"):
            inside.pop()
    return at


def brackets(several: Sequence[Token]) -> dict[int, int]:
    """Where each bracket closes: the index of the closing one by that of the opening one.

    A bracket that is still open when another kind of bracket closes has no end.
    """
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, token in enumerate(several):
        if token.kind != MARK:
            continue
        if token.text in OPENING:
            waiting.append(index)
        elif waiting and token.text == OPENING[several[waiting[-1]].text]:
            found[waiting.pop()] = index
        elif token.text in _CLOSING:
            waiting.clear()
    return found


def arguments(several: Sequence[Token], ends: Mapping[int, int], opening: int) -> tuple[tuple[int, int], ...]:
    """The arguments between a bracket and its end, each as the indices of its first and last token."""
    found: list[tuple[int, int]] = []
    index = first = opening + 1
    while index < ends[opening]:
        if several[index].text == b",":
            found.append((first, index - 1))
            first = index + 1
        index = ends.get(index, index) + 1
    found.append((first, index - 1))
    return tuple((low, high) for low, high in found if low <= high)


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
_BRANCHING = frozenset((b"if", b"else", b"switch", b"while", b"catch", b"for"))
_CHOOSING = frozenset((b"&&", b"||", b"??", b"?"))
"""Operators after which an expression may not be evaluated."""
_HEADED = frozenset((b"if", b"switch", b"while", b"catch", b"for"))
"""What has brackets before its statement."""
ITERATING = frozenset((b"forEach", b"map", b"flatMap", b"filter", b"find", b"findIndex", b"some", b"every", b"reduce"))
"""Methods of arrays that call what they are given for the elements."""
_LEAVING = frozenset((b"return", b"goto", b"break", b"continue"))
_LEAVING_LOOP = frozenset((b"return", b"goto"))
"""A ``break`` or ``continue`` stays within its own loop."""
_FAILING = (b"done", b"cb", b"callback", b"next", b"reject", b"fail", b"end", b"error", b"ifError")
"""Functions that make a test fail where they are given an error."""
_INTEGER = re.compile(rb"0|[1-9][0-9]*")
_UNFINISHED = frozenset(b"await typeof new void delete in instanceof of else do const let var throw function".split())
"""Names at the end of a line that continues on the next line."""
_CONTINUING = frozenset((b"in", b"instanceof", b"catch", b"finally"))
"""Names at the beginning of a line that continues the line before."""
_IN_VALUES = frozenset((b"(", b")", b"[", b"]", b"{", b"}", b",", b":", b".", b"+", b"-"))
"""The punctuation of an expression whose literals are parts of its value, whatever the code under test does."""


@dataclass(frozen=True)
class Call:
    """A call in a source file: the token with its name, and the first and last token of each argument."""

    name: int
    opening: int
    end: int
    given: tuple[Span, ...]


class Source:
    """A file that edits are made for."""

    ends_at_lines = False
    """Whether the end of a line can end a statement, without a semicolon."""

    def __init__(self, data: bytes, several: Sequence[Token], draw: ReplacementValues) -> None:
        self.data = data
        self.tokens = several
        self.draw = draw
        self.ends = brackets(several)
        self.openings = {end: opening for opening, end in self.ends.items()}
        self._newlines = [at for at, byte in enumerate(data) if byte == 10]
        self._bodies = self._bodies_around()
        names = (index for index, token in enumerate(several) if token.text in _LEAVING)
        self._leaving = [index for index in names if not self.is_text(index - 1, b".")]

    def is_text(self, index: int, *texts: bytes) -> bool:
        """Whether there is a token at ``index`` with one of ``texts``."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text in texts

    def call_at(self, name: int) -> Call | None:
        """The call whose name is the token ``name``; nothing where no bracket follows or none closes it."""
        opening = name + 1
        if self.tokens[name].kind != NAME or not self.is_text(opening, b"(") or opening not in self.ends:
            return None
        return Call(name, opening, self.ends[opening], arguments(self.tokens, self.ends, opening))

    def certain(self, first: int, last: int) -> Iterator[int]:
        """The tokens from ``first`` up to ``last``, not included, that run whenever the first one does."""
        skipped: dict[int, int] = {}
        index = first
        while index < last:
            if index in skipped:
                index = skipped.pop(index) + 1
                continue
            yield index
            branch = self._skipped_after(index)
            if branch is not None and branch[0] <= branch[1]:
                skipped[branch[0]] = branch[1]
            index += 1

    def _skipped_after(self, index: int) -> Span | None:
        """The tokens after ``index`` that may not run because of it: a branch, and what it may skip."""
        branch = self._branch_after(index)
        if branch is None or self.is_text(index - 1, b"."):
            return branch
        leaving = _LEAVING_LOOP if self.is_text(index, b"for", b"while", b"switch") else _LEAVING
        if any(self.tokens[at].text in leaving and not self._hands_on(index, at) for at in self._leaves(*branch)):
            return branch[0], self.ends.get(self._bodies[index], len(self.tokens)) - 1
        return branch

    def _branch_after(self, index: int) -> Span | None:
        """The tokens that the name at ``index`` makes conditional: a branch, the body of a loop, a callback."""
        text, first = self.tokens[index].text, index + 1
        if text in _CHOOSING and self.tokens[index].kind == MARK:
            return first, self._end_of_statement(first)
        if self.is_text(index - 1, b"."):
            return self._branch_of_method(index) if text in _BRANCHING | ITERATING else None
        if text == b"try":
            end = self.ends.get(first, first)
            return (first, end) if self.is_text(end + 1, b"catch") else None
        if text not in _BRANCHING or (text == b"else" and self.is_text(first, b"if")) or self._ends_do(index):
            return None
        body = self._behind_header(index)
        if text == b"for" and self._runs(body):
            return None
        return body, self._end_of_statement(body)

    def _leaves(self, first: int, last: int) -> list[int]:
        """The tokens of a branch or loop that may leave it, without those of functions inside it."""
        inside = self._leaving[bisect_left(self._leaving, first) : bisect_left(self._leaving, last + 1)]
        return [at for at in inside if self._bodies[at] < first]

    def _hands_on(self, branch: int, leaving: int) -> bool:
        """Whether a branch leaves like ``if (error) return done(error)``: then no passing run takes it."""
        name = leaving + 1
        while self.is_text(name + 1, b"."):
            name += 2
        call = self.call_at(name) if self.is_text(name, *_FAILING) else None
        if call is None or not call.given or call.given[0][0] != call.given[0][1]:
            return False
        condition = [token.text for token in self.tokens[branch : branch + 4]]
        return condition == [b"if", b"(", self.tokens[call.given[0][0]].text, b")"]

    def _bodies_around(self) -> list[int]:
        """For each token the bracket that opens the body of the innermost function around it, or -1."""
        found, inside = [], [-1]
        for index in range(len(self.tokens)):
            while len(inside) > 1 and self.ends[inside[-1]] < index:
                inside.pop()
            found.append(inside[-1])
            if self._is_body(index):
                inside.append(index)
        return found

    def _is_body(self, index: int) -> bool:
        """Whether a bracket opens the body of a function."""
        if not self.is_text(index, b"{") or index not in self.ends:
            return False
        before = self.openings.get(index - 1, 0) - 1
        is_header = self.is_text(before, *_HEADED) or self.is_text(before, b"await")
        return self.is_text(index - 1, b"=>") or (self.is_text(index - 1, b")") and not is_header)

    def _branch_of_method(self, name: int) -> Span | None:
        """The arguments of ``.catch``, and of ``.forEach`` and the like unless they go over a literal with elements."""
        call, literal = self.call_at(name), self.openings.get(name - 2, -1)
        if call is None:
            return None
        needed = 2 if self.is_text(name, b"reduce") else 1  # reduce may start with the first element
        is_literal = self.is_text(literal, b"[") and not self._is_behind_operand(literal)
        if self.tokens[name].text in ITERATING and is_literal and self._count(literal) >= needed:
            return None
        return call.opening, call.end

    def _count(self, opening: int) -> int:
        """How many elements an array literal has at least: those that are spread may be none."""
        return sum(not self.is_text(first, b".") for first, _ in arguments(self.tokens, self.ends, opening))

    def _ends_do(self, index: int) -> bool:
        """Whether a ``while`` is the end of ``do { ... } while``."""
        return self.is_text(index, b"while") and self.is_text(self.openings.get(index - 1, 0) - 1, b"do")

    def _behind_header(self, index: int) -> int:
        """The first token of the statement that belongs to the keyword at ``index``."""
        first = index + 2 if self.is_text(index + 1, b"await") else index + 1
        is_headed = self.tokens[index].text in _HEADED and self.is_text(first, b"(")
        return self.ends.get(first, first) + 1 if is_headed else first

    def _runs(self, body: int) -> bool:
        """Whether a loop is certain to run all of its ``body``: it counts up to a literal, or goes over one."""
        if not self.is_text(body, b"{") or body not in self.ends:
            return False
        if self._leaves(body, self.ends[body]):
            return False
        opening = self.openings.get(body - 1)
        return opening is not None and (self._counts_up(opening) or self._goes_over_literal(opening))

    def _counts_up(self, opening: int) -> bool:
        """Whether the header of a loop is like ``(i = 0; i < 3; i++)``, or has no condition."""
        parts = [at for at in self.outer((opening + 1, self.ends[opening] - 1)) if self.is_text(at, b";")]
        if len(parts) != 2:
            return False
        start, condition = parts[0], [token.text for token in self.tokens[parts[0] + 1 : parts[1]]]
        if not condition:
            return True
        before = [token.text for token in self.tokens[max(start - 3, opening) : start]]
        if len(condition) != 3 or before[:2] != [condition[0], b"="] or condition[1] not in (b"<", b"<="):
            return False
        numbers = before[2], condition[2]
        return all(map(_INTEGER.fullmatch, numbers)) and int(numbers[0]) < int(numbers[1])

    def _goes_over_literal(self, opening: int) -> bool:
        """Whether the header of a loop ends with ``of [...]``, and the array has elements."""
        literal = self.openings.get(self.ends[opening] - 1, -1)
        return self.is_text(literal, b"[") and self.is_text(literal - 1, b"of") and self._count(literal) > 0

    def _end_of_statement(self, index: int) -> int:
        """The last token of the block at ``index``, or of a statement up to its semicolon or the end of its line."""
        while index < len(self.tokens) and self.tokens[index].text in _BRANCHING:
            index = self._behind_header(index)
        if self.is_text(index, b"{"):
            return self.ends.get(index, index)
        first = index
        while index < len(self.tokens) and not self.is_text(index, b";", b")", b"]", b"}"):
            if index > first and self._begins_after_line(index):
                break
            index = self.ends.get(index, index) + 1
        return index - 1

    def _begins_after_line(self, index: int) -> bool:
        """Whether a token begins a statement because a line ends before it; only where a language allows that."""
        before, token = self.tokens[index - 1], self.tokens[index]
        if not self.ends_at_lines or token.kind != NAME or token.text in _CONTINUING or self._ends_do(index):
            return False
        ends = before.text not in _UNFINISHED if before.kind != MARK else before.text in (b")", b"]", b"}")
        return ends and b"\n" in self.data[before.end : token.start]

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
            if index > span[0] and self.is_text(index, b"(", b"[") and self._is_behind_operand(index):
                index = self.ends.get(index, span[1])
            elif not self.is_text(index + 1, b":"):  # the key of an object is not a value
                new = self._other(self.tokens[index])
                if new:
                    yield self.edit((index, index), new, EXPECTATION)
            index += 1

    def _is_behind_operand(self, opening: int) -> bool:
        """Whether a bracket calls or indexes what is before it."""
        is_named = opening > 0 and self.tokens[opening - 1].kind in (NAME, STRING)
        return is_named or self.is_text(opening - 1, b")", b"]")

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

    def negated(self, span: Span, *, holds: bool = True) -> Edit:
        """The edit that turns a condition into its opposite, in the usual form; ``holds``: it must be true.

        Of what cannot be ordered, such as ``undefined``, both ``a > 3`` and ``a <= 3`` are false.
        """
        marks = self.marks(span)
        operators = [index for index in marks if self.tokens[index].text in _OPPOSITES]
        is_order = any(self.is_text(index, b"<", b">", b"<=", b">=") for index in operators)
        is_comparison = len(operators) == 1 and all(self.tokens[index].text in _IN_COMPARISONS for index in marks)
        if is_comparison and (holds or not is_order):
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
