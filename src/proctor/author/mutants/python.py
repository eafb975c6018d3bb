"""Mutants of Python source by its syntax tree; the rest of the text stays as it is.

Only what begins in one of the given lines is changed. What does not compile, or means the same (equal trees), is left
out. Text inside f-strings and docstrings is not touched.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from proctor.author.mutants.mutant import Edit

_COMPARISONS: dict[type[ast.cmpop], tuple[tuple[str, str], ...]] = {
    ast.Lt: (("<=", "boundary"), (">=", "comparison")),
    ast.LtE: (("<", "boundary"), (">", "comparison")),
    ast.Gt: ((">=", "boundary"), ("<=", "comparison")),
    ast.GtE: ((">", "boundary"), ("<", "comparison")),
    ast.Eq: (("!=", "comparison"),),
    ast.NotEq: (("==", "comparison"),),
    ast.Is: (("is not", "comparison"),),
    ast.IsNot: (("is", "comparison"),),
    ast.In: (("not in", "comparison"),),
    ast.NotIn: (("in", "comparison"),),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_LEFT_OUT = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Delete, ast.Continue, ast.Break)
_DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def python_edits(data: bytes, lines: Collection[int]) -> Iterator[Edit]:
    """Every fault that can be put into ``lines`` of the module ``data``; none where it does not parse."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return
    seen = {ast.dump(tree)}
    source = _Source(data)
    for edit in _edits(tree, source):
        meaning = _meaning(edit.apply(data)) if source.line(edit.start) in lines else ""
        if meaning and meaning not in seen:
            seen.add(meaning)
            yield edit


def means_other(data: bytes, edit: Edit) -> bool:
    """Whether an edited module compiles and differs in more than spaces and comments."""
    return _meaning(edit.apply(data)) not in ("", _meaning(data))


def _meaning(data: bytes) -> str:
    """What a module says without its spaces and comments; nothing where it does not parse."""
    try:
        return ast.dump(ast.parse(data))
    except (SyntaxError, ValueError):
        return ""


def functions_at(data: bytes, lines: Collection[int]) -> set[str]:
    """The names of the functions and methods that hold one of ``lines``."""
    return {node.name for node in _functions(data) if set(range(node.lineno, (node.end_lineno or 0) + 1)) & set(lines)}


def calling_lines(data: bytes, names: Collection[str]) -> set[int]:
    """The lines of the statements in functions that call one of ``names``."""
    found: set[int] = set()
    for function in _functions(data):
        if function.name in names:
            continue
        for statement in ast.walk(function):
            if isinstance(statement, ast.stmt) and not hasattr(statement, "body") and _calls(statement, names):
                found.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return found


def _functions(data: bytes) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _calls(statement: ast.stmt, names: Collection[str]) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names:
                return True
    return False


class _Source:
    """Offsets into a module by line and column, as the syntax tree gives them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def line(self, offset: int) -> int:
        return self.data.count(b"\n", 0, offset) + 1

    def text(self, node: ast.expr | ast.stmt) -> bytes:
        return self.data[self.start(node) : self.end(node)]

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str, category: str) -> Iterator[Edit]:
        """The operator ``old`` between two operands, changed to ``new``."""
        start, end = self.end(left), self.start(right)
        words = r"\s+".join(re.escape(word) for word in old.split())
        found = re.search(words.encode(), self.data[start:end])
        if found:
            yield Edit(start + found.start(), start + found.end(), new.encode(), category)


def _edits(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    untouched = _untouched(tree)
    for node in ast.walk(tree):
        if node in untouched:
            continue
        if isinstance(node, ast.expr):
            yield from _expression(node, source)
        elif isinstance(node, ast.stmt):
            yield from _statement(node, source)


def _untouched(tree: ast.Module) -> set[ast.AST]:
    """Docstrings, annotations and the parts of f-strings, whose positions the tree does not have."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
            found.update(ast.walk(node.body[0]))
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.JoinedStr):
            parts = list(node.values)
        elif isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns]
        for part in parts:
            if part is not None:
                found.update(ast.walk(part))
    return found


def _expression(node: ast.expr, source: _Source) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            for new, category in _COMPARISONS[type(operator)]:
                old = _SPELLING[type(operator)]
                yield from source.between(operands[index], operands[index + 1], old, new, category)
    elif isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from source.between(left, right, old, new, "boolean")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield Edit(source.start(node), source.end(node), b"(" + source.text(node.operand) + b")", "boolean")
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        old, new = _ARITHMETIC[type(node.op)]
        yield from source.between(node.left, node.right, old, new, "arithmetic")
    elif isinstance(node, ast.Constant):
        yield from _constant(node, source)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
        yield from _elements(node, source)
    elif isinstance(node, ast.IfExp):
        yield from _negated(node.test, source)


def _constant(node: ast.Constant, source: _Source) -> Iterator[Edit]:
    start, end, value = source.start(node), source.end(node), node.value
    if isinstance(value, bool):
        yield Edit(start, end, str(not value).encode(), "boolean")
    elif isinstance(value, int):
        yield Edit(start, end, str(value + 1).encode(), "boundary")
        yield Edit(start, end, b"(" + str(value - 1).encode() + b")", "boundary")
    elif isinstance(value, float):
        yield Edit(start, end, repr(value + 1).encode(), "constant")
    elif isinstance(value, str | bytes):
        other: str | bytes = value[:0] if value else ("?" if isinstance(value, str) else b"?")
        yield Edit(start, end, repr(other).encode(), "constant")


def _elements(node: ast.Tuple | ast.List | ast.Set, source: _Source) -> Iterator[Edit]:
    """Each member left out; a tuple of one keeps its comma."""
    for left_out in node.elts:
        kept = [source.text(one) for one in node.elts if one is not left_out]
        text = source.text(node)
        opening, closing = (text[:1], text[-1:]) if text[:1] in b"([{" else (b"", b"")
        inner = b", ".join(kept) + (b"," if isinstance(node, ast.Tuple) and len(kept) == 1 else b"")
        yield Edit(source.start(node), source.end(node), opening + inner + closing, "element")


def _statement(node: ast.stmt, source: _Source) -> Iterator[Edit]:
    if isinstance(node, ast.If | ast.While):
        yield from _negated(node.test, source)
    if isinstance(node, ast.Return) and node.value is not None:
        yield Edit(source.start(node), source.end(node), b"return None", "return")
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        old, new = _ARITHMETIC[type(node.op)]
        yield from source.between(node.target, node.value, old, new, "arithmetic")
    if isinstance(node, _LEFT_OUT):
        yield Edit(source.start(node), source.end(node), b"pass", "statement")


def _negated(test: ast.expr, source: _Source) -> Iterator[Edit]:
    yield Edit(source.start(test), source.end(test), b"not (" + source.text(test) + b")", "boolean")


_SPELLING: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
