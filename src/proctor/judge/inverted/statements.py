"""The parts of a Python test that run whenever the test passes. Pure.

An expectation in a branch may apply only to the reference. Another correct solution may take another branch and would
then pass the altered test. So edits are made only in statements that every passing run reaches. The body of a loop is
such a branch, unless the loop goes over a literal that is not empty: another solution may return nothing to go over.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef

RAISING = frozenset(
    ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage", "assert_raises")
)
_SWALLOWING = RAISING | {"suppress"}
_SOUNDS_SWALLOWING = re.compile(
    "suppress|swallow|ignor|quiet|silenc|mute|safe|retr|tolera|forgiv|rais|expect|fail|error", re.IGNORECASE
)
"""Names of contexts that may end their body at an exception without failing."""
_ON_ITSELF = ("self", "cls")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPOUND = (*_LOOPS, ast.If, ast.Try, ast.TryStar, ast.Match, ast.With, ast.AsyncWith)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def called_name(call: ast.Call) -> str:
    """The last part of the name of the called function."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def expecting_name(call: ast.Call) -> str:
    """The name of a call that expects an exception or a warning; empty where that is another object's method.

    ``FakeStore().raises(KeyError)`` says what a test double is to do: its argument is an input.
    """
    name = called_name(call)
    if isinstance(call.func, ast.Name) or name.startswith("assert_"):
        return name
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    known = ("pytest",) if name in ("raises", "warns") else _ON_ITSELF
    return name if isinstance(receiver, ast.Name) and receiver.id in known else ""


def certain_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes in ``function`` that every passing run reaches, in the order of the source.

    A nested function is reached where one of these nodes calls it by its name.
    """
    called = _called_functions(function)
    waiting: list[ast.AST] = list(reversed(certain_statements(function.body)))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            inner: Sequence[ast.AST] = certain_statements(node.body) if node in called else ()
        else:
            inner = _inner(node)
        waiting += reversed(inner)


def _called_functions(function: Function) -> set[Function]:
    """The nested functions that every passing run calls. Of two with the same name, neither is certain.

    A decorator may call a function later, or not at all.
    """
    nested = [node for node in ast.walk(function) if isinstance(node, Function) and node is not function]
    count = Counter(node.name for node in nested)
    plain = [node for node in nested if not is_generator(node) and not node.decorator_list]
    by_name = {node.name: node for node in plain if count[node.name] == 1}
    found: set[Function] = set()
    awaited = set(_awaited(function))
    waiting: list[ast.AST] = list(certain_statements(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            callee = by_name.get(node.func.id)
            runs = not isinstance(callee, ast.AsyncFunctionDef) or node in awaited
            if callee is not None and callee not in found and runs:
                found.add(callee)
                waiting += certain_statements(callee.body)
        waiting += () if isinstance(node, Function) else _inner(node)
    return found


def _awaited(function: Function) -> Iterator[ast.expr]:
    """The calls of ``function`` whose coroutines certainly run: awaited, or given to what runs them."""
    for node in ast.walk(function):
        if isinstance(node, ast.Await):
            yield node.value
        elif isinstance(node, ast.Call) and called_name(node) in ("run", "run_until_complete"):
            yield from node.args


def is_generator(function: Function) -> bool:
    """Whether a call of ``function`` runs nothing yet."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return False


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
        body = certain_statements(node.body) if isinstance(node, ast.For) and _is_filled(node.iter) else ()
        return (node.target, node.iter, *body)
    if isinstance(node, ast.GeneratorExp) or (isinstance(node, _COMPREHENSIONS) and not _runs_element(node)):
        return (node.generators[0].iter,)
    if isinstance(node, ast.Try | ast.TryStar):
        return (
            *(() if node.handlers else certain_statements((*node.body, *node.orelse))),
            *certain_statements(node.finalbody),
        )
    if isinstance(node, ast.With | ast.AsyncWith):
        return (*node.items, *(() if _swallows(node) else certain_statements(node.body)))
    if isinstance(node, ast.Match):
        return (node.subject,)
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    return () if isinstance(node, ast.ClassDef | ast.Lambda) else tuple(ast.iter_child_nodes(node))


def _runs_element(node: ast.ListComp | ast.SetComp | ast.DictComp) -> bool:
    """Whether a comprehension computes at least one element."""
    return all(_is_filled(one.iter) and not one.ifs for one in node.generators)


def _is_filled(node: ast.expr) -> bool:
    """Whether an expression is seen to have at least one element: a literal, or a ``range`` of literals."""
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            return any(not isinstance(one, ast.Starred) for one in node.elts)
        case ast.Dict():
            return any(key is not None for key in node.keys)
        case ast.Constant(value=str() | bytes() as value):
            return bool(value)
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            bounds = [one.value for one in args if isinstance(one, ast.Constant) and isinstance(one.value, int)]
            is_valid = 0 < len(bounds) == len(args) <= 3 and all(bounds[2:])
            return is_valid and bool(range(*bounds))
    return False


def _swallows(node: ast.With | ast.AsyncWith) -> bool:
    """Whether an exception in the body may be what the test expects."""
    names = [called_name(one) for item in node.items if isinstance(one := item.context_expr, ast.Call)]
    return any(name in _SWALLOWING or _SOUNDS_SWALLOWING.search(name) for name in names)
