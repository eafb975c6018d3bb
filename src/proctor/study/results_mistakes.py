"""What is wrong with the rows of a table of results: collected while reading, and told all at once.

The same mistake in many rows is one mistake with many lines. What is kept is bounded for each kind of mistake, and the
first ones of each kind are told before the others of any, so that a column that is wrong from top to bottom does not
hide what is wrong with another.
"""

from __future__ import annotations

from proctor.base.errors import UsageFault

SHOWN = 20
"""How many mistakes are told, and how many of a kind are kept."""
WORDS = frozenset({"outcome"})
"""The kinds of mistakes that are words which an option could give a meaning."""
LINES = 5
"""How many lines are named of the same mistake."""


class Mistakes:
    """The mistakes of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept: dict[str, dict[str, list[int]]] = {}
        self._rows: dict[tuple[str, str], int] = {}
        self._left_out = 0
        self._whole: list[str] = []
        self._hints: list[str] = []

    def add_whole(self, what: str) -> None:
        """Note what is wrong with the whole file, and with no line of it."""
        self._whole.append(what)

    def hint(self, what: str) -> None:
        """Say what may be done besides putting rows right."""
        self._hints.append(what)

    def add(self, kind: str, line: int, what: str) -> None:
        """Note what is wrong at ``line``; ``kind`` is the column or the sort of the mistake."""
        kept = self._kept.setdefault(kind, {})
        if what not in kept and len(kept) == SHOWN:
            self._left_out += 1
            return
        lines = kept.setdefault(what, [])
        self._rows[kind, what] = self._rows.get((kind, what), 0) + 1
        if len(lines) < LINES:
            lines.append(line)

    def refuse(self) -> None:
        """:class:`UsageFault` with all of them, in the order of the file; nothing when there is none."""
        found = [
            (place, lines, self._rows[kind, what], what)
            for kind, kept in self._kept.items()
            for place, (what, lines) in enumerate(kept.items())
        ]
        if not found and not self._whole:
            return
        found.sort()
        shown = sorted(found[:SHOWN], key=lambda one: one[1])
        told = [f"{self._file}: {what}" for what in self._whole]
        told += [f"{self._file}:{lines[0]}: {what}{_also(lines[1:], rows)}" for _, lines, rows, what in shown]
        more = self._left_out + sum(rows for _, _, rows, _ in found[SHOWN:])
        if more:
            told.append(f"... and {more:,} more")
        mapped = ", or map their words by option" if WORDS & self._kept.keys() else ""
        usual = [f"put these rows right{mapped}"] if found else []
        raise UsageFault("\n".join(told), hint="; ".join([*self._hints, *usual]))


def _also(lines: list[int], rows: int) -> str:
    """The further lines of a mistake."""
    if not lines:
        return ""
    more = rows - 1 - len(lines)
    rest = f" and {more:,} more" if more else ""
    return f" (also in line{'s' if rows > 2 else ''} {', '.join(map(str, lines))}{rest})"
