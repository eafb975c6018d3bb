"""Forest plot: one line for each agent or pair, its estimate as a mark and its interval as a whisker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.present.amounts import Form, counted, share
from proctor.present.figures.canvas import Scale, across, box, fit, frame, line, scale, words
from proctor.present.markup import Markup, Piece, tag

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
        shapes.append(words(axis(value) + side, top - 8, name, "t axis", "end" if side < 0 else None))
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
    shapes: list[Piece] = [words(LABELS, y + 4.5, fit(row.label, LABELS - 8), "t strong" if row.lead else "t", "end")]
    if row.value is None:
        shapes.append(words(axis.start + 4, y + 4.5, fit(f"undefined: {row.why}", 330), "t axis"))
        return tag("g", shapes)
    x = axis(row.value)
    text = form(row.value)
    if row.low is not None and row.high is not None:
        left, right = axis(row.low), axis(row.high)
        shapes.append(line((left, y), (right, y), "whisker" + lead))
        shapes += [line((end, y - 5), (end, y + 5), "whisker" + lead) for end in (left, right)]
        text += f"  ({form(row.low)} to {form(row.high)})"
    shapes.append(box(x - 4.5, y - 4.5, 9, 9, "point" + lead, 1.5))
    shapes.append(words(WIDTH - 4, y + 4, text, "t small", "end"))
    return tag("g", shapes)
