"""The result of every maker of mutants: one edit of one file of the solved tree, and its category of fault.

Makers are pure functions from bytes to edits. They never see a tree or a sandbox.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

CATEGORIES = {
    "comparison": "a comparison is replaced by another one",
    "boundary": "a comparison or a number is off by one",
    "boolean": "a condition is negated, or `and` and `or` are swapped",
    "arithmetic": "an arithmetic operator is replaced by another one",
    "constant": "a constant is replaced by another value",
    "return": "nothing is returned",
    "statement": "a statement is removed",
    "element": "a member of a tuple, list or set is removed",
    "line": "a changed line of the reference is removed",
    "hunk": "one of the reference's changes is not made",
}
"""The categories of faults, each with what it means."""

ID_DIGITS = 12
MOST_PAIRS = 4_000_000
Hunk = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class Edit:
    """One change of a file: the bytes from ``start`` to ``end`` become ``text``."""

    start: int
    end: int
    text: bytes
    category: str

    def apply(self, data: bytes) -> bytes:
        """``data`` with the change made."""
        return data[: self.start] + self.text + data[self.end :]


@dataclass(frozen=True)
class Mutant:
    """A file of the solved tree with a fault. ``data`` is the whole file; ``None`` where the fault is its absence."""

    id: str
    path: bytes
    line: int
    category: str
    data: bytes | None

    def diff(self, solved: bytes) -> str:
        """The fault as a diff against the solution."""
        name = self.path.decode("utf-8", "replace")
        old, new = (text.decode("utf-8", "replace").splitlines() for text in (solved, self.data or b""))
        lines = difflib.unified_diff(old, new, f"reference/{name}", f"mutant/{name}", n=2, lineterm="")
        return "\n".join(lines)


def make_mutant(path: bytes, solved: bytes, category: str, data: bytes | None, start: int = 0) -> Mutant:
    """A mutant whose id depends on the file and its new bytes alone."""
    seed = path + b"\0" + (b"-" if data is None else b"+" + data)
    return Mutant(hashlib.sha256(seed).hexdigest()[:ID_DIGITS], path, solved.count(b"\n", 0, start) + 1, category, data)


def mutants_of(path: bytes, solved: bytes, edits: Iterable[Edit]) -> Iterator[Mutant]:
    """The mutants that ``edits`` make of the file ``path``."""
    for edit in edits:
        yield make_mutant(path, solved, edit.category, edit.apply(solved), edit.start)


def changed_lines(before: bytes, after: bytes) -> set[int]:
    """The numbers of the lines of ``after`` that are new or other than in ``before``."""
    found: set[int] = set()
    for tag, _, _, start, end in hunks(before, after):
        if tag != "equal":
            found.update(range(start + 1, end + 1))
    return found


def hunks(before: bytes, after: bytes) -> list[Hunk]:
    """How the lines of two texts differ, by ``difflib``.

    In long texts of few different lines only the part between their common beginning and end is compared; if that is
    too much as well, it is one change.
    """
    old, new = before.splitlines(), after.splitlines()
    if _pairs(old, new) <= MOST_PAIRS:
        return _compared(old, new)
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    inner, other = old[head : len(old) - tail], new[head : len(new) - tail]
    few = _pairs(inner, other) <= MOST_PAIRS
    middle = _compared(inner, other) if few else [("replace", 0, len(inner), 0, len(other))]
    found = [("equal", 0, head, 0, head)] if head else []
    found += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    end = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))
    return [*found, end] if tail else found


def _compared(old: list[bytes], new: list[bytes]) -> list[Hunk]:
    return [(*one,) for one in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _pairs(old: list[bytes], new: list[bytes]) -> int:
    """How many lines of the one are equal to lines of the other, which is what comparing them costs."""
    counts = Counter(new)
    return sum(counts[line] for line in old)
