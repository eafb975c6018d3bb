"""Plots of estimates with their intervals: a forest plot, and price against performance with the Pareto frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.present.figures.svg_shapes import (
    Point,
    Scale,
    across,
    box,
    dot,
    fit,
    frame,
    line,
    path,
    scale,
    text_line,
    upward,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import DOLLARS, Currency, Form, counted, share

ROW = 28
WIDTH = 760
LABELS = 250
NUMBERS = 170


@dataclass(frozen=True)
class Whisker:
    """One line of the plot. Without a value the line says ``why`` instead."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    lead: bool = False
    why: str = ""


def forest(
    key: str,
    rows: Sequence[Whisker],
    *,
    title: str,
    measure: str,
    form: Form = share,
    marks: Sequence[tuple[float, str]] = (),
    bounds: tuple[float, float] | None = None,
) -> Markup:
    """The plot of ``rows`` in their order; ``marks`` are values to compare with, such as no difference."""
    axis = _axis(rows, [value for value, _ in marks], bounds, form)
    top = 26 if marks else 8
    bottom = top + ROW * len(rows)
    shapes: list[Piece] = [box(0, top + ROW * index, WIDTH, ROW, "stripe") for index in range(0, len(rows), 2)]
    shapes.append(across(axis, top, bottom, form, measure))
    for value, name in marks:
        shapes.append(line((axis(value), top - 4), (axis(value), bottom), "base" if value == 0 else "mark-line"))
        side = -5 if value == min(other for other, _ in marks) and len(marks) > 1 else 5
        shapes.append(text_line(axis(value) + side, top - 8, name, "t axis", "end" if side < 0 else None))
    shapes += [_row(row, top + ROW * (index + 0.5), axis, form) for index, row in enumerate(rows)]
    describe = f"{counted(len(rows), 'line')}, each with an estimate and its interval on the scale from "
    describe += f"{form(axis.low)} to {form(axis.high)}. The table beside the figure has the same numbers."
    return frame(key, (WIDTH, bottom + 46), title, describe, *shapes)


def _axis(rows: Sequence[Whisker], marks: Sequence[float], bounds: tuple[float, float] | None, form: Form) -> Scale:
    found = [value for row in rows for value in (row.value, row.low, row.high) if value is not None]
    found += marks
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if high - low < 0.04:
        low, high = low - 0.02, high + 0.02
    axis = scale(low, high, LABELS + 12, WIDTH - NUMBERS - 12, form=form)
    if bounds and (axis.low < bounds[0] or axis.high > bounds[1]):
        axis = scale(max(axis.low, bounds[0]), min(axis.high, bounds[1]), axis.start, axis.end, tight=True, form=form)
    return axis


def _row(row: Whisker, y: float, axis: Scale, form: Form) -> Markup:
    lead = " lead" if row.lead else ""
    shapes: list[Piece] = [
        text_line(LABELS, y + 4.5, fit(row.label, LABELS - 8), "t strong" if row.lead else "t", "end")
    ]
    if row.value is None:
        shapes.append(text_line(axis.start + 4, y + 4.5, fit(f"undefined: {row.why}", 330), "t axis"))
        return tag("g", shapes)
    x = axis(row.value)
    text = form(row.value)
    if row.low is not None and row.high is not None:
        left, right = axis(row.low), axis(row.high)
        shapes.append(line((left, y), (right, y), "whisker" + lead))
        shapes += [line((end, y - 5), (end, y + 5), "whisker" + lead) for end in (left, right)]
        text += f"  ({form(row.low)} to {form(row.high)})"
    shapes.append(box(x - 4.5, y - 4.5, 9, 9, "point" + lead, 1.5))
    shapes.append(text_line(WIDTH - 4, y + 4, text, "t small", "end"))
    return tag("g", shapes)


SCATTER_WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 740, 34, 346
NAMED = 8
"""Up to so many agents are named in the figure; more are numbered by their rank."""


@dataclass(frozen=True)
class Offer:
    """One agent: its cost per run, its success rate, and the ends of the rate's interval if there is one."""

    name: str
    rank: int
    usd: float
    success: float
    low: float | None = None
    high: float | None = None


def tradeoff(key: str, offers: Sequence[Offer], *, title: str, paid: Currency = DOLLARS) -> Markup:
    """Cost of a run across, success upward."""
    seen = [end for offer in offers for end in (offer.low, offer.success, offer.high) if end is not None]
    x = scale(0, max((offer.usd for offer in offers), default=1) * 1.08, LEFT, RIGHT, 6)
    y = scale(min(seen, default=0), max(seen, default=1), BOTTOM, TOP, form=share)
    shapes: list[Piece] = [
        across(x, TOP, BOTTOM, paid.tick, f"{paid.title} for one run"),
        upward(y, LEFT, RIGHT, share, "success"),
    ]
    best = frontier(offers)
    if len(best) > 1:
        shapes.append(path([(x(offer.usd), y(offer.success)) for offer in best], "front"))
    for offer in offers:
        if offer.low is not None and offer.high is not None:
            shapes.append(line((x(offer.usd), y(offer.low)), (x(offer.usd), y(offer.high)), "whisker"))
    for offer in sorted(offers, key=lambda offer: offer in best):
        lead = " lead" if offer in best else ""
        place: Point = (x(offer.usd), y(offer.success))
        if len(offers) > NAMED:
            shapes += [
                dot(*place, 9, "point halo" + lead),
                text_line(place[0], place[1] + 4, offer.rank, "onmark", "middle"),
            ]
        else:
            shapes += [dot(*place, 6, "point halo" + lead), _name(offer.name, place)]
    describe = f"{len(offers)} agents by the cost of one run and by success, with intervals. On the dashed line, from "
    describe += (
        "cheap to dear: " + ", ".join(offer.name for offer in best) + "; no other agent is both cheaper and better."
    )
    return frame(key, (SCATTER_WIDTH, HEIGHT), title, describe, *shapes)


def frontier(offers: Sequence[Offer]) -> list[Offer]:
    """The agents that no other one beats in both cost and success, cheapest first."""
    best: list[Offer] = []
    for offer in sorted(offers, key=lambda offer: (offer.usd, -offer.success, offer.name)):
        if not best or offer.success > best[-1].success:
            best.append(offer)
    return best


def _name(name: str, place: Point) -> Markup:
    """The name above and left of a mark, or below and right: where the dashed line does not run."""
    x, y = place
    if x > (LEFT + RIGHT) * 0.6:
        return text_line(x - 11, y - 9, fit(name, x - LEFT - 20), "t small label", "end")
    return text_line(x + 11, y + 16, fit(name, RIGHT - x - 20), "t small label")
