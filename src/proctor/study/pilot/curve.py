"""A plan's curves as small SVG files that stand alone: lines over one axis, told apart by dashes as well as by colour.

Pure text from numbers. Reports draw their own figures; these lie beside the tables that they show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 410
LEFT, RIGHT, TOP, BOTTOM = 70, 640, 56, 330
COLOURS = ("#1f5fa8", "#a8451f", "#2e7d32", "#7b3fa0", "#6b6b00")
DASHES = ("none", "7 4", "2 3", "10 3 2 3", "5 2")
TICKS = 5
STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0)
MOST_POINTS = 400


@dataclass(frozen=True)
class Line:
    """One line with its name."""

    name: str
    points: tuple[tuple[float, float], ...]


def svg(
    title: str,
    across: str,
    up: str,
    lines: Sequence[Line],
    level: tuple[str, float] | None = None,
    at_x: tuple[str, float] | None = None,
) -> bytes:
    """The figure of ``lines``; ``level`` and ``at_x`` are named values to hold them against."""
    points = [point for line in lines for point in line.points]
    right = _round_up(max([x for x, _ in points] + ([at_x[1]] if at_x else []), default=1.0))
    top = _round_up(max([y for _, y in points] + ([level[1]] if level else []), default=1.0))

    def at(x: float, y: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * x / right:.1f},{BOTTOM - (BOTTOM - TOP) * y / top:.1f}"

    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-labelledby="title describe" font-family="sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="describe">{escape(_describe(across, up, lines, (level, at_x)))}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_axes(across, up, right, top),
    ]
    if level:
        name, value = level
        body.append(f'<polyline points="{at(0, value)} {at(right, value)}" stroke="#555555" stroke-dasharray="1 3"/>')
        y = BOTTOM - (BOTTOM - TOP) * value / top
        body.append(f'<text x="{RIGHT + 8}" y="{y + 4:.1f}" fill="#333333">{escape(name)}</text>')
    if at_x:
        name, value = at_x
        body.append(f'<polyline points="{at(value, 0)} {at(value, top)}" stroke="#555555" stroke-dasharray="1 3"/>')
        x = LEFT + (RIGHT - LEFT) * value / right
        body.append(f'<text x="{x:.1f}" y="{TOP - 4}" text-anchor="middle" fill="#333333">{escape(name)}</text>')
    for index, line in enumerate(lines):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        drawn = " ".join(at(x, y) for x, y in _thinned(line.points))
        body.append(
            f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = HEIGHT - 18
        left = LEFT + index * (WIDTH - LEFT) // max(len(lines), 1)
        body.append(
            f'<polyline points="{left},{y - 4} {left + 28},{y - 4}" stroke="{colour}" stroke-dasharray="{dash}"'
        )
        body[-1] += ' stroke-width="2"/>'
        body.append(f'<text x="{left + 34}" y="{y}">{escape(line.name)}</text>')
    return "\n".join([*body, "</svg>", ""]).encode()


def _axes(across: str, up: str, right: float, top: float) -> Iterator[str]:
    for tick in range(TICKS + 1):
        x = LEFT + (RIGHT - LEFT) * tick / TICKS
        y = BOTTOM - (BOTTOM - TOP) * tick / TICKS
        yield f'<polyline points="{LEFT},{y:.1f} {RIGHT},{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{top * tick / TICKS:g}</text>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{right * tick / TICKS:g}</text>'
    yield f'<polyline points="{LEFT},{TOP} {LEFT},{BOTTOM} {RIGHT},{BOTTOM}" fill="none" stroke="#333333"/>'
    yield f'<text x="{(LEFT + RIGHT) // 2}" y="{BOTTOM + 36}" text-anchor="middle">{escape(across)}</text>'
    middle = (TOP + BOTTOM) // 2
    yield f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{escape(up)}</text>'


def _describe(across: str, up: str, lines: Sequence[Line], marks: Sequence[tuple[str, float] | None]) -> str:
    """The ends of every line in words, for those who do not see it."""
    parts = [
        f"{line.name}: {up} {line.points[0][1]:g} at {line.points[0][0]:g}, {line.points[-1][1]:g} at "
        f"{line.points[-1][0]:g} ({across})"
        for line in lines
        if line.points
    ]
    return "; ".join([*parts, *(f"{mark[0]} is at {mark[1]:g}" for mark in marks if mark)])


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most so many points as can be seen, the last one among them."""
    step = max(1, ceil(len(points) / MOST_POINTS))
    return [*points[:-1:step], *points[-1:]]


def _round_up(value: float) -> float:
    """The next value that five equal ticks show well."""
    if value <= 0:
        return 1.0
    size = 10.0 ** floor(log10(value))
    return next((step * size for step in STEPS if step * size >= value * 0.999999), 10 * size)
