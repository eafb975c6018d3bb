"""Edits in a form that tables can hold, with values that follow from the place where they are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from proctor.judge.checks.inverted_tests.assertion_edits import Block, Edit, ReplacementValues


class Places(ReplacementValues):
    """Draws that show where they were made: a mistake in the place is a mistake in the text."""

    def __init__(self) -> None:
        super().__init__(b"")

    def word(self, place: int, but: bytes = b"") -> bytes:
        return b"w%d" % place

    def number(self, place: int) -> int:
        return place

    def choice(self, place: int, several: Sequence[bytes]) -> bytes:
        return several[place % len(several)]


def shown(data: bytes, edits: Iterable[Edit]) -> list[str]:
    """Each edit as its kind, its line, and the old and the new text; ``@`` is the old text within the new one.

    A blank at the end is shown as a dot.
    """
    found = []
    for edit in edits:
        old = data[edit.start : edit.end].decode("utf-8", "replace")
        new = edit.new.decode("utf-8", "replace")
        text = (new.replace(old, "@") if len(old) > 1 else new).replace("\n", "\\n")
        found.append(re.sub(" $", "·", f"{edit.kind} {edit.line}: {old!r} -> {text}"))
    return found


def only(blocks: tuple[Block, ...]) -> Block:
    """The one block of a file."""
    (block,) = blocks
    return block


def cases(text: str) -> list[tuple[str, list[str]]]:
    """The cases of a table: lines of source after a bar, then the edits that are expected of them."""
    found = []
    for case in text.strip("\n").split("\n\n"):
        lines = case.split("\n")
        source = [line[2:] for line in lines if line.startswith("| ")]
        found.append(("\n".join(source), lines[len(source) :]))
    return found
