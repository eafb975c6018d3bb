"""What an inverted test may alter in a Python test: statements that always run, and expected values in tables. Pure.

An expectation in a branch may apply only to the reference, so edits are made only in statements that every passing run
reaches. The body of a loop counts as a branch unless the loop iterates over a literal that is not empty.

Tables are the cases of ``parametrize`` and loops over a literal. pytest shows the values of a case in the id of its
test, so each edit of a case knows the ids before and after it. An id that is computed wrongly here does no harm:
screening drops variants that do not run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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


Named = tuple[str, "Value"]
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)
_SCALARS = (bool, int, float, complex, type(None))
_ORDER = ("argnames", "argvalues", "indirect", "ids")
_READ = {"argnames", "argvalues", "ids"}
"""With any other argument of ``parametrize`` the values may be inputs of fixtures."""
_HARMLESS = frozenset(
    (
        *("self", "tmp_path", "tmpdir", "tmp_path_factory", "tmpdir_factory", "monkeypatch", "caplog", "recwarn"),
        *("capsys", "capfd", "capsysbinary", "capfdbinary", "subtests", "mocker", "benchmark"),
    )
)
"""Arguments of tests that do not depend on the values of a case. Another fixture may take them as inputs."""
_SHOWING = re.compile(r"print|self\.subTest|subtests\.test")
"""Calls that only show their arguments."""


@dataclass(frozen=True)
class Case:
    """A case of a parametrised test after one of its values was altered.

    ``parts`` are the parts of its id before, ``None`` where the source does not show one. The part at ``place``
    becomes ``new``. ``usual`` are the parts that pytest makes of names and indices, for objects that have no text.
    """

    parts: tuple[str | None, ...]
    place: int
    new: str
    usual: tuple[str, ...] = ()

    def renamed(self, ids: Sequence[str]) -> dict[str, str]:
        """The ids of this case among ``ids``, each with the id after the edit.

        Other parameters, those of a second decorator or of a fixture, can be before and behind those of the case. With
        unknown parts an id may belong to another case: one of several is not chosen.
        """
        usual = [known if known is not None else other for known, other in zip(self.parts, self.usual, strict=False)]
        if None in self.parts:
            found = self._matching(tuple(usual), ids) if usual else {}
            found = found or self._matching(self.parts, ids)
            return found if len(found) == 1 else {}
        return self._matching(self.parts, ids)

    def _matching(self, parts: tuple[str | None, ...], ids: Sequence[str]) -> dict[str, str]:
        patterns = [".*" if part is None else re.escape(part) for part in parts]
        old = patterns[self.place]
        before, behind = "-".join((*patterns[: self.place], "")), "-".join(("", *patterns[self.place + 1 :]))
        for first, last in (("", ""), ("(?:.*-)?", "(?:-.*)?")):
            pattern = re.compile(rf"([^\[]*\[{first}{before}){old}({behind}{last}\])")
            matches = {one: pattern.fullmatch(one) for one in ids}
            found = {one: match[1] + self.new + match[2] for one, match in matches.items() if match}
            if found:
                return found
        return {}


@dataclass(frozen=True)
class Value:
    """An expression of a table, with the id of its case: empty for a loop, which has no ids.

    ``is_fixed`` says that the id does not depend on the value.
    """

    node: ast.expr
    parts: tuple[str | None, ...] = ()
    place: int = 0
    is_fixed: bool = False
    usual: tuple[str, ...] = ()

    def case_after(self, source: str) -> Case | None:
        """The case in which this value has another ``source``; ``None`` if its id cannot be computed."""
        old = self.parts[self.place]
        new = old if self.is_fixed else _shown(source)
        return None if old is None or new is None else Case(self.parts, self.place, new, self.usual)


def table_values(function: Function, constants: Mapping[str, ast.expr]) -> dict[str, tuple[Value, ...]]:
    """The values of each name that gets them from a table and is used once; ``constants`` are tables of the module."""
    used = uses(function)
    found: dict[str, list[Value]] = {}
    given = [pair for one in function.decorator_list for pair in _of_decorator(one, constants)]
    if not (_arguments(function) - _HARMLESS).difference(name for name, _ in given):
        for name, value in given:
            if used[name] == 1:
                found.setdefault(name, []).append(value)
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            for name, value in _of_loop(node):
                if used[name] == 2:
                    found.setdefault(name, []).append(value)
    return {name: tuple(several) for name, several in found.items()}


def uses(function: Function) -> Counter[str]:
    """How often each name is used in a function, without messages of assertions and calls that only show values.

    A name that is global may be used elsewhere too, so it counts more often than any other.
    """
    found: Counter[str] = Counter()
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(dict.fromkeys(node.names, 9))
        if isinstance(node, ast.Assert):
            waiting.append(node.test)
        elif not isinstance(node, ast.Call) or not _SHOWING.fullmatch(ast.unparse(node.func)):
            waiting += ast.iter_child_nodes(node)
    return found


def _arguments(function: Function) -> set[str]:
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {one.arg for one in every}


def module_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """The tables of a module that are assigned once and used once."""
    used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if used[node.targets[0].id] == 2
    }


def _of_decorator(call: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[Named]:
    """The names of a decorator that is a ``parametrize``, with each of their values."""
    if not isinstance(call, ast.Call) or called_name(call) != "parametrize":
        return
    given = {**dict(zip(_ORDER, call.args, strict=False)), **{str(one.arg): one.value for one in call.keywords}}
    table = given.get("argvalues")
    if isinstance(table, ast.Name):
        table = constants.get(table.id)
    if given.keys() - _READ or "argnames" not in given or not isinstance(table, ast.List | ast.Tuple):
        return
    names, is_bare = _names(given["argnames"])
    ids = _strings(given.get("ids"))
    if "ids" in given and len(ids) != len(table.elts):
        return
    for index, row in enumerate(table.elts):
        if isinstance(row, ast.Starred):
            return  # the index of each further case is not known
        nodes, own = _row(row, is_bare)
        if len(nodes) != len(names) or own is None:
            continue
        own = _escaped(own or (ids[index] if ids else ""))
        usual = tuple(f"{name}{index}" for name in names)
        parts = () if own else tuple(map(_part, usual, nodes))
        for place, (name, node) in enumerate(zip(names, nodes, strict=True)):
            if own:
                yield name, Value(node, (own,), is_fixed=True)
            else:
                yield name, Value(node, parts, place, isinstance(node, _DISPLAYS), usual)


def _of_loop(loop: ast.For) -> Iterator[Named]:
    """The targets of a loop over a literal with each of their values; only the first, where the loop may end early."""
    if not isinstance(loop.iter, ast.List | ast.Tuple):
        return
    leaves = any(isinstance(node, ast.Break | ast.Return) for one in loop.body for node in ast.walk(one))
    for row in loop.iter.elts[: 1 if leaves else None]:
        if isinstance(loop.target, ast.Name):
            yield loop.target.id, Value(row)
        elif isinstance(loop.target, ast.Tuple) and isinstance(row, ast.Tuple | ast.List):
            targets = [one.id if isinstance(one, ast.Name) else "" for one in loop.target.elts]
            if len(targets) == len(row.elts):
                yield from zip(targets, map(Value, row.elts), strict=True)


def _names(node: ast.expr) -> tuple[list[str], bool]:
    """The names that ``parametrize`` is given, and whether its values are bare, not rows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = [one.strip() for one in node.value.split(",") if one.strip()]
        return names, len(names) == 1
    return _strings(node), False


