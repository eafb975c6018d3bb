"""Curves: survival with its band, modes found for money, precision for money, power by tasks, cost by runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.present.figures.svg_shapes import Point, across, dot, frame, line, path, scale, stairs, text_line, upward
from proctor.present.html_markup import Markup, Piece
from proctor.present.readable_numbers import DOLLARS, Currency, Form, count, counted, share

SMALL = (310, 215)
"""The size of one of several figures beside each other."""
MOST_LINES = 5
"""How many lines can be distinguished in one figure."""


@dataclass(frozen=True)
class Curve:
    """One line with its name and, where there is one, the band of its uncertainty as (x, low, high)."""

    name: str
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()
    steps: bool = False


def curves(
    key: str,
    lines: Sequence[Curve],
    *,
    title: str,
    describe: str,
    across_form: Form,
    across_title: str,
    up_form: Form,
    up_title: str,
    size: tuple[float, float] = (760, 360),
    unit: float = 1,
    at: float | None = None,
    level: tuple[float, str] | None = None,
    marked: bool = False,
    falling: bool = False,
) -> Markup:
    """Up to five lines over one axis, drawn apart by dashes too.

    ``at`` is a value across to compare with, ``level`` one upward with its name. The names of lines stand where they
    are in nobody's way: above for ``falling`` lines, below otherwise.
    """
    width, height = size
    left, right, top, bottom = 58.0, width - 26, 34.0, height - 50
    points = [point for one in lines for point in one.points]
    edges = [edge for one in lines for _, low, high in one.band for edge in (low, high)]
    x = scale(
        0,
        max([px for px, _ in points] + [at or 0, 1e-9]),
        left,
        right,
        6 if width > 500 else 3,
        True,
        unit,
        across_form,
    )
    most = max([py for _, py in points] + edges + [level[0] if level else 0])
    y = scale(0, most or 1, bottom, top, 5 if width > 500 else 4, form=up_form)
    shapes: list[Piece] = [across(x, top, bottom, across_form, across_title), upward(y, left, right, up_form, up_title)]
    for one in lines[:1]:
        lower = [(x(px), y(low)) for px, low, _ in one.band]
        upper = [(x(px), y(high)) for px, _, high in one.band]
        if one.steps:
            lower, upper = stairs(lower), stairs(upper)
        if one.band:
            shapes.append(path([*upper, *reversed(lower)], "band", closed=True))
    if at is not None:
        shapes.append(line((x(at), top), (x(at), bottom), "mark-line"))
    if level is not None:
        shapes.append(line((left, y(level[0])), (right, y(level[0])), "mark-line"))
        shapes.append(text_line(left + 8, y(level[0]) - 6, level[1], "t small label"))
    for index, one in enumerate(lines[:MOST_LINES], 1):
        drawn = [(x(px), y(py)) for px, py in one.points]
        if drawn:
            shapes.append(path(stairs(drawn) if one.steps else drawn, f"l{index}"))
        if marked:
            shapes += [dot(px, py, 3.5, f"c{index} halo") for px, py in drawn]
    if len(lines) > 1:
        names = [one.name for one in lines[:MOST_LINES]]
        shapes += _legend(names, right, top + 4 + 20 * len(names) if falling else bottom)
    return frame(key, size, title, describe, *shapes)


def _legend(names: Sequence[str], right: float, bottom: float) -> list[Piece]:
    shapes: list[Piece] = []
    for index, name in enumerate(names):
        y = bottom - 14 - 20 * (len(names) - 1 - index)
        shapes.append(line((right - 44, y), (right - 10, y), f"l{index + 1}"))
        shapes.append(text_line(right - 52, y + 4, name, "t small label", "end"))
    return shapes


def power(key: str, lines: Sequence[tuple[str, Sequence[Point]]], *, target: float, effect: float) -> Markup:
    """Power by the number of tasks, a line for each assumed correlation."""
    return curves(
        key,
        [Curve(name, points) for name, points in lines],
        title=f"Power to see a difference of {effect * 100:.0f} points, by number of tasks",
        describe=f"{counted(len(lines), 'line')} of power by tasks, one for each assumption; "
        f"the dashed line is {share(target)}.",
        across_form=count,
        across_title="tasks",
        up_form=share,
        up_title="power",
        level=(target, f"wanted: {share(target)}"),
    )


def projection(
    key: str, rows: Sequence[tuple[float, float, float, float]], *, budget: float | None, paid: Currency = DOLLARS
) -> Markup:
    """Cost by the number of runs as (runs, low, expected, high), and the budget where there is one."""
    return curves(
        key,
        [
            Curve(
                "expected",
                [(runs, mid) for runs, _, mid, _ in rows],
                [(runs, low, high) for runs, low, _, high in rows],
            )
        ],
        title="Projected cost by number of runs",
        describe="The expected cost as a line and its range as a band"
        + (f"; the dashed line is the budget of {paid.form(budget)}." if budget is not None else "."),
        across_form=count,
        across_title="runs",
        up_form=paid.tick,
        up_title=paid.title,
        level=None if budget is None else (budget, f"budget: {paid.form(budget)}"),
    )
