"""Edits of Python tests, by syntax tree: ``assert``, the methods of unittest and mock, contexts that expect exceptions.

Only the span that an edit names is replaced, so that the rest of the file, its lines and its formatting stay as they
are. Literals are altered where they are the expectation of an assertion, never inside a call, whose arguments are
inputs. Files that do not parse have no edits.
"""

from __future__ import annotations

import ast
import builtins
import io
import math
import re
import tokenize
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from proctor.judge.checks.inverted_tests.assertion_edits import (
    ASSERTION,
    CALL,
    EXCEPTION,
    EXPECTATION,
    FORM,
    NEGATION,
    Block,
    Edit,
    ReplacementValues,
    kinds_of,
)
from proctor.judge.checks.inverted_tests.python_alterable_parts import (
    RAISING,
    Function,
    Value,
    called_name,
    certain_nodes,
    certain_statements,
    expecting_name,
    is_generator,
    module_constants,
    table_values,
    uses,
)

SUFFIXES = (b".py",)

_OPPOSITES = {
    "assertEqual": "assertNotEqual",
    "assertTrue": "assertFalse",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertIsInstance": "assertNotIsInstance",
    "assertRegex": "assertNotRegex",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertGreater": "assertLessEqual",
    "assertLess": "assertGreaterEqual",
    "assert_called": "assert_not_called",
    "assert_awaited": "assert_not_awaited",
}
OPPOSITES = {
    **_OPPOSITES,
    **{opposite: name for name, opposite in _OPPOSITES.items()},
    **dict.fromkeys(
        ("assertMultiLineEqual", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual"),
        "assertNotEqual",
    ),
    "assertEquals": "assertNotEqual",
    "assert_called_once": "assert_not_called",
    "assert_awaited_once": "assert_not_awaited",
}
"""The opposite of each assertion. Equality that ignores order or type has no opposite here."""
EQUALITIES = frozenset(
    (
        *("assertEqual", "assertEquals", "assertMultiLineEqual", "assertSequenceEqual", "assertListEqual"),
        *("assertTupleEqual", "assertSetEqual", "assertDictEqual", "assertCountEqual"),
        *("assert_equal", "assert_equals", "eq_", "assert_array_equal", "assert_frame_equal", "assert_series_equal"),
    )
)
APPROXIMATE = frozenset(
    (
        *("assertAlmostEqual", "assertAlmostEquals", "assert_allclose", "assert_almost_equal"),
        *("assert_array_almost_equal", "assert_approx_equal"),
    )
)
"""Another number could be within the tolerance, so only the whole expectation is altered."""
CALLED_WITH = frozenset(
    (
        *("assert_called_with", "assert_called_once_with", "assert_any_call"),
        *("assert_awaited_with", "assert_awaited_once_with", "assert_any_await"),
    )
)
TEXT_CALLS = frozenset(("str", "repr", "format", "join", "decode", "getvalue", "read_text", "lower", "strip"))
TEXT_ATTRIBUTES = frozenset(("output", "text", "out", "err", "stdout", "stderr", "message", "msg"))
"""What gives a text: only there another text is certainly not contained."""
WARNING = frozenset(("warns", "assertWarns", "assertWarnsRegex", "assertWarnsMessage"))

UNRAISED = (
    b"BufferError",
    b"EOFError",
    b"FloatingPointError",
    b"MemoryError",
    b"RecursionError",
    b"StopAsyncIteration",
)
"""Exceptions that hardly any code raises. One that the test expects, or a subclass of it, is not used there."""
DERIVED = (b"BufferError", b"EOFError", b"MemoryError", b"RecursionError")
"""Those of which projects derive exceptions of their own."""
USUAL = (b"ValueError", b"TypeError", b"KeyError", b"RuntimeError")
"""What a call that may not raise anything is expected to raise."""
UNWARNED = (b"BytesWarning", b"UnicodeWarning", b"ImportWarning")

_FEW = 3
"""A test with fewer edits than this is given assertions that cannot hold, and its plain calls must raise."""

_OPERATORS = {
    b"==": b"!=",
    b"!=": b"==",
    b"<": b">=",
    b">=": b"<",
    b">": b"<=",
    b"<=": b">",
    b"in": b"not in",
    b"not in": b"in",
    b"is": b"is not",
    b"is not": b"is",
}
_OPERATOR = re.compile(rb"[\s()\\]*(==|!=|<=|>=|<|>|not +in|in|is +not|is)[\s()\\]*")
"""What can be between the sides of a comparison; a comment is not looked through."""
_LOOSER = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""Expressions that need brackets after ``not``."""
_SINGLETONS: dict[object, bytes] = {None: b"True", True: b"False", False: b"True"}

_BOM = b"\xef\xbb\xbf"
_IMPORTS_PYTEST = re.compile(rb"^import pytest\b", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SUSPENDING = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def called_by_module(data: bytes) -> frozenset[str]:
    """The functions that a file calls by itself when it is run or imported."""
    tree = _parsed(data)
    waiting: list[ast.AST] = list(tree.body) if tree else []
    found = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def blocks(data: bytes, draw: ReplacementValues, *, by_pytest: bool = True) -> tuple[Block, ...]:
    """Every function of a file and every method of its test classes, with the edits that invert it."""
    tree = _parsed(data)
    if tree is None:
        return ()
    source = _Source(tree, data, draw, by_pytest)
    found = tuple(_functions(tree, ()))
    count = Counter((around, function.name) for function, around in found)
    return tuple(source.block(function, around, count[around, function.name] == 1) for function, around in found)


def _parsed(data: bytes) -> ast.Module | None:
    """The syntax tree of a file in UTF-8; nothing for one that cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if data.isascii() or encoding.startswith("utf-8") else None


def _functions(node: ast.AST, around: tuple[str, ...]) -> Iterator[tuple[Function, tuple[str, ...]]]:
    """The functions of a module and the methods of its test classes, at any depth of classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child, around
        elif isinstance(child, ast.ClassDef) and _holds_tests(child):
            yield from _functions(child, (*around, child.name))
        elif isinstance(child, ast.If | ast.Try):
            yield from _functions(child, around)


def _holds_tests(node: ast.ClassDef) -> bool:
    """Whether a class holds tests, and is not a test double that the code under test uses."""
    methods = (inner.name for inner in ast.walk(node) if isinstance(inner, Function))
    return "Test" in node.name or any(name.startswith("test") for name in methods)


class _Source:
    """A file that is looked through; turns places of the syntax tree into offsets."""

    def __init__(self, tree: ast.Module, data: bytes, draw: ReplacementValues, by_pytest: bool) -> None:
        self.data = data
        self.draw = draw
        self.by_pytest = by_pytest
        self._imports_pytest = _IMPORTS_PYTEST.search(data) is not None
        self._constants = module_constants(tree)
        self._values: Mapping[str, Sequence[Value]]
        first = len(_BOM) if data.startswith(_BOM) else 0
        self._starts = [first, *(match.end() for match in _LINE_END.finditer(data))]

    def block(self, function: Function, around: tuple[str, ...], alone: bool = True) -> Block:
        """The test that ``function`` is. One that is defined twice may be the other, and a generator may not run."""
        mentions = frozenset(_mentioned(function))
        if not alone or is_generator(function):
            return Block(function.name, around, (), frozenset(), mentions)
        self._values = {**_assigned_once(function), **table_values(function, self._constants)}
        nodes = tuple(certain_nodes(function))
        edits = [edit for node in nodes for edit in self._edits(node)]
        if len(edits) < _FEW:
            edits += [edit for node in nodes for edit in self._of_statement(node, function)]
        if len(edits) < _FEW or len(kinds_of(edits)) < 2:
            edits += self._assertions(function)
        calls = frozenset(_helpers(nodes))
        is_decorated = bool(function.decorator_list)
        return Block(function.name, around, tuple(dict.fromkeys(edits)), calls, mentions, is_decorated)

    def _edits(self, node: ast.AST) -> Iterator[Edit]:
        if isinstance(node, ast.Assert):
            yield self._negated(node.test)
            if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
                yield from self._of_comparison(node.test)
        elif isinstance(node, ast.withitem):
            if isinstance(node.context_expr, ast.Call) and expecting_name(node.context_expr) in RAISING:
                yield self._edit(node.context_expr, b"open(__file__)", NEGATION)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node, called_name(node))

    def _negated(self, test: ast.expr) -> Edit:
        """The opposite of a condition, in the usual form."""
        start, end = self._span(test)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            first = self._span(test.left)[1]
            found = _OPERATOR.fullmatch(self.data, first, self._span(test.comparators[0])[0])
            if found:
                new = _OPERATORS[b" ".join(found[1].split())]
                return Edit(found.start(1), found.end(1), new, NEGATION, self._line(found.start(1)))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return Edit(start, end, self.data[start + len(b"not") : end].lstrip(), NEGATION, test.lineno)
        text = self._text(test)
        return self._edit(test, b"not (" + text + b")" if isinstance(test, _LOOSER) else b"not " + text, NEGATION)

    def _of_comparison(self, node: ast.Compare) -> Iterator[Edit]:
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if isinstance(operator, ast.Eq):
            yield from self._of_equality(left, right)
        elif isinstance(operator, ast.Is) and isinstance(right, ast.Constant):
            yield self._edit(right, _SINGLETONS.get(right.value, b"None"), EXPECTATION)
        elif isinstance(operator, ast.In) and _is_text(right):
            yield from self._of_member(left)

    def _of_equality(self, left: ast.expr, right: ast.expr) -> Iterator[Edit]:
        """Another value for the side that is expected, and each literal in it altered."""
        expected = left if self._is_value(left) and not self._is_value(right) else right
        yield self._wrapped(expected)
        if "approx" in (_called(left), _called(right)):
            return  # another number may be within the tolerance
        named = self._values.get(expected.id) if isinstance(expected, ast.Name) else None
        for value in (Value(expected),) if named is None else named:
            yield from self._of_value(value)

    def _of_value(self, value: Value) -> Iterator[Edit]:
        """Each literal of a value altered; in a case of a parametrised test, with the case."""
        start, end = self._span(value.node)
        for edit in self._literals(value.node):
            after = self.data[start : edit.start] + edit.new + self.data[edit.end : end]
            case = value.case_after(after.decode()) if value.parts else None
            if case or not value.parts:
                yield replace(edit, case=case)

    def _wrapped(self, expected: ast.expr) -> Edit:
        text = self._text(expected)
        if isinstance(expected, ast.Yield | ast.YieldFrom):
            text = b"(" + text + b")"
        return self._edit(expected, b'(%s, "%s")' % (text, self._word(expected)), FORM)

    def _of_member(self, node: ast.expr) -> Iterator[Edit]:
        """A string or bytes that must be in something: another number or constant may be in it too."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes):
            return
        new = self._verified(node, self.draw.longer_string)
        if new:
            yield self._edit(node, new, FORM)

    def _is_value(self, node: ast.expr) -> bool:
        """Whether an expression holds what the test itself says, and nothing that the code under test gave."""
        if isinstance(node, ast.Name):
            return node.id in self._values
        return _is_plain(node) and not isinstance(node, ast.Attribute)

    def _literals(self, node: ast.expr) -> Iterator[Edit]:
        for part in _constant_parts(node):
            for inner in ast.walk(part):
                if isinstance(inner, ast.Constant) and (new := self._other(inner)):
                    yield self._edit(inner, new, EXPECTATION)

    def _other(self, node: ast.Constant) -> bytes:
        """The source of a constant of the same type and another value."""
        value = node.value
        if isinstance(value, bool) or value is None:
            return repr(not value).encode()
        if isinstance(value, int | float):
            return self._verified(node, self.draw.other_number)
        return self._verified(node, self.draw.other_string) if isinstance(value, str | bytes) else b""

    def _verified(self, node: ast.Constant, alter: Callable[[bytes, int], bytes]) -> bytes:
        """The source of a literal after ``alter``; where that has the old value or none, ``repr`` is altered instead.

        Adjacent string literals, and comments between them, are not taken apart. Where ``alter`` makes no other value,
        such as for a float that is infinite, the source is empty.
        """
        value, place = node.value, self._span(node)[0]
        new = alter(self._text(node), place)
        if _is_other(new, value):
            return new
        if isinstance(value, float) and not math.isfinite(value):
            return b""
        new = alter(repr(value).encode(), place)
        return new if _is_other(new, value) else b""

    def _of_call(self, call: ast.Call, name: str) -> Iterator[Edit]:
        """``self.assertEqual(a, b)``, ``pytest.raises(...)``, ``mock.assert_called_with(...)`` and similar calls."""
        if expecting_name(call) in RAISING | WARNING:
            yield from self._of_exception(call, name)
        if name in OPPOSITES and isinstance(call.func, ast.Attribute):
            end = self._span(call.func)[1]
            line = call.func.end_lineno or call.lineno
            yield Edit(end - len(name), end, OPPOSITES[name].encode(), NEGATION, line)
        if name in CALLED_WITH and isinstance(call.func, ast.Attribute) and not _is_on_self(call.func):
            start = self.data.index(b"(", self._span(call.func)[1]) + 1
            yield Edit(start, start, b'"%s", ' % self._word(call), FORM, call.lineno)
            values = (*call.args, *(one.value for one in call.keywords))
            for expected in values if "_any_" not in name else ():  # there may be another call with another value
                yield from self._literals(expected)
        if len(call.args) < 2 or any(isinstance(one, ast.Starred) for one in call.args):
            return
        if name in EQUALITIES:
            yield from self._of_equality(call.args[0], call.args[1])
        elif name in APPROXIMATE:
            yield self._wrapped(call.args[1])
        elif name == "assertIn" and _is_text(call.args[1]):
            yield from self._of_member(call.args[0])

    def _of_exception(self, call: ast.Call, name: str) -> Iterator[Edit]:
        """Another exception or warning is expected, or another message."""
        if call.args and not isinstance(call.args[0], ast.Starred):
            others = _unexpected(UNWARNED if name in WARNING else UNRAISED, call.args[0])
            if others:
                yield self._edit(call.args[0], self.draw.choice(self._span(call)[0], others), EXCEPTION)
        matched = [one.value for one in call.keywords if one.arg == "match"]
        for node in call.args[1:2] if name.endswith(("Regex", "Regexp", "Message")) else matched:
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and (name.endswith("Message") or b"|" not in self._text(node)):
                yield from self._of_member(node)

    def _of_statement(self, node: ast.AST, function: Function) -> Iterator[Edit]:
        """A plain call, which may not raise in a test that passes, is expected to raise."""
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call) or not _fits_lambda(node.value):
            return
        if self.by_pytest:
            raises = b"pytest.raises" if self._imports_pytest else b'__import__("pytest").raises'
        elif function.args.args and function.args.args[0].arg == "self":
            raises = b"self.assertRaises"
        else:
            return
        other = self.draw.choice(self._span(node.value)[0], USUAL)
        yield self._edit(node.value, b"%s(%s, lambda: %s)" % (raises, other, self._text(node.value)), CALL)

    def _assertions(self, function: Function) -> Iterator[Edit]:
        """An assertion that cannot hold before each statement of the body, up to three."""
        for statement in certain_statements(function.body)[:_FEW]:
            first = min((one.lineno for one in getattr(statement, "decorator_list", ())), default=statement.lineno)
            offset = self._starts[first - 1]
            margin = self.data[offset : self._starts[statement.lineno - 1] + statement.col_offset]
            if first != statement.lineno:
                margin = margin[: len(margin) - len(margin.lstrip())]
            if statement.lineno == function.lineno or margin.strip():
                continue
            word = self.draw.word(offset)
            text = b'%sassert len("%s") == %d\n' % (margin, word, len(word) + self.draw.number(offset))
            yield Edit(offset, offset, text, ASSERTION, first)

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def _word(self, node: ast.expr) -> bytes:
        return self.draw.word(self._span(node)[0])

    def _edit(self, node: ast.expr, new: bytes, kind: str) -> Edit:
        return Edit(*self._span(node), new, kind, node.lineno)

    def _text(self, node: ast.expr) -> bytes:
        start, end = self._span(node)
        return self.data[start:end]

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset


