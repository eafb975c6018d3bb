"""How a Markdown report writes numbers, names, lists and tables.

Names come from anyone, so everything that Markdown or HTML would read is escaped, and everything is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.present.html_markup import clean
from proctor.present.readable_numbers import DOLLARS, Currency

SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>|#~"})
MAX_ROWS = 60
"""How many rows a table of the report has at most."""
LONGEST_TEXT = 4_000
"""How many characters one sentence or name has at most."""


def percents(estimate: Mapping[str, Any] | None) -> str:
    """``71.2% (67.0 to 75.1)``; a dash where there is no estimate."""
    if estimate is None or estimate["value"] is None:
        return "-"
    value, low, high = (100 * estimate[part] for part in ("value", "low", "high"))
    return f"{value:.1f}% ({low:.1f} to {high:.1f})"


def points(estimate: Mapping[str, Any]) -> str:
    """A difference of rates in percentage points with its interval."""
    if estimate["value"] is None:
        return "-"
    value, low, high = (100 * estimate[part] for part in ("value", "low", "high"))
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def amount(number: float | None, digits: int = 3) -> str:
    """A number with few digits; a dash for none."""
    return "-" if number is None else f"{number:,.{digits}g}" if abs(number) < 1000 else f"{number:,.0f}"


def p_value(p: float | None) -> str:
    """A p value with as many digits as it deserves."""
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def rank(place: Mapping[str, Any]) -> str:
    """The range of ranks that an agent may have."""
    return str(place["best"]) if place["best"] == place["worst"] else f"{place['best']}-{place['worst']}"


def plain(text: str) -> str:
    """``text`` with nothing left that Markdown or HTML would read, on one line."""
    return " ".join(clean(" ".join(str(text).split()), LONGEST_TEXT).translate(SPECIAL).split())


def unit_of(paid: Currency) -> str:
    """What costs are in, as short as it can be said."""
    return "USD" if paid is DOLLARS else paid.title


def section(title: str) -> tuple[str, ...]:
    return ("", f"## {title}", "")


def listed(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"- {plain(text)}" for text in texts)
    yield ""


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    shown = rows[:MAX_ROWS]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in shown:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    if left_out := len(rows) - len(shown):
        yield ""
        yield f"... and {left_out} more, in the CSV files."
    yield ""
