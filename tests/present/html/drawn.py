"""Numbers read back from the figures and the tables of a page.

A figure is read by its geometry: the ticks of an axis, which are text beside grid lines, turn pixels into numbers. A
table is read by what its cells show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree

SPACE = "{http://www.w3.org/2000/svg}"
UNITS = {"%": 0.01, " s": 1.0, " min": 60.0, " h": 3600.0, " units": 1.0, " unit": 1.0}
NUMBER = re.compile(r"[+-]?\$?[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?(?:%| s\b| min\b| h\b| units?\b)?")

Point: TypeAlias = tuple[float, float]


def numbers(text: str, factor: float = 1.0) -> list[float]:
    """Every number in a text, in the unit that stands behind it; ``factor`` is what 1 without a unit means."""
    found = []
    for match in NUMBER.findall(text.replace("\u2212", "-")):
        bare = match.replace(",", "").replace("$", "")
        unit = next((unit for unit in sorted(UNITS, key=len, reverse=True) if bare.endswith(unit)), "")
        found.append(float(bare.removesuffix(unit)) * (UNITS[unit] if unit else factor))
    return found


def precision(text: str, factor: float = 1.0) -> float:
    """How far a number in a text may be from what it was written from: half of its last digit."""
    match = NUMBER.search(text.replace("\u2212", "-"))
    assert match, text
    bare = match[0].replace(",", "")
    decimals = len(found[1]) if (found := re.search(r"\.(\d+)", bare)) else 0
    unit = next((unit for unit in sorted(UNITS, key=len, reverse=True) if bare.endswith(unit)), "")
    return 0.5 * 10.0**-decimals * (UNITS[unit] if unit else factor)


@dataclass(frozen=True)
class Axis:
    """From pixels to numbers."""

    origin: float
    value: float
    slope: float

    def __call__(self, pixel: float) -> float:
        return self.value + (pixel - self.origin) * self.slope

    @property
    def tolerance(self) -> float:
        """What pixels that are written with one decimal leave open: those of the mark and of both ticks."""
        return abs(self.slope) * 0.2


class Figure:
    """One ``<svg>`` of a page."""

    def __init__(self, markup: str) -> None:
        self.root = ElementTree.fromstring(markup)
        self.key = str(self.root.get("aria-labelledby")).removesuffix("-title")
        self.title = str(self.root.findtext(f"{SPACE}title"))

    def shapes(self, name: str, *looks: str) -> list[ElementTree.Element]:
        """The elements of a kind that have every one of these looks."""
        return [one for one in self.root.iter(SPACE + name) if set(looks) <= set(str(one.get("class")).split())]

    def texts(self) -> list[str]:
        return ["".join(one.itertext()) for one in self.shapes("text")]

    def axis(self, way: str, factor: float = 1.0) -> Axis:
        """The axis along ``x`` or ``y``, from its first and its last tick."""
        other = "y" if way == "x" else "x"
        lines = [one for one in self.shapes("line", "grid") if one.get(f"{way}1") == one.get(f"{way}2")]
        lines = [one for one in lines if one.get(f"{other}1") != one.get(f"{other}2")]
        places = [at(one, f"{way}1") for one in lines]
        shift = 0.0 if way == "x" else 4.0
        ticks = []
        for place in places:
            (text,) = [
                one
                for one in self.shapes("text", "axis")
                if abs(at(one, way) - shift - place) < 0.11
                and one.get("text-anchor") == ("middle" if way == "x" else "end")
                and numbers("".join(one.itertext()))
            ]
            ticks.append((place, numbers("".join(text.itertext()), factor)[0]))
        (first, low), (last, high) = ticks[0], ticks[-1]
        for place, value in ticks:  # every tick is where a straight line has it
            assert abs((place - first) * (high - low) - (value - low) * (last - first)) <= 0.2 * abs(high - low)
        return Axis(first, low, (high - low) / (last - first))

    def path(self, look: str) -> list[Point]:
        """The points of the one path with this look."""
        (found,) = self.shapes("path", look)
        steps = str(found.get("d")).removeprefix("M").removesuffix("Z").split("L")
        return [(float(x), float(y)) for x, y in (step.split() for step in steps)]

    def legend(self) -> list[str]:
        return ["".join(one.itertext()) for one in self.shapes("text", "label") if one.get("text-anchor") == "end"]


def at(shape: ElementTree.Element, name: str) -> float:
    """A coordinate."""
    return float(str(shape.get(name)))


Row: TypeAlias = dict[str, str]


def figures(html: str) -> dict[str, Figure]:
    """The figures of a page by key."""
    found = [Figure(markup) for markup in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
    assert len({one.key for one in found}) == len(found)
    return {one.key: one for one in found}


def table(html: str, caption: str) -> list[Row]:
    """The rows of the table with this caption: the texts of cells by the titles of their columns."""
    (found,) = [
        one for one in re.findall(r"<table.*?</table>", html, re.DOTALL) if f"<caption>{caption}</caption>" in one
    ]
    root = ElementTree.fromstring(found)
    heads = ["".join(one.itertext()) for one in root.findall("thead/tr/th")]
    return [
        dict(zip(heads, (" ".join(cell.itertext()) for cell in row), strict=True)) for row in root.findall("tbody/tr")
    ]


def close(drawn: float, text: str, axis: Axis, factor: float = 1.0, place: int = 0) -> bool:
    """Whether a pixel shows the number ``place`` of a cell, as far as both are written."""
    shown = NUMBER.findall(text.replace("\u2212", "-"))[place]
    return abs(axis(drawn) - numbers(shown, factor)[0]) <= axis.tolerance + precision(shown, factor) + 1e-12


def same(drawn: Sequence[float], given: Sequence[float], axis: Axis) -> bool:
    """Whether pixels show the given numbers."""
    return len(drawn) == len(given) and all(
        abs(axis(pixel) - value) <= axis.tolerance for pixel, value in zip(drawn, given, strict=True)
    )
