"""Test ids of SWE-bench as ids that pytest prints, by reading the test files as text.

Three kinds need work. A bare name (sympy) belongs to the one test with that name in the files that the test patch
touches. An id that was cut at a space inside its brackets means every id that begins so; which these are is only
known after a run, so such ids are left out and listed, and a task that has no other test that fails is refused. Names
in the form of unittest (django) belong to a runner that cannot be read. Syntax trees are built, nothing is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proctor.author.import_.import_record import Refused, listed

NODE = re.compile(r"(?!/)[^:\s\[]+\.pyx?(?:::.+)?")
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_FILE_BYTES = 8 << 20


@dataclass(frozen=True)
class Repaired:
    """The ids that pytest prints, and those that were left out."""

    must_pass: tuple[str, ...]
    keep_passing: tuple[str, ...]
    cut: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def files(self) -> tuple[str, ...]:
        """The test files that the ids are in, in the order of the ids."""
        return tuple(dict.fromkeys(one.partition("::")[0] for one in (*self.must_pass, *self.keep_passing)))


def is_cut(test: str) -> bool:
    """Whether an id lost its end: its bracket is open."""
    return "[" in test and not test.endswith("]")


def repaired(fails: tuple[str, ...], keeps: tuple[str, ...], files: Mapping[str, bytes]) -> Repaired:
    """The ids of a task; ``files`` are the test files after the test patch, by path."""
    known = _tests(files) if any(BARE.fullmatch(one) for one in (*fails, *keeps)) else {}
    must: list[str] = []
    keep: list[str] = []
    cut: list[str] = []
    unknown: list[str] = []
    for one in fails:
        if is_cut(one):
            cut.append(one)
        else:
            must.append(_required(one, known))
    if not must:
        raise Refused("cut-id", listed(cut))
    for one in keeps:
        if is_cut(one):
            cut.append(one)
            continue
        places = _places(one, known)
        if len(places) == 1:
            keep.append(places[0])
        else:
            unknown.append(one)
    taken = set(must)
    kept = tuple(dict.fromkeys(one for one in keep if one not in taken))
    return Repaired(tuple(dict.fromkeys(must)), kept, tuple(cut), tuple(unknown))


def _required(test: str, known: Mapping[str, list[str]]) -> str:
    places = _places(test, known)
    if not places:
        raise Refused("unknown-id", test)
    if len(places) > 1:
        raise Refused("ambiguous-id", f"{test}: {listed(places)}")
    return places[0]


def _places(test: str, known: Mapping[str, list[str]]) -> list[str]:
    """The tests that an id may mean."""
    if BARE.fullmatch(test):
        return known.get(test, [])
    return [test] if NODE.fullmatch(test) and ".." not in test.partition("::")[0].split("/") else []


def _tests(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Every test in the files by its bare name."""
    found: dict[str, list[str]] = {}
    for path, data in files.items():
        if path.endswith(".py") and len(data) <= MAX_FILE_BYTES:
            try:
                tree = ast.parse(data)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for name, node in _functions(tree.body, ()):
                found.setdefault(name, []).append("::".join((path, *node)))
    return {name: sorted(set(places)) for name, places in found.items()}


def _functions(body: Iterable[ast.stmt], above: tuple[str, ...]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield one.name, (*above, one.name)
        elif isinstance(one, ast.ClassDef) and len(above) < 5:
            yield from _functions(one.body, (*above, one.name))
