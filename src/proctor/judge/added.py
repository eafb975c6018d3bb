"""The lines that a patch adds, each with its file and the line where it will stand. Pure.

Lines of a hunk are counted as its head promises, so nothing inside a file can pass for a head. What is read is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PATCH_BYTES = 4 << 20
LINE_CHARACTERS = 1000
"""How much of a patch, and of one of its lines, is read; a policy choice."""

_HUNK = rb"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@"


@dataclass(frozen=True)
class Line:
    """One added line."""

    path: str
    number: int
    text: str


def added_lines(patch: bytes) -> Iterator[Line]:
    """Every added line within the bound."""
    head = re.compile(_HUNK)
    path, number, before, after = "", 0, 0, 0
    for line in patch[:PATCH_BYTES].split(b"\n"):
        if before <= 0 and after <= 0:
            found = head.match(line)
            if found:
                before, number, after = int(found[1] or 1), int(found[2]), int(found[3] or 1)
            elif line.startswith(b"+++ "):
                path = _path(line[4:])
        elif line.startswith(b"+"):
            yield Line(path, number, line[1 : LINE_CHARACTERS + 1].decode("utf-8", "replace"))
            number, after = number + 1, after - 1
        elif line.startswith(b"-"):
            before -= 1
        elif not line.startswith(b"\\"):
            number, before, after = number + 1, before - 1, after - 1


def _path(name: bytes) -> str:
    return name.split(b"\t")[0].strip(b'"').removeprefix(b"b/").decode("utf-8", "replace")
