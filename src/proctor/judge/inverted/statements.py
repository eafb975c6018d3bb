"""The parts of a Python test that run whenever the test passes. Pure.

An expectation in a branch may apply only to the reference. Another correct solution may take another branch and would
then pass the altered test. So edits are made only in statements that every passing run reaches.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef

RAISING = frozenset(
    ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage", "assert_raises")
)
_SWALLOWING = RAISING | {"suppress"}
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPOUND = (*_LOOPS, ast.If, ast.Try, ast.TryStar, ast.Match, ast.With, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def called_name(call: ast.Call) -> str:
    """The last part of the name of the called function."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def certain_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes in ``function`` that every passing run reaches, in the order of the source.

    A nested function is reached where ``function`` calls it by its name.
    """
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    called = {one.id for one in calls if isinstance(one, ast.Name)}
    waiting: list[ast.AST] = list(reversed(certain_statements(function.body)))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            inner: Sequence[ast.AST] = certain_statements(node.body) if node.name in called else ()
        else:
            inner = _inner(node)
        waiting += reversed(inner)


def certain_statements(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements of ``body`` up to the first one that may leave it."""
    for index, statement in enumerate(body):
        if isinstance(statement, _COMPOUND) and _may_leave(statement):
            return body[: index + 1]
    return body


def _may_leave(statement: ast.stmt) -> bool:
    """Whether the rest after ``statement`` may be skipped; a ``break`` or ``continue`` stays within its own loop."""
    leaving = (ast.Return,) if isinstance(statement, _LOOPS) else (ast.Return, ast.Break, ast.Continue)
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, leaving):
            return True
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return False


def _inner(node: ast.AST) -> Sequence[ast.AST]:
    """The nodes that run whenever ``node`` runs."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return (node.test,)
    if isinstance(node, ast.For | ast.AsyncFor):
        return (node.target, node.iter, *certain_statements(node.body))
    if isinstance(node, ast.Try | ast.TryStar):
        return (*(() if node.handlers else certain_statements((*node.body, *node.orelse))), *node.finalbody)
    if isinstance(node, ast.With | ast.AsyncWith):
        return (*node.items, *(() if _swallows(node) else certain_statements(node.body)))
    if isinstance(node, ast.Match):
        return (node.subject,)
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    return () if isinstance(node, ast.ClassDef | ast.Lambda) else tuple(ast.iter_child_nodes(node))


def _swallows(node: ast.With | ast.AsyncWith) -> bool:
    """Whether an exception in the body may be what the test expects."""
    calls = (item.context_expr for item in node.items)
    return any(isinstance(one, ast.Call) and called_name(one) in _SWALLOWING for one in calls)
