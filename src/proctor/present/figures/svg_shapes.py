"""What every figure is made of: scales with round ticks, shapes with short numbers, and the frame with its description.

Coordinates are pixels of the figure's own box; a page scales the whole. The same rows give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import TypeVar

from proctor.present.html_markup import Markup, Piece, tag, trusted
from proctor.present.readable_numbers import ANY_STEPS, STEPS, Form, Steps

Point = tuple[float, float]
Row = TypeVar("Row")

_DECIMALS = re.compile(r"\.\d+")
_ZEROS = re.compile(r"\.0+(?=\D*$)")

NARROWEST = 1e-10
"""Values that differ by less are drawn as one; ticks have 12 decimals."""
LETTER = 0.56
"""How wide a letter is on average, as a part of the font's size."""


@dataclass(frozen=True)
class Scale:
    """A straight line from values to pixels, with the round values on it."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)


def scale(
    low: float,
    high: float,
    start: float,
    end: float,
    marks: int = 5,
    tight: bool = False,
    unit: float = 1,
    form: Form | None = None,
) -> Scale:
    """A scale that holds ``low`` to ``high`` and ends on round values, or exactly on the two when ``tight``.

    A value is round if it is round when counted in ``unit``, such as 60 for seconds that are shown as minutes, and if
    ``form`` writes it without rounding.
    """
    if not high - low > NARROWEST:
        pad = abs(low) * 0.1 if abs(low) > NARROWEST else 0.5
        low, high = low - pad, high + pad
    step = _step((high - low) / max(1, marks) / unit, STEPS.get(form, ANY_STEPS) if form else ANY_STEPS) * unit
    first, last = (ceil(low / step - 1e-9), floor(high / step + 1e-9)) if tight else (0, 0)
    if not tight:
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        low, high = round(first * step, 12), round(last * step, 12)
    return Scale(low, high, start, end, tuple(round(mark * step, 12) for mark in range(first, last + 1)))


def _step(rough: float, steps: Steps) -> float:
    rough = max(rough, steps.least)
    size = 10.0 ** floor(log10(rough))
    nice = (1, 2, 2.5, 5, 10) if steps.quarters else (1, 2, 5, 10)
    return float(next(size * one for one in nice if size * one >= rough * (1 - 1e-9)))


def number(value: float) -> str:
    """A coordinate in as few characters as a tenth of a pixel needs."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def fit(text: str, width: float, size: float = 13) -> str:
    """A label cut to what fits into ``width`` pixels."""
    room = max(4, int(width / (size * LETTER)))
    return text if len(text) <= room else text[: room - 1].rstrip() + "\u2026"


def line(start: Point, end: Point, look: str) -> Markup:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return tag("line", x1=number(x1), y1=number(y1), x2=number(x2), y2=number(y2), class_=look)


def box(x: float, y: float, width: float, height: float, look: str, round_: float | None = None) -> Markup:
    """A rectangle."""
    corner = None if round_ is None else number(round_)
    return tag(
        "rect", x=number(x), y=number(y), width=number(max(0, width)), height=number(height), rx=corner, class_=look
    )


def dot(x: float, y: float, radius: float, look: str) -> Markup:
    """A round mark."""
    return tag("circle", cx=number(x), cy=number(y), r=number(radius), class_=look)


def text_line(x: float, y: float, text: Piece, look: str = "t", anchor: str | None = None) -> Markup:
    """A line of text; ``anchor`` is middle or end."""
    return tag("text", text, x=number(x), y=number(y), class_=look, text_anchor=anchor)


def path(points: Sequence[Point], look: str, closed: bool = False) -> Markup:
    """Lines from point to point."""
    steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=trusted(f"M{steps}{'Z' if closed else ''}"), class_=look)


def thinned(rows: Sequence[Row], most: int) -> list[Row]:
    """At most ``most`` of ``rows``, spread evenly, including the first and the last."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / (most - 1))] for place in range(most)]


def stairs(points: Sequence[Point]) -> list[Point]:
    """The points of a step function: flat until the next one, then straight up or down."""
    walked: list[Point] = []
    for x, y in points:
        if walked:
            walked.append((x, walked[-1][1]))
        walked.append((x, y))
    return walked


def _named(axis: Scale, form: Callable[[float], str]) -> list[tuple[float, str]]:
    """The ticks with their texts, without decimals where none of them needs any."""
    texts = [form(tick) for tick in axis.ticks]
    if all(_DECIMALS.sub("", text) == text or _ZEROS.search(text) for text in texts):
        texts = [_ZEROS.sub("", text) for text in texts]
    return list(zip(axis.ticks, texts, strict=True))


def across(axis: Scale, top: float, bottom: float, form: Callable[[float], str], title: str = "") -> Markup:
    """Grid lines of a horizontal axis, their values below, and what is measured."""
    parts = [line((axis(tick), top), (axis(tick), bottom), "grid") for tick in axis.ticks]
    parts += [text_line(axis(tick), bottom + 17, text, "t axis", "middle") for tick, text in _named(axis, form)]
    if title:
        parts.append(text_line((axis.start + axis.end) / 2, bottom + 36, title, "t axis", "middle"))
    return tag("g", parts)


def upward(axis: Scale, left: float, right: float, form: Callable[[float], str], title: str = "") -> Markup:
    """Grid lines of a vertical axis, their values to the left, and what is measured above."""
    parts = [line((left, axis(tick)), (right, axis(tick)), "grid") for tick in axis.ticks]
    parts += [text_line(left - 7, axis(tick) + 4, text, "t axis", "end") for tick, text in _named(axis, form)]
    if title:
        parts.append(text_line(0, min(axis.start, axis.end) - 12, title, "t axis"))
    return tag("g", parts)


def frame(key: str, size: tuple[float, float], title: str, describe: str, *shapes: Piece) -> Markup:
    """The whole figure. ``key`` must be its own within a page: the title and the description are found by it."""
    width, height = (number(length) for length in size)
    return tag(
        "svg",
        tag("title", title, id=f"{key}-title"),
        tag("desc", describe, id=f"{key}-desc"),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        class_="figure",
    )


def look() -> str:
    """The style sheet of all figures."""
    return Path(__file__).with_name("look.css").read_text("utf-8")


def standalone(figure: Markup) -> bytes:
    """A figure as a file of its own, with its colours."""
    start, end, rest = figure.partition(">")
    return f"{start}{end}<style>{look()}</style>{rest}\n".encode()
