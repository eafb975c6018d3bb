"""Bars: what each agent cost by item, and how many runs came through each gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.present.figures.svg_shapes import across, box, fit, frame, scale, text_line
from proctor.present.html_markup import Markup, Piece
from proctor.present.readable_numbers import DOLLARS, NOT_REACHED, Currency, left_after, share

WIDTH = 760
LABELS = 250
ROW = 30


def stacked(
    key: str,
    rows: Sequence[tuple[str, Mapping[str, float]]],
    items: Sequence[str],
    *,
    title: str,
    paid: Currency = DOLLARS,
) -> Markup:
    """One bar for each agent, in parts; the names of the parts are above, in the order in which they are drawn."""
    totals = [sum(parts.values()) for _, parts in rows]
    axis = scale(0, max(totals, default=0) or 1, LABELS + 12, WIDTH - 90)
    top = 34
    bottom = top + ROW * len(rows)
    shapes: list[Piece] = [across(axis, top, bottom, paid.tick, paid.title)]
    start = float(LABELS + 12)
    for index, item in enumerate(items):
        shapes += [box(start, 6, 12, 12, f"c{index + 1}", 2), text_line(start + 17, 16.5, item, "t small")]
        start += 34 + 7 * len(item)
    for number, ((name, parts), total) in enumerate(zip(rows, totals, strict=True)):
        y = top + ROW * number
        shapes.append(text_line(LABELS, y + 19.5, fit(name, LABELS - 8), "t", "end"))
        reached = axis(0)
        for index, item in enumerate(items):
            width = axis(parts.get(item, 0)) - axis(0)
            shapes.append(box(reached, y + 6, width, ROW - 12, f"c{index + 1}"))
            reached += width
        shapes.append(text_line(reached + 7, y + 19.5, paid.form(total), "t small"))
    describe = (
        f"Cost of {len(rows)} agents by item: {', '.join(items)}. The table beside the figure has the same numbers."
    )
    return frame(key, (WIDTH, bottom + 46), title, describe, *shapes)


def _with_share(text: str, left: float | None, most: float) -> str:
    return text if left is None or text == NOT_REACHED else f"{text} ({share(left / most)})"


def funnel(key: str, steps: Sequence[tuple[str, float | None]], *, title: str) -> Markup:
    """The steps from top to bottom, each as a bar of the runs that are left, with the part of all that they are.

    A step whose number of runs is unknown has no bar.
    """
    most = max((left for _, left in steps if left is not None), default=0) or 1
    axis = scale(0, most, 84, 208, tight=True)
    shapes: list[Piece] = []
    told = left_after([left for _, left in steps])
    for index, ((name, left), text) in enumerate(zip(steps, told, strict=True)):
        y = 6 + 27 * index
        shapes += [
            text_line(76, y + 15, fit(name, 76, 11), "t small", "end"),
            box(axis(0), y + 1, axis(most) - axis(0), 20, "stripe"),
            None if left is None else box(axis(0), y + 1, axis(left) - axis(0), 20, "c1"),
            text_line(214, y + 15, _with_share(text, left, most), "t small"),
        ]
    described = ", ".join(f"{name}: {text}" for (name, _), text in zip(steps, told, strict=True))
    return frame(key, (320, 12 + 27 * len(steps)), title, f"Runs that are left after each step. {described}.", *shapes)
