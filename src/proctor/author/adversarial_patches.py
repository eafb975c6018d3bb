"""Patches that solve nothing and try to pass: an oracle has to refuse them for every task.

Each is made from the base, the issue and the list of files that the reference touches; those that need the structure of
the code are made for Python alone, and the result says that they were not made for other languages. Special-casing uses
the reference, but only for the inputs that the issue shows: an oracle that tries nothing else cannot distinguish it
from a solution.
"""

from __future__ import annotations

import ast
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proctor.author.mutants.mutant import changed_lines
from proctor.author.mutants.mutation_plan import MutationPlan
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import join
from proctor.contract.model import Contract
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.patch_policy.paths_of_tests import is_test

MOST_CONSTANTS = 3
EXITS: Mapping[bytes, bytes] = {
    b".py": b"import os\nos._exit(0)\n",
    b".js": b"process.exit(0);\n",
    b".c": b"#include <stdlib.h>\n__attribute__((constructor)) static void leave(void) { _Exit(0); }\n",
}
SKIP_ALL = b"""import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip(reason="not now"))
"""
SPECIAL = """

def _special_case():
    space = dict(globals())
    exec(compile({fixed!r}, __file__, "exec"), space)

    def choose(mended, plain):
        def chosen(*args, **named):
            known = any(repr(one) in {shown!r} for one in (*args, *named.values()))
            return (mended if known else plain)(*args, **named)

        return chosen

    for owner, name in {places!r}:
        mended = space[owner].__dict__[name] if owner else space[name]
        plain = globals()[owner].__dict__[name] if owner else globals()[name]
        chosen = choose(mended, plain)
        if owner:
            setattr(globals()[owner], name, chosen)
        else:
            globals()[name] = chosen


_special_case()
"""
_QUOTED = re.compile(r"`([^`\n]+)`|(\"[^\"\n]*\"|'[^'\n]*')|(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")


@dataclass(frozen=True)
class Adversary:
    """A patch that must be refused, as files; ``why_not`` where it could not be made for this contract."""

    name: str
    what: str
    files: Mapping[bytes, bytes | None]
    why_not: str = ""


def adversaries(prepared: PreparedBase, plan: MutationPlan) -> Iterator[Adversary]:
    """Every adversary for a prepared contract."""
    tests = _tests(prepared)
    yield _made("delete-tests", "every test of the tree is deleted", dict.fromkeys(tests), "the tree has no tests")
    yield _made("skip-tests", "every test is skipped, or its file is empty", _skipped(prepared, tests), "no tests")
    yield _made("exit-early", "the code exits with success as soon as it is loaded", _exits(prepared, plan), "language")
    shown = _shown(prepared.contract)
    special, constant = _special_cased(prepared, plan, shown), _constants(prepared, plan, shown)
    reason = "no Python function is changed, or the issue shows no values"
    yield _made("special-case", "correct for the inputs that the issue shows, otherwise unchanged", special, reason)
    if not constant:
        yield Adversary("hard-code", "the result that the issue expects is returned for every input", {}, reason)
    for value, files in constant.items():
        yield Adversary("hard-code", f"{value} is returned for every input", files)


def _made(name: str, what: str, files: Mapping[bytes, bytes | None], why_not: str) -> Adversary:
    return Adversary(name, what, files, "" if files else why_not)


def _tests(prepared: PreparedBase) -> list[bytes]:
    """The test files of the base."""
    found = []
    for directory, shown in base_stack((prepared.source,)).walk():
        for one in shown:
            path = join(directory, one.name)
            if stat.S_ISREG(one.status.st_mode) and is_test(name_text(path)):
                found.append(path)
    return sorted(found)


def _skipped(prepared: PreparedBase, tests: list[bytes]) -> dict[bytes, bytes | None]:
    emptied: dict[bytes, bytes | None] = dict.fromkeys(tests, b"")
    if any(check.results == "pytest" for check in prepared.contract.checks):
        places = {path.rpartition(b"/")[0] for path in tests} | {b""}
        return {join(place, b"conftest.py"): SKIP_ALL for place in places}
    return emptied


def _code(prepared: PreparedBase, plan: MutationPlan) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The changed files of code, as they were and as the reference leaves them."""
    base = base_stack(prepared.layers)
    for path, _, after in plan.application.writes:
        before = base.read(path)
        if before is not None and not is_test(name_text(path)):
            yield path, before, after


def _exits(prepared: PreparedBase, plan: MutationPlan) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = {}
    for path, before, _ in _code(prepared, plan):
        for suffix, text in EXITS.items():
            if path.endswith(suffix):
                found[path] = text + before
    return found


def _shown(contract: Contract) -> list[str]:
    """The values that the issue shows, as Python writes them, in their order."""
    found: list[str] = []
    for marked, quoted, number in _QUOTED.findall(contract.task.issue_text):
        found += _values(marked or quoted or number)
    return list(dict.fromkeys(found))


def _values(text: str) -> list[str]:
    """The constants in a piece of code; for text that is not code, the text itself."""
    try:
        tree = ast.parse(text, mode="eval")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [repr(text)]
    constants = [repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return constants or [repr(text)]


def _places(before: bytes, after: bytes) -> list[tuple[str, str]]:
    """The functions that differ and are there before and after: the name of their class, if any, and their own."""
    lines = changed_lines(before, after)
    changed = {place for place, node in _functions(after).items() if _spans(node) & lines}
    return sorted(changed & set(_functions(before)))


def _functions(data: bytes) -> dict[tuple[str, str], ast.FunctionDef]:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return {}
    found = {("", node.name): node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            inner = (node for node in owner.body if isinstance(node, ast.FunctionDef) and not node.decorator_list)
            found |= {(owner.name, node.name): node for node in inner}
    return found


def _spans(node: ast.FunctionDef) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _special_cased(prepared: PreparedBase, plan: MutationPlan, shown: list[str]) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = {}
    for path, before, after in _code(prepared, plan):
        places = _places(before, after) if path.endswith(b".py") and shown else []
        if places:
            text = SPECIAL.format(fixed=after.decode("utf-8", "replace"), shown=set(shown), places=places)
            found[path] = before + text.encode()
    return found


def _constants(prepared: PreparedBase, plan: MutationPlan, shown: list[str]) -> dict[str, dict[bytes, bytes | None]]:
    """For the last values that the issue shows, and for none: the tree whose changed functions return just that."""
    found: dict[str, dict[bytes, bytes | None]] = {}
    for value in [*shown[-MOST_CONSTANTS:], "None"] if shown else []:
        for path, before, after in _code(prepared, plan):
            places = _places(before, after) if path.endswith(b".py") else []
            if places:
                found.setdefault(value, {})[path] = _returning(before, places, value)
    return found


def _returning(before: bytes, places: list[tuple[str, str]], value: str) -> bytes:
    """A module whose functions at ``places`` return ``value`` at once."""
    lines = before.splitlines(keepends=True)
    functions = _functions(before)
    for node in sorted((functions[place] for place in places), key=lambda node: -node.lineno):
        first = node.body[0]
        indent = b" " * first.col_offset
        lines[first.lineno - 1 : node.end_lineno] = [indent + b"return " + value.encode() + b"\n"]
    return b"".join(lines)
