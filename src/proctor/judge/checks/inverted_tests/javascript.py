"""Edits of JavaScript tests, by rules for the assertions of tap, tape, node:test with assert, jest, mocha, chai, sinon.

A test is a call of ``test``, ``it`` or the like whose first argument is a string; nested ones are tests of their own. A
method counts as an assertion on an object that tests assert with: ``assert``, the parameter of a test, an
``expect(...)``. Any other ``equal`` or ``ok`` may belong to the code under test.

Code under test need not call a function that it is given: a comparator, a hook, a method of a test double. So only
functions that every passing run calls are edited: the bodies of tests, callbacks of functions that always call them,
and callbacks that must run because the test ends there or counts its assertions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    EXCEPTION,
    FORM,
    NEGATION,
    Block,
    Edit,
    ReplacementValues,
    kinds_of,
)
from proctor.judge.checks.inverted_tests.c_like_source import (
    ITERATING,
    MARK,
    NAME,
    STRING,
    Call,
    Source,
    Span,
    Token,
    tokens,
)

TokenSpan = tuple[int, int]

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
    tokens: Sequence[Token], functions: Mapping[int, Function], span: TokenSpan, parameters: Collection[bytes]
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


SUFFIXES = (b".js", b".cjs", b".mjs", b".jsx", b".ts", b".tsx", b".mts", b".cts")

TESTS = frozenset((b"test", b"it", b"specify", b"subtest", b"asyncTest"))
SUITES = frozenset((b"describe", b"suite", b"context"))
RECEIVERS = frozenset((b"assert", b"t", b"test", b"tap", b"tape", b"strict"))

_PAIRS = {
    b"equal": b"notEqual",
    b"strictEqual": b"notStrictEqual",
    b"deepEqual": b"notDeepEqual",
    b"deepStrictEqual": b"notDeepStrictEqual",
    b"looseEqual": b"notLooseEqual",
    b"deepLooseEqual": b"notDeepLooseEqual",
    b"same": b"notSame",
    b"strictSame": b"strictNotSame",
    b"match": b"doesNotMatch",
    b"include": b"notInclude",
    b"instanceOf": b"notInstanceOf",
    b"property": b"notProperty",
    b"isNull": b"isNotNull",
    b"isDefined": b"isUndefined",
    b"isEmpty": b"isNotEmpty",
    b"isArray": b"isNotArray",
    b"exists": b"notExists",
    b"called": b"notCalled",
    b"calledWith": b"neverCalledWith",
}
OPPOSITES = {
    **{opposite: name for name, opposite in _PAIRS.items()},
    **_PAIRS,
    b"calledOnce": b"notCalled",
    b"calledOnceWithExactly": b"neverCalledWith",
}
TAP_OPPOSITES = {**OPPOSITES, b"equal": b"not", b"not": b"equal", b"match": b"notMatch", b"notMatch": b"match"}
"""The package tap uses other names."""

THROWING = {b"throws": b"doesNotThrow", b"rejects": b"doesNotReject"}
EQUALITIES = frozenset(
    (
        *(b"equal", b"strictEqual", b"deepEqual", b"deepStrictEqual", b"looseEqual", b"deepLooseEqual", b"same"),
        *(b"strictSame", b"is", b"equals", b"isEqual", b"strictEquals", b"isDeeply", b"eql", b"deepEquals"),
    )
)
TRUTHS = frozenset(
    (
        *(b"ok", b"notOk", b"true", b"false", b"assert", b"isTrue", b"isFalse", b"isOk", b"isNotOk"),
        *(b"truthy", b"falsy", b"error", b"ifError"),
    )
)
UNTRUTHS = frozenset((b"notOk", b"false", b"isFalse", b"isNotOk", b"falsy", b"error", b"ifError"))
"""Those that pass where a condition does not hold."""
CHAINED_VALUES = frozenset((b"equal", b"equals", b"eq", b"eql", b"eqls", b"deepEqual", b"lengthOf"))
"""Methods of chai and should with the expectation as the only argument, after ``expect(...)``."""
CHAINED = CHAINED_VALUES | frozenset(
    (
        *(b"members", b"include", b"includes", b"contain", b"contains", b"a", b"an", b"instanceof", b"instanceOf"),
        *(
            b"property",
            b"keys",
            b"match",
            b"above",
            b"below",
            b"least",
            b"most",
            b"closeTo",
            b"exactly",
            b"ok",
            b"true",
        ),
        *(b"false", b"calledWith", b"calledOnceWith", b"calledWithExactly", b"calledOnceWithExactly", b"empty"),
        b"exist",
    )
)
CHAINED_THROWS = frozenset((b"throw", b"throws", b"rejectedWith"))
PROPERTIES = frozenset(
    (
        *(b"true", b"false", b"null", b"undefined", b"ok", b"empty", b"exist", b"NaN"),
        *(b"called", b"calledOnce", b"calledTwice", b"rejected", b"fulfilled"),
    )
)
"""What chai asserts without a call: ``expect(x).to.be.true``."""
MATCHERS = frozenset((b"toBe", b"toEqual", b"toStrictEqual", b"toHaveLength"))
CONTAINING = frozenset((b"toContain", b"toContainEqual"))
"""Another literal may be in the same container, so only the whole expectation is altered."""

RUNNING = (
    *(TESTS | SUITES),
    *(b"before", b"after", b"beforeEach", b"afterEach", b"teardown", b"tearDown", b"only"),
    *(b"setTimeout", b"setImmediate", b"nextTick", b"queueMicrotask", b"Promise"),
)
"""What calls the functions that it is given in every run."""
SETTLING = (b"then", b"finally")
"""What calls its function once a promise is settled: certain only if the test waits for it."""
_WAITING = (b"await", b"return", b"=>")

_USES_TAP = re.compile(rb"""(?:require\(\s*|from\s+)['"]tap['"]""")
_FROM_ASSERT = re.compile(rb"""\{([^{}]*)\}\s*(?:=\s*require\(\s*|from\s*)['"](?:node:)?assert(?:/strict)?['"]""")
_FEW = 3
_MOST_PARTS, _MOST_NESTED = 4, 8
"""The most parts of a name such as ``test.only``, and the most levels of nested tests."""


@dataclass(frozen=True)
class _Test:
    """The call of a test, and the titles around it."""

    call: Call
    around: tuple[str, ...]


def blocks(data: bytes, draw: ReplacementValues) -> tuple[Block, ...]:
    """Every test of a file, with the edits that invert it."""
    return tuple(_Reader(data, tokens(data), draw).tests())


class _Reader(Source):
    ends_at_lines = True

    def __init__(self, data: bytes, several: tuple[Token, ...], draw: ReplacementValues) -> None:
        super().__init__(data, several, draw)
        self._opposites = TAP_OPPOSITES if _USES_TAP.search(data) else OPPOSITES
        self._imported = {name for match in _FROM_ASSERT.finditer(data) for name in re.findall(rb"\w+", match[1])}
        self._tests = tuple(self._calls())
        self._wrappers = {self._last_part(test.call.given[-1][0]) for test in self._tests}
        self._functions = find_functions(several, self.ends)
        self._required: frozenset[int] = frozenset()
        self._receivers = RECEIVERS | {name for test in self._tests for name in self._parameters(test.call)}

    def tests(self) -> Iterator[Block]:
        """The tests, in the order of the file."""
        return map(self._block, self._tests)

    def _calls(self) -> Iterator[_Test]:
        """The calls that make tests, with the titles of the suites around them."""
        suites: list[tuple[int, str]] = []
        tests: list[int] = []
        for index, token in enumerate(self.tokens):
            call = self._titled(index) if token.text in TESTS | SUITES else None
            if call is None:
                continue
            while suites and suites[-1][0] < index:
                suites.pop()
            while tests and tests[-1] < index:
                tests.pop()
            if token.text in SUITES:
                suites.append((call.end, self._title(call)))
            elif len(tests) < _MOST_NESTED:
                tests.append(call.end)
                yield _Test(call, tuple(title for _, title in suites))

    def _titled(self, index: int) -> Call | None:
        """The call of a test or a suite at ``index``, ``test.only`` among them, if a string names it."""
        name = self._last_part(index)
        call = self.call_at(name) if name < len(self.tokens) else None
        if call is None or len(call.given) < 2:
            return None
        first, last = call.given[0]
        return call if first == last and self.tokens[first].kind == STRING else None

    def _last_part(self, index: int) -> int:
        """The last part of the name that begins at ``index``, such as ``only`` of ``test.only``."""
        name = index
        while name < index + 2 * _MOST_PARTS and self.is_text(name + 1, b"."):
            name += 2
        return name

    def _title(self, call: Call) -> str:
        """The text of the string that names a test, escapes of quotes resolved."""
        text = self.tokens[call.given[0][0]].text[1:-1]
        return re.sub(rb"\\(.)", rb"\1", text).decode(errors="replace")

    def _parameters(self, call: Call) -> Iterator[bytes]:
        """The names of the parameters of the function that is the last argument of a test."""
        first, last = call.given[-1]
        for index in range(first, last):
            if self.is_text(index, b"{", b"=>"):
                return
            begins = self.is_text(index - 1, b"(", b",", b"async")
            if begins and self.tokens[index].kind == NAME and self.is_text(index + 1, b")", b",", b":", b"=>"):
                yield self.tokens[index].text

    def _block(self, test: _Test) -> Block:
        span = test.call.opening, test.call.end
        self._required = required(self.tokens, self._functions, span, set(self._parameters(test.call)))
        inside = list(self.certain(*span))
        edits = [edit for index in inside for edit in self._edits(index)]
        if len(edits) < _FEW or len(kinds_of(edits)) < 2:
            edits += [edit for index in inside for edit in self._added(index)]
        return Block(self._title(test.call), test.around, tuple(dict.fromkeys(edits)))

    def _skipped_after(self, index: int) -> Span | None:
        """A branch, or the body of a function that need not be called."""
        function = self._functions.get(index)
        if function is not None and not self._is_run(function):
            return function.start + 1, function.last
        return super()._skipped_after(index)

    def _is_run(self, function: Function) -> bool:
        """Whether every passing run calls a function."""
        if function.is_called or function.start in self._required or function.holder in self._wrappers:
            return True
        if function.holder < 0 or not self.is_text(function.holder, *SETTLING):
            return function.holder >= 0 and self.is_text(function.holder, *RUNNING, *ITERATING)
        return self._is_awaited(function.holder)

    def _is_awaited(self, index: int) -> bool:
        """Whether the test waits for the promise of the chain that the name at ``index`` belongs to."""
        index -= 1
        while index >= 0 and (self.tokens[index].kind != MARK or self.is_text(index, b".", b")", b"]")):
            if self.is_text(index, *_WAITING):
                return True
            index = self.openings.get(index, index) - 1
        return self.is_text(index, *_WAITING)

    def _edits(self, index: int) -> Iterator[Edit]:
        if self.tokens[index].kind != NAME:
            return
        call, name = self.call_at(index), self.tokens[index].text
        if self._is_expectation(index):
            yield from self._of_chain(index, call)
        elif call is not None and call.given and self._is_assertion(index) and not self.is_text(call.given[0][0], b"."):
            yield from self._of_assertion(call, name)

    def _is_assertion(self, index: int) -> bool:
        """Whether the function called at ``index`` is one that tests assert with."""
        if self.is_text(index - 1, b"."):
            return self.tokens[index - 2].text in self._receivers
        return self.is_text(index, b"assert") or self.tokens[index].text in self._imported

    def _of_assertion(self, call: Call, name: bytes) -> Iterator[Edit]:
        """``assert.equal(a, b)``, ``t.ok(a)`` and similar calls."""
        if name in TRUTHS:
            yield self.negated(call.given[0], holds=name not in UNTRUTHS)
        elif name in THROWING and (name == b"throws" or self._is_awaited(call.name)):
            yield self._renamed(call, THROWING[name], EXCEPTION)
        elif name in self._opposites:
            yield self._renamed(call, self._opposites[name], NEGATION)
        if name in EQUALITIES and len(call.given) > 1:
            yield from self._of_expected(call.given[1])

    def _renamed(self, call: Call, name: bytes, kind: str) -> Edit:
        is_method = self.is_text(call.name - 1, b".")
        return self.edit((call.name, call.name), name if is_method else b"require('node:assert')." + name, kind)

    def _of_chain(self, index: int, call: Call | None) -> Iterator[Edit]:
        """``expect(x).toBe(y)``, ``expect(x).to.equal(y)``, ``x.should.be.true`` and similar calls."""
        name = self.tokens[index].text
        if call is None:
            if name in PROPERTIES and not self.is_text(index + 1, b"."):
                yield self._negated(index, NEGATION)
            return
        if name.startswith(b"toThrow") or name in CHAINED_THROWS:
            yield self._negated(index, EXCEPTION)
        elif name.startswith(b"to") or name in CHAINED:
            yield self._negated(index, NEGATION)
        if call.given and self._negation(index) is None:
            if name in MATCHERS | CHAINED_VALUES:
                yield from self._of_expected(call.given[0])
            elif name in CONTAINING:
                yield self._wrapped(call.given[0])

    def _negated(self, index: int, kind: str) -> Edit:
        """``not`` added before the last part of a chain, or removed from the chain."""
        negation = self._negation(index)
        return self.before(index, b"not.", kind) if negation is None else self.edit((negation, negation + 1), b"", kind)

    def _negation(self, index: int) -> int | None:
        """The token ``not`` in the chain before ``index``."""
        while self.is_text(index - 1, b"."):
            index -= 2
            if self.is_text(index, b"not"):
                return index
        return None

    def _of_expected(self, span: Span) -> Iterator[Edit]:
        if not self.is_text(span[0], b"."):  # arguments that are spread
            yield self._wrapped(span)
            yield from self.literals(span)

    def _wrapped(self, span: Span) -> Edit:
        word = self.draw.word(self.tokens[span[0]].start)
        return self.edit(span, b"{ %s: %s }" % (word, self.text(span)), FORM)

    def _is_expectation(self, index: int) -> bool:
        """Whether the name at ``index`` belongs to a chain that begins with ``expect(...)`` or has ``should``."""
        while self.is_text(index - 1, b"."):
            index -= 2
            if self.is_text(index, b"should"):
                return True
            if self.is_text(index, b")"):
                index = self.openings[index] - 1
                if self.is_text(index, b"expect", b"should"):
                    return True
        return False

    def _added(self, index: int) -> Iterator[Edit]:
        """An assertion that cannot hold, before a statement that makes one."""
        token = self.tokens[index]
        if not self.starts_statement(index):
            return
        word = self.draw.word(token.start)
        wrong = word, len(word) + self.draw.number(token.start)
        if token.text == b"expect":
            yield self.before(index, b"expect('%s'.length).toBe(%d); " % wrong, ASSERTION)
        elif token.text == b"assert" and self.is_text(index + 1, b"("):
            yield self.before(index, b"assert('%s'.length === %d); " % wrong, ASSERTION)
        elif token.text in self._receivers and self.is_text(index + 1, b".") and self._asserts(index + 2):
            yield self.before(index, b"%s.equal('%s'.length, %d); " % (token.text, *wrong), ASSERTION)

    def _asserts(self, index: int) -> bool:
        return self.is_text(index, *EQUALITIES, *TRUTHS, *THROWING, *self._opposites)
