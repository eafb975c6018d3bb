"""Split source text of C-like languages into tokens: names, numbers, strings, punctuation. Pure.

This is enough to find calls and their arguments, not to understand a program. A misread token only costs an edit,
because each edit is tried on the reference before it counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
