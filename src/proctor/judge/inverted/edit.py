"""One alteration of a test file: a span of bytes and its replacement. Pure.

A test that passes honestly must fail once one of its expectations is altered. Every kind of alteration below is valid
for every correct solution, not only for the reference:

    expectation   the value that a result must equal, contain or match is another one of the same form
    form          that value is part of another one, such as a pair
    negation      an assertion is turned into its opposite, or an expected exception is no longer expected
    exception     another exception is expected, or none where one was
    assertion     an assertion that cannot hold is added
    call          a call that may not raise must raise
    declared      the author of the contract wrote the alteration

An altered input is deliberately not among them: a correct solution may treat an input that no test names in its own
way.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from proctor.judge.inverted.cases import Case

EXPECTATION, FORM, NEGATION, EXCEPTION = "expectation", "form", "negation", "exception"
ASSERTION, CALL, DECLARED = "assertion", "call", "declared"
KINDS = (EXPECTATION, FORM, NEGATION, EXCEPTION, ASSERTION, CALL, DECLARED)
INDEPENDENT = (ASSERTION, CALL)
"""Kinds that fail whatever the code under test does: they find only code that changes how tests are run."""

DIFF_LINES = 40


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` of a file become ``new``. ``line`` is the first line of the span, from 1.

    ``case`` is the case of a parametrised test that the edit alters, where it does not alter all of them.
    """

    start: int
    end: int
    new: bytes
    kind: str
    line: int
    case: Case | None = None

    def overlaps(self, other: Edit) -> bool:
        """Whether two edits of one file cannot both be made."""
        return (self.start < other.end and other.start < self.end) or self.start == other.start


@dataclass(frozen=True)
class Block:
    """A test or a helper in a source file: its name, the names around it, the edits that invert it.

    ``calls`` are the functions that it calls whenever it passes, ``mentions`` all names in it. A function with
    ``is_decorated`` may not run when it is called.
    """

    name: str
    around: tuple[str, ...]
    edits: tuple[Edit, ...]
    calls: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    is_decorated: bool = False


def kinds_of(edits: Iterable[Edit]) -> frozenset[str]:
    """The kinds of ``edits``, where ``form`` counts as ``expectation``: they detect the same forgeries."""
    return frozenset(EXPECTATION if edit.kind == FORM else edit.kind for edit in edits)


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` after all ``edits``, which do not overlap."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.new + data[edit.end :]
    return data


def diff(path: str, before: bytes, after: bytes) -> str:
    """A readable diff of at most ``DIFF_LINES`` lines."""
    old, new = (data.decode(errors="replace").splitlines() for data in (before, after))
    lines = list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=2, lineterm=""))
    return "\n".join(lines[:DIFF_LINES])