def _strings(node: ast.expr | None) -> list[str]:
    """The strings of a literal list or tuple; nothing where there is anything else in it."""
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    found = [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return found if len(found) == len(elements) else []


def _row(row: ast.expr, is_bare: bool) -> tuple[Sequence[ast.expr], str | None]:
    """The values of a case and the id that it is given, empty for none; ``None`` for one that is computed."""
    if isinstance(row, ast.Call) and called_name(row) == "param":
        own = next((one.value for one in row.keywords if one.arg == "id"), None)
        if own is None:
            return row.args, ""
        is_text = isinstance(own, ast.Constant) and isinstance(own.value, str)
        return row.args, str(own.value) if is_text and isinstance(own, ast.Constant) else None
    if is_bare:
        return (row,), ""
    return (row.elts if isinstance(row, ast.Tuple | ast.List) else ()), ""


def _part(usual: str, node: ast.expr) -> str | None:
    """The part of an id that shows a value; ``None`` where the source does not show it."""
    if isinstance(node, _DISPLAYS):
        return usual
    try:
        return _shown(ast.unparse(node))
    except (ValueError, RecursionError):
        return None


def _shown(source: str) -> str | None:
    """How pytest shows a value in an id; ``None`` for an expression that is not a literal of one value."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(f"({source}\n)")
            if isinstance(value, bytes):
                return value.decode("ascii", "backslashreplace")
            if isinstance(value, str):
                return _escaped(value)
            return str(value) if isinstance(value, _SCALARS) else None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _escaped(text: str) -> str:
    """A text as pytest shows it in an id."""
    return text.encode("unicode_escape").decode()
