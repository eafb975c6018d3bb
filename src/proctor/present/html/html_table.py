"""Tables and the small parts around them: cells that sort by their number, folded parts, notes, what is missing.

A table has a caption, headers with a scope and a frame that scrolls by itself, so that a page never scrolls sideways.
Rows are bounded: a table says how many it left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.present.html_markup import EMPTY, Markup, Piece, tag
from proctor.present.readable_numbers import Form, finite_number, share, span
from proctor.present.sentences.estimates import method, reason
from proctor.present.sentences.phrases import level

MOST_ROWS = 500


@dataclass(frozen=True)
class Section:
    """One part of the page below its heading."""

    key: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Column:
    """A column's header; numbers are aligned to the right."""

    title: str
    number: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it sorts by, and how it looks."""

    shown: Piece
    sort: float | None = None
    look: str | None = None


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell | Piece]],
    *,
    most: int = MOST_ROWS,
    sortable: bool = True,
    keys: Sequence[str] = (),
    look: str | None = None,
) -> Markup:
    """A table whose first column names its rows; ``keys`` are anchors of the rows."""
    head = tag("tr", (tag("th", column.title, scope="col", class_=_side(column)) for column in columns))
    body = (
        tag("tr", _cells(row, columns), id=keys[place] if place < len(keys) else None)
        for place, row in enumerate(rows[:most])
    )
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", body),
        class_=" ".join(word for word in ("sortable" if sortable and len(rows) > 1 else "", look) if word) or None,
    )
    return tag("div", framed(made, caption), left_out(len(rows) - most))


def _side(column: Column) -> str | None:
    return "num" if column.number else None


def _cells(row: Sequence[Cell | Piece], columns: Sequence[Column]) -> Iterable[Markup]:
    for place, (given, column) in enumerate(zip(row, columns, strict=True)):
        cell = given if isinstance(given, Cell) else Cell(given)
        looks = " ".join(word for word in (_side(column), cell.look) if word) or None
        value = None if cell.sort is None else f"{cell.sort:.6g}"
        if place:
            yield tag("td", cell.shown, class_=looks, data_v=value)
        else:
            yield tag("th", cell.shown, scope="row", class_=looks, data_v=value)


def framed(inside: Markup, label: str) -> Markup:
    """Something that may be wider than the page; it can be reached and scrolled by the keyboard."""
    return tag("div", inside, class_="scroll", tabindex=0, role="group", aria_label=label)


def left_out(number: int) -> Markup:
    """That a table is not complete; nothing when it is."""
    if number <= 0:
        return EMPTY
    return tag("p", f"{number:,} more rows are left out here; the findings as data have them all.", class_="note")


def estimated(estimate: Mapping[str, Any] | None, link: str | None, form: Form = share) -> Cell:
    """An estimate as a cell: the value, its range below, or that it is undefined and why."""
    if why := reason(estimate):
        return Cell([tag("span", "undefined", class_="quiet"), tag("span", f"because {why}", class_="range why")])
    assert estimate is not None
    value = finite_number(estimate["value"])
    text = form(value)
    shown = tag("a", text, href=link, class_="n") if link else tag("span", text)
    inside = span(estimate, form)
    return Cell([shown, tag("span", inside, class_="range") if inside else None], value)


def folded(summary: Piece, *inside: Piece, key: str | None = None) -> Markup:
    """A part that opens on demand."""
    return tag("details", tag("summary", summary), inside, id=key)


def confidence(findings: Mapping[str, Any]) -> str:
    """The level at which the study separates agents, such as 95%."""
    alpha = finite_number((findings.get("question") or {}).get("alpha"))
    return level(1 - (0.05 if alpha is None else alpha))


def by_rank(findings: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Names of agents once each, in the order of the ranking; names that it does not know come last."""
    places = _places(findings)
    return sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))


def ranked(findings: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """Rows that each belong to an agent, in the order of the ranking and else as they were."""
    places = _places(findings)
    return sorted(rows or (), key=lambda row: places.get(str(row.get("agent")), len(places)))


def _places(findings: Mapping[str, Any]) -> dict[str, int]:
    return {str(row.get("agent")): place for place, row in enumerate(findings.get("agents") or ())}


def note(*text: Piece) -> Markup:
    """A remark below a figure or a table."""
    return tag("p", text, class_="note")


def empty_note(because: str) -> Markup:
    """What is shown if there is nothing to show."""
    return tag("p", tag("strong", "Not available"), f", because {because}.", class_="absent")


def listed(items: Iterable[Piece], most: int = MOST_ROWS) -> Markup:
    """A list of remarks."""
    found = list(items)
    return tag("div", tag("ul", (tag("li", item) for item in found[:most])), left_out(len(found) - most))


def methods(estimates: Iterable[Mapping[str, Any] | None]) -> Markup:
    """How estimates were computed, once for each method, with their level."""
    found: dict[str, None] = {}
    for estimate in estimates:
        if estimate and estimate.get("method"):
            sure = finite_number(estimate.get("level"))
            found[method(estimate["method"]) + (f", {level(sure)} interval" if sure else "")] = None
    return note("Method: ", "; ".join(found), ".") if found else EMPTY
