"""Mutants of any text: a change that is not made, a changed line that is left out, an operator that is another one.

Nothing is known of the language. What no longer builds is caught by the build gate and counts as caught there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from proctor.author.mutants.interface import Edit, hunks

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