def _assigned_once(function: Function) -> dict[str, tuple[Value]]:
    """The names that are given a plain value once and are used once: where a test compares with them."""
    used = uses(function)
    return {
        node.targets[0].id: (Value(node.value),)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and used[node.targets[0].id] == 2
        and _is_plain(node.value)
    }


def _mentioned(function: Function) -> Iterator[str]:
    """Every name in a function, of attributes too."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _called(node: ast.expr) -> str:
    return called_name(node) if isinstance(node, ast.Call) else ""


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is seen to be a text, and not a container that decides itself what is in it."""
    if isinstance(node, ast.Attribute):
        return node.attr in TEXT_ATTRIBUTES
    return isinstance(node, ast.JoinedStr) or _called(node) in TEXT_CALLS


def _helpers(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    """What a test calls by its name, and, with a dot before the name, what it calls on itself."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and _is_on_self(node.func):
            yield f".{called_name(node)}"


def _is_on_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _is_plain(node: ast.AST) -> bool:
    """Whether an expression calls nothing and awaits nothing: a value, and no result."""
    return not any(isinstance(inner, ast.Call | ast.Await | ast.Yield | ast.Subscript) for inner in ast.walk(node))


def _is_other(new: bytes, value: object) -> bool:
    """Whether the source ``new`` is a literal of the same type as ``value``, finite, and of another value."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = ast.literal_eval(f"({new.decode()})")
    except (SyntaxError, ValueError):
        return False
    if isinstance(other, float) and not math.isfinite(other):
        return False
    return type(other) is type(value) and other != value


def _unexpected(names: Sequence[bytes], expected: ast.expr) -> list[bytes]:
    """Those of the built-in exceptions ``names`` that the expression ``expected`` does not catch.

    The class of a name that is not built in is not known here: it may be derived from one of :data:`DERIVED`.
    """
    named = [node for node in ast.walk(expected) if isinstance(node, ast.Name | ast.Attribute)]
    known = [_built_in(node.id if isinstance(node, ast.Name) else node.attr) for node in named]
    caught = tuple(filter(None, known))
    others = [name for name in names if not issubclass(getattr(builtins, name.decode()), caught)]
    return others if all(known) else [name for name in others if name not in DERIVED]


def _built_in(name: str) -> type[BaseException] | None:
    """The built-in exception with this name."""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _constant_parts(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a value that are made of constants alone, so that each of them is part of what is expected."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = [part for part in (*node.keys, *node.values) if part is not None]
    else:
        allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
        if all(isinstance(inner, allowed) for inner in ast.walk(node)):
            yield node
        return
    for part in parts:
        yield from _constant_parts(part)


def _fits_lambda(call: ast.Call) -> bool:
    """Whether a call means the same in a function of its own."""
    for inner in ast.walk(call):
        if isinstance(inner, _SUSPENDING) or getattr(inner, "is_async", False):
            return False
        if isinstance(inner, ast.Name) and inner.id == "super":
            return False
    return True
