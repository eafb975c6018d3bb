"""Which faults are tried on a contract: in the lines that the reference changes, and in the callers of what it changes.

Python is mutated by its syntax tree, any other text by lines: a change that is not made, a changed line that is left
out, another operator. Tests, documents and binary files are left alone. The same contract gives the same mutants in the
same order.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from proctor.author.mutants.mutant import Edit, Mutant, changed_lines, hunks, make_mutant, mutants_of
from proctor.author.mutants.python import calling_lines, functions_at, means_other, python_edits
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import join
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.patch import Application, apply_patch
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.patch_policy.paths_of_tests import is_test

_SWAPS: tuple[tuple[bytes, bytes, str], ...] = (
    (rb"===", b"!==", "comparison"),
    (rb"!==", b"===", "comparison"),
    (rb"(?<![=!<>])==(?!=)", b"!=", "comparison"),
    (rb"!=(?!=)", b"==", "comparison"),
    (rb"<=", b"<", "boundary"),
    (rb">=", b">", "boundary"),
    (rb"(?<= )<(?= )", b"<=", "boundary"),
    (rb"(?<= )>(?= )", b">=", "boundary"),
    (rb"&&", b"||", "boolean"),
    (rb"\|\|", b"&&", "boolean"),
    (rb"!(?=[\w(])", b"", "boolean"),
    (rb"\btrue\b", b"false", "boolean"),
    (rb"\bfalse\b", b"true", "boolean"),
    (rb"(?<= )\+(?= )", b"-", "arithmetic"),
    (rb"(?<= )-(?= )", b"+", "arithmetic"),
    (rb"(?<![\w.])0(?![\w.])", b"1", "boundary"),
    (rb"(?<![\w.])1(?![\w.])", b"2", "boundary"),
)
_NOTHING = re.compile(rb"\s*(?:[{}();,]*|//.*|/\*.*|\*.*|#.*|--.*)\s*")


def hunk_edits(before: bytes, after: bytes) -> Iterator[Edit]:
    """Each change between two texts taken back by itself."""
    changes = [one for one in hunks(before, after) if one[0] != "equal"]
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for _, before_start, before_end, start, end in changes:
        at = sum(map(len, new[:start]))
        yield Edit(at, at + sum(map(len, new[start:end])), b"".join(old[before_start:before_end]), "hunk")


def line_edits(after: bytes, lines: Collection[int]) -> Iterator[Edit]:
    """Each of ``lines`` left out, and each operator in it made another one."""
    offset = 0
    for number, line in enumerate(after.splitlines(keepends=True), 1):
        if number in lines and not _NOTHING.fullmatch(line):
            yield Edit(offset, offset + len(line), b"", "line")
            for old, new, category in _SWAPS:
                for found in re.finditer(old, line):
                    yield Edit(offset + found.start(), offset + found.end(), new, category)
        offset += len(line)


PATCH, CALLER = "patch", "caller"
DOCUMENTS = (b".md", b".rst", b".txt", b".toml", b".cfg", b".ini", b".lock", b".json", b".yaml", b".yml", b".html")
FILE_BYTES = 1 << 20
SHORTEST_NAME = 4
"""Names of fewer letters, and those of the built-in types, are called everywhere and lead nowhere."""

_COMMON = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind))


@dataclass(frozen=True)
class Sited:
    """A mutant and whether it is in the patched lines or in a caller."""

    mutant: Mutant
    scope: str


@dataclass(frozen=True)
class MutationPlan:
    """The solved tree as far as it was changed or is mutated, and every mutant of it."""

    application: Application
    solved: Mapping[bytes, bytes]
    mutants: tuple[Sited, ...]

    def sample(self, limit: int, seed: int) -> tuple[Sited, ...]:
        """At most ``limit`` mutants, drawn with ``seed``, in their order."""
        if limit >= len(self.mutants):
            return self.mutants
        drawn = Random(seed).sample(range(len(self.mutants)), limit)
        return tuple(self.mutants[index] for index in sorted(drawn))


def plan_mutants(prepared: PreparedBase, reference: bytes) -> MutationPlan:
    """Every mutant of the reference solution."""
    base = base_stack(prepared.layers)
    application = apply_patch(reference, base.file)
    solved = {path: data for path, _, data in application.writes}
    found: list[Sited] = []
    names: set[str] = set()
    for path, data in sorted(solved.items()):
        if not _is_code(path, data):
            continue
        before = base.read(path) or b""
        lines = changed_lines(before, data)
        if path.endswith(b".py"):
            names |= functions_at(data, lines)
        found += (Sited(one, PATCH) for one in _in_patch(path, before, data, lines))
    found += (
        Sited(make_mutant(path, b"", "hunk", base.read(path)), PATCH)
        for path in application.removals
        if _is_code(path, base.read(path) or b"")
    )
    names = {name for name in names if len(name) >= SHORTEST_NAME and name not in _COMMON}
    if names:
        files = _python_files(prepared)
        for path in sorted(files | {path for path in solved if path.endswith(b".py")}):
            data = solved.get(path) or base.read(path) or b""
            if _is_code(path, data):
                lines = calling_lines(data, names) - changed_lines(base.read(path) or b"", data)
                more = [Sited(one, CALLER) for one in mutants_of(path, data, python_edits(data, lines))]
                if more:
                    solved[path] = data
                    found += more
    once = {one.mutant.id: one for one in reversed(found)}
    return MutationPlan(application, solved, tuple(reversed(once.values())))


def _in_patch(path: bytes, before: bytes, after: bytes, lines: set[int]) -> Iterator[Mutant]:
    is_python = path.endswith(b".py")
    hunks = hunk_edits(before, after)
    yield from mutants_of(path, after, (one for one in hunks if not is_python or means_other(after, one)))
    if is_python:
        yield from mutants_of(path, after, python_edits(after, lines))
    else:
        yield from mutants_of(path, after, line_edits(after, lines))


def _is_code(path: bytes, data: bytes) -> bool:
    named = not path.lower().endswith(DOCUMENTS) and not is_test(name_text(path))
    return named and len(data) <= FILE_BYTES and b"\0" not in data


def _python_files(prepared: PreparedBase) -> set[bytes]:
    """The modules of the repository."""
    found = set()
    for directory, shown in base_stack((prepared.source,)).walk():
        for one in shown:
            if one.name.endswith(b".py") and stat.S_ISREG(one.status.st_mode):
                found.add(join(directory, one.name))
    return found
