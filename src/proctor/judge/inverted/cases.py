"""Expected values that a Python test keeps in a table: the cases of ``parametrize``, and loops over a literal. Pure.

pytest shows the values of a case in the id of its test. An altered value alters that id, so each edit of a case knows
the ids before and after it. An id that is computed wrongly here does no harm: screening drops variants that do not run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.judge.inverted.statements import Function, called_name

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
