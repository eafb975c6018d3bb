"""The functions in a JavaScript file: where they are, and who is certain to call them. Pure.

Code under test need not call a function that it is given: a comparator, a hook, a method of a test double. So only the
functions that every passing run calls are looked into: the bodies of tests, callbacks of functions that always call
them, and callbacks that must run because the test ends there or counts its assertions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from proctor.judge.inverted.tokens import NAME, Token

Span = tuple[int, int]

ENDING = frozenset((b"end", b"done", b"pass"))
"""Methods of a test's parameter that end the test."""
RESOLVING = b"resolve"
"""The usual name of what ends a promise that a test waits for."""
COUNTING = frozenset((b"plan", b"assertions", b"hasAssertions"))
"""Methods that count assertions: the test fails where one of them does not run."""
_HEADED = (b"if", b"switch", b"while", b"catch", b"for", b"with", b"await")
_OPENING = frozenset((b"(", b"[", b"{"))


@dataclass(frozen=True)
class Function:
    """A function: the token before its body, the last token of the body, and the name of the call it is given to.

    ``start`` is the opening brace, or the arrow of a function without one. ``holder`` is -1 for a function that is not
    an argument of a call, and ``around`` the start of the function around it, or -1. ``is_called`` says that it is
    called where it is defined: ``(() => { ... })()``.
    """

    start: int
    last: int
    holder: int
    around: int
    is_called: bool


def find_functions(tokens: Sequence[Token], ends: Mapping[int, int]) -> dict[int, Function]:
    """Every function by its start, outer ones first; ``ends`` are the closing brackets of opening ones."""
    found: dict[int, Function] = {}
    closed = {end: opening for opening, end in ends.items()}
    openings: list[int] = []
    inside: list[Function] = []
    for index, token in enumerate(tokens):
        while openings and ends[openings[-1]] <= index:
            openings.pop()
        while inside and inside[-1].last < index:
            inside.pop()
        last = _last_of_body(tokens, ends, closed, index)
        if last is not None:
            opening = openings[-1] if openings and tokens[openings[-1]].text == b"(" else -1
            is_named = opening > 0 and tokens[opening - 1].kind == NAME
            is_called = opening >= 0 and not is_named and _is_text(tokens, ends[opening] + 1, b"(")
            around = inside[-1].start if inside else -1
            found[index] = one = Function(index, last, opening - 1 if is_named else -1, around, is_called)
            inside.append(one)
        if token.text in _OPENING and index in ends:
            openings.append(index)
    return found


def required(
    tokens: Sequence[Token], functions: Mapping[int, Function], span: Span, parameters: Collection[bytes]
) -> frozenset[int]:
    """The starts of the functions that must run for the test in ``span`` to pass, with all functions around them.

    ``parameters`` are those of the test's own function.
    """
    inside = [one for one in functions.values() if span[0] < one.start < span[1]]
    if not inside:
        return frozenset()
    counting = (at for at in range(*span) if _is_method(tokens, at, COUNTING))
    if any(_innermost(inside, at) == inside[0].start for at in counting):
        return frozenset(one.start for one in inside)
    ends = {_innermost(inside, at) for at in range(*span) if _ends_test(tokens, at, parameters)}
    found: set[int] = set()
    start = ends.pop() if len(ends) == 1 else -1
    while start >= 0:
        found.add(start)
        start = functions[start].around
    return frozenset(found)


def _last_of_body(
    tokens: Sequence[Token], ends: Mapping[int, int], closed: Mapping[int, int], index: int
) -> int | None:
    """The last token of the function whose body starts at ``index``; nothing where none does."""
    if _is_text(tokens, index, b"=>"):
        return None if _is_text(tokens, index + 1, b"{") else _last_of_expression(tokens, ends, index + 1)
    if not _is_text(tokens, index, b"{") or index not in ends:
        return None
    header = closed.get(index - 1, 0) - 1
    is_function = _is_text(tokens, index - 1, b")") and not _is_text(tokens, header, *_HEADED)
    return ends[index] if is_function or _is_text(tokens, index - 1, b"=>") else None


def _last_of_expression(tokens: Sequence[Token], ends: Mapping[int, int], index: int) -> int:
    """The last token of the expression at ``index``, up to a comma, a semicolon or a closing bracket."""
    while index < len(tokens) and tokens[index].text not in (b",", b";", b")", b"]", b"}"):
        index = ends.get(index, index) + 1
    return index - 1


def _innermost(functions: Sequence[Function], at: int) -> int:
    """The start of the innermost of ``functions`` around a token, or -1."""
    return max((one.start for one in functions if one.start <= at <= one.last), default=-1)


def _is_method(tokens: Sequence[Token], at: int, names: Collection[bytes]) -> bool:
    """Whether a method with one of ``names`` is called at a token."""
    return tokens[at].text in names and _is_text(tokens, at + 1, b"(") and _is_text(tokens, at - 1, b".")


def _ends_test(tokens: Sequence[Token], at: int, parameters: Collection[bytes]) -> bool:
    """Whether a token calls what ends the test: its parameter, a method of it, or what resolves a promise."""
    if not _is_text(tokens, at + 1, b"("):
        return False
    if _is_text(tokens, at - 1, b"."):
        return tokens[at].text in ENDING and _is_text(tokens, at - 2, *parameters)
    return _is_text(tokens, at, RESOLVING, *parameters)


def _is_text(tokens: Sequence[Token], at: int, *texts: bytes) -> bool:
    return 0 <= at < len(tokens) and tokens[at].text in texts
