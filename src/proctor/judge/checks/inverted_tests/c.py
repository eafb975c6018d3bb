"""Edits of C tests: Unity, Check, cmocka, CUnit, and plain ``assert``.

A test is a function, or what a macro such as ``START_TEST`` makes one. Unity names the expected value first, the others
second. Both sides of a comparison of numbers are altered, since two equal values differ once something is added to one.
A text replaces the expected side only: it would not depend on the code under test in place of the actual one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    EXPECTATION,
    FORM,
    NEGATION,
    Block,
    Edit,
    ReplacementValues,
    kinds_of,
)
from proctor.judge.checks.inverted_tests.c_like_source import NUMBER, STRING, Call, Source, Span, Token, tokens

SUFFIXES = (b".c", b".cc", b".cpp", b".cxx")

DEFINING = frozenset((b"START_TEST", b"TEST", b"TEST_F", b"TEST_P", b"TEST_CASE"))
"""Macros that define a test, whose name is their last argument."""

_PAIRS = {
    b"TEST_ASSERT_TRUE": b"TEST_ASSERT_FALSE",
    b"TEST_ASSERT_NULL": b"TEST_ASSERT_NOT_NULL",
    b"TEST_ASSERT": b"TEST_ASSERT_FALSE",
    b"TEST_ASSERT_UNLESS": b"TEST_ASSERT",
    b"assert_true": b"assert_false",
    b"assert_null": b"assert_non_null",
    b"assert_int_equal": b"assert_int_not_equal",
    b"assert_float_equal": b"assert_float_not_equal",
    b"assert_string_equal": b"assert_string_not_equal",
    b"assert_memory_equal": b"assert_memory_not_equal",
    b"assert_ptr_equal": b"assert_ptr_not_equal",
    b"ck_assert_ptr_null": b"ck_assert_ptr_nonnull",
    b"ck_assert_int_eq": b"ck_assert_int_ne",
    b"ck_assert_uint_eq": b"ck_assert_uint_ne",
    b"ck_assert_str_eq": b"ck_assert_str_ne",
    b"ck_assert_ptr_eq": b"ck_assert_ptr_ne",
    b"CU_ASSERT_TRUE": b"CU_ASSERT_FALSE",
    b"CU_ASSERT_EQUAL": b"CU_ASSERT_NOT_EQUAL",
    b"CU_ASSERT_PTR_NULL": b"CU_ASSERT_PTR_NOT_NULL",
    b"CU_ASSERT_STRING_EQUAL": b"CU_ASSERT_STRING_NOT_EQUAL",
}
OPPOSITES = {**{opposite: name for name, opposite in _PAIRS.items()}, **_PAIRS}
TRUTHS = frozenset((b"assert", b"ck_assert", b"g_assert", b"CHECK", b"REQUIRE", b"CU_ASSERT"))
CONDITIONS = TRUTHS | frozenset((b"TEST_ASSERT_TRUE", b"TEST_ASSERT", b"assert_true", b"CU_ASSERT_TRUE"))
"""What passes where a condition holds, so that each side of a comparison in it is an expectation."""

NUMBERS = re.compile(
    rb"TEST_ASSERT_EQUAL(?:_(?:INT|UINT|HEX|CHAR|INT8|INT16|INT32|INT64|UINT8|UINT16|UINT32|UINT64|HEX8|HEX16|HEX32|"
    rb"HEX64|size_t))?(?:_MESSAGE)?\Z"
    rb"|assert_(?:int|uint)_equal\Z|ck_assert_u?int_eq\Z|CU_ASSERT_EQUAL\Z"
)
"""Numbers that are compared exactly."""
FLOATS = re.compile(rb"TEST_ASSERT_EQUAL_(?:FLOAT|DOUBLE)(?:_MESSAGE)?\Z|ck_assert_(?:float|double)_eq\Z")
"""Numbers that are compared with a relative tolerance; an edit must change them by more than that."""
WIDE = re.compile(rb"TEST_ASSERT_EQUAL(?:_(?:INT|UINT|INT64|UINT64|size_t))?\Z")
"""Macros of Unity that compare like ``==``, and not only the last bits of two numbers."""
STRINGS = re.compile(
    rb"TEST_ASSERT_EQUAL_STRING(?:_MESSAGE)?\Z|assert_string_equal\Z|ck_assert_str_eq\Z|CU_ASSERT_STRING_EQUAL\Z"
)
_COMPARING = (b"strcmp", b"strncmp", b"memcmp", b"strcasecmp")
_KEYWORDS = frozenset((b"if", b"for", b"while", b"switch", b"return", b"sizeof"))
_IN_SIDES = frozenset((b"(", b"[", b".", b"->", b"*", b"/", b"%", b"+", b"-", b"=="))
"""The punctuation of a comparison that is a whole condition."""
_LETTER = re.compile(rb"'[A-Za-z]'")
_CONDITIONAL = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b", re.MULTILINE)
_UNITY, _FEW = b"TEST_ASSERT", 3


def blocks(data: bytes, draw: ReplacementValues) -> tuple[Block, ...]:
    """Every function of a file, with the edits that invert what it asserts."""
    return tuple(_Reader(data, tokens(data, directives=True), draw).functions())


class _Reader(Source):
    def __init__(self, data: bytes, several: tuple[Token, ...], draw: ReplacementValues) -> None:
        super().__init__(data, several, draw)
        self._is_unity = _UNITY in data

    def functions(self) -> Iterator[Block]:
        """The functions that are defined here."""
        index = 0
        while index < len(self.tokens):
            call = self.call_at(index)
            if call is not None and self.is_text(call.end + 1, b"{") and call.end + 1 in self.ends:
                index = self.ends[call.end + 1]
                yield self._block(call, index)
            index += 1

    def _block(self, call: Call, end: int) -> Block:
        inside = list(self.certain(call.end, end))
        edits = [edit for index in inside for edit in self._edits(index)]
        if len(edits) < _FEW or len(kinds_of(edits)) < 2:
            edits += [edit for index in inside for edit in self._added(index)]
        start = self.tokens[call.end].end
        edits = [edit for edit in edits if not self._is_optional(edit, start)]
        calls = frozenset(_name(self.tokens[index]) for index in inside if self.call_at(index) is not None)
        names = [_name(self.tokens[call.name])]
        if self.tokens[call.name].text in DEFINING and call.given:
            names = [_name(self.tokens[last]) for _, last in call.given]
        mentions = frozenset(_name(self.tokens[index]) for index in range(call.end, end))
        return Block(names[-1], tuple(names[:-1]), tuple(dict.fromkeys(edits)), calls, mentions)

    def _branch_after(self, index: int) -> Span | None:
        """A branch, also that of a macro for loops such as ``LIST_FOREACH(one, list) { ... }``."""
        found, call = super()._branch_after(index), self.call_at(index)
        is_macro = call is not None and self.tokens[index].text not in _KEYWORDS
        if found is None and call is not None and is_macro and self.is_text(call.end + 1, b"{"):
            return call.end + 1, self.ends.get(call.end + 1, call.end + 1)
        return found

    def _is_optional(self, edit: Edit, start: int) -> bool:
        """Whether the preprocessor may leave out the place of ``edit``, by a condition within the function."""
        depth = 0
        for found in _CONDITIONAL.finditer(self.data, start, edit.start):
            depth = max(0, depth + (-1 if found[1] == b"endif" else 1))
        return depth > 0

    def _edits(self, index: int) -> Iterator[Edit]:
        call = self.call_at(index)
        if call is None or not call.given:
            return
        name, first = self.tokens[index].text, call.given[0]
        bare = name.removesuffix(b"_MESSAGE")
        if bare in OPPOSITES:
            yield self.edit((index, index), OPPOSITES[bare] + name[len(bare) :], NEGATION)
        elif name in TRUTHS:
            yield self.negated(first)
        if bare in CONDITIONS:
            for span in self._conjuncts(first):
                yield from self._of_condition(span)
        elif len(call.given) > 1 and NUMBERS.match(name):
            yield from self._of_numbers(call, b"%s + %d")
            if WIDE.match(name):
                sides = tuple(map(self._operand, call.given[:2]))
                yield self.edit((call.name, call.end), b"TEST_ASSERT_FALSE(%s == %s)" % sides, NEGATION)
        elif len(call.given) > 1 and FLOATS.match(name):
            yield from self._of_numbers(call, b"%s * 3 + %d")
        elif len(call.given) > 1 and STRINGS.match(name):
            yield from self._of_strings(call)
            expected = self._expected_string(call)
            word = self.draw.word(self.tokens[expected[0]].start)
            yield self.edit(expected, b'"' + word + b'"', EXPECTATION)

    def _of_numbers(self, call: Call, other: bytes) -> Iterator[Edit]:
        for span in call.given[:2]:
            yield self._other_number(span, other)

    def _other_number(self, span: Span, other: bytes) -> Edit:
        """Another literal for a literal; anything else becomes part of the sum ``other``."""
        if self.is_text(span[0], b"-") and span[0] + 1 == span[1] and self.tokens[span[1]].kind == NUMBER:
            span = (span[1], span[1])
        token = self.tokens[span[0]]
        is_single = span[0] == span[1]
        if is_single and token.kind == NUMBER:
            return self.edit(span, self.draw.other_number(token.text, token.start), EXPECTATION)
        if is_single and _LETTER.fullmatch(token.text):
            return self.edit(span, self.draw.other_string(token.text, token.start), EXPECTATION)
        return self.edit(span, other % (self._operand(span), self.draw.number(token.start)), FORM)

    def _operand(self, span: Span) -> bytes:
        text = self.text(span)
        return text if self.is_operand(span) else b"(" + text + b")"

    def _expected_string(self, call: Call) -> Span:
        """The side of a comparison of strings that is the expected one: the only literal, or what is usual."""
        literals = [span for span in call.given[:2] if self.tokens[span[0]].kind == STRING]
        usual = call.given[0 if self.tokens[call.name].text.startswith(_UNITY) else 1]
        return literals[0] if len(literals) == 1 else usual

    def _of_strings(self, call: Call) -> Iterator[Edit]:
        """The strings that are one side of a comparison, altered."""
        for span in call.given[:2]:
            if self.tokens[span[0]].kind == STRING:
                yield from self.literals(span)

    def _conjuncts(self, span: Span) -> Iterator[Span]:
        """The parts of a condition that must all hold."""
        first = index = span[0]
        while index <= span[1]:
            if self.is_text(index, b"&&"):
                yield first, index - 1
                first = index + 1
            index = self.ends.get(index, index) + 1
        yield first, span[1]

    def _of_condition(self, span: Span) -> Iterator[Edit]:
        """The right side of ``a == b``, and strings that must be equal to something: ``!strcmp(a, "b")``."""
        if self.is_text(span[0], b"!"):
            compared = self._compared(span[0] + 1, span[1])
            yield from self._of_strings(compared) if compared is not None else ()
            return
        found = self.marks(span)
        equal = [index for index in found if self.is_text(index, b"==")]
        marks = {self.tokens[index].text for index in found}
        if len(equal) != 1 or not span[0] < equal[0] < span[1] or marks - _IN_SIDES:
            return
        left, right = (span[0], equal[0] - 1), (equal[0] + 1, span[1])
        compared = self._compared(*left) or self._compared(*right)
        if compared is not None:
            yield from self._of_strings(compared)
        elif not self.tokens[right[0]].text.startswith((b'"', b"NULL")):
            yield self._other_number(right, b"%s + %d")

    def _compared(self, first: int, last: int) -> Call | None:
        """The comparison of strings that goes from the token ``first`` to ``last``."""
        call = self.call_at(first) if self.is_text(first, *_COMPARING) else None
        return call if call is not None and call.end == last else None

    def _added(self, index: int) -> Iterator[Edit]:
        """An assertion that cannot hold, before a statement that calls something."""
        token = self.tokens[index]
        if token.text in _KEYWORDS or not self.starts_statement(index) or self.call_at(index) is None:
            return
        low = 1000 + 13 * self.draw.number(token.start)
        high = low + self.draw.number(token.end)
        if self._is_unity:
            yield self.before(index, b"TEST_ASSERT_EQUAL_INT(%d, %d); " % (low, high), ASSERTION)
        elif token.text in TRUTHS:
            yield self.before(index, b"%s(%d == %d); " % (token.text, low, high), ASSERTION)
        elif NUMBERS.match(token.text):
            yield self.before(index, b"%s(%d, %d); " % (token.text, low, high), ASSERTION)


def _name(token: Token) -> str:
    return token.text.decode(errors="replace").strip('"')
