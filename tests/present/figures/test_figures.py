"""Figures show what they are given, at the place where it belongs, and describe themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proctor.present.figures.bar_charts import funnel, stacked
from proctor.present.figures.interval_plots import Offer, Whisker, forest, frontier, tradeoff
from proctor.present.figures.line_charts import SMALL, Curve, curves, power, projection
from proctor.present.figures.svg_shapes import across, fit, scale, stairs, standalone, thinned
from proctor.present.html_markup import Markup
from proctor.present.readable_numbers import Form, count, duration, money, plain, points, share, units
from tests.present.html.drawn import numbers

HOSTILE = '<script>alert(1)</script> & "quoted"'
OFFERS = (Offer("cheap", 3, 0.1, 0.3, 0.25, 0.4), Offer("good", 1, 1.0, 0.7, 0.6, 0.75), Offer("beaten", 2, 1.2, 0.6))


def survival() -> Markup:
    curve = Curve(HOSTILE, [(0, 1), (600, 0.5), (1800, 0.1)], [(600, 0.4, 0.6), (1800, 0.05, 0.2)], steps=True)
    return curves(
        "s",
        [curve],
        title=HOSTILE,
        describe="falls",
        across_form=duration,
        across_title="time",
        up_form=share,
        up_title="left",
        size=SMALL,
        unit=60,
        at=1800,
    )


FIGURES: dict[str, Callable[[], Markup]] = {
    "forest": lambda: forest(
        "f", [Whisker(HOSTILE, 0.5, 0.4, 0.6), Whisker("b", None, why="x")], title="t", measure="m"
    ),
    "forest of nothing known": lambda: forest("f", [Whisker("b", None)], title="t", measure="m", bounds=(0, 1)),
    "trade-off": lambda: tradeoff("o", OFFERS, title=HOSTILE),
    "trade-off of many": lambda: tradeoff("o", [Offer(f"a{n}", n, n / 9, n / 20) for n in range(1, 20)], title="t"),
    "survival": survival,
    "power": lambda: power("p", [("a", [(5, 0.2), (50, 0.9)]), ("b", [(5, 0.1), (50, 0.7)])], target=0.8, effect=0.1),
    "projection": lambda: projection("p", [(0, 0, 0, 0), (100, 30, 43, 60)], budget=50),
    "stacked": lambda: stacked("i", [(HOSTILE, {"model": 3.0, "human": 1.0})], ["model", "human"], title="t"),
    "stacked of nothing": lambda: stacked("i", [("a", {})], ["model"], title="t"),
    "funnel": lambda: funnel("g", [("attempted", 10), ("gate 1", 4)], title=HOSTILE),
    "funnel of nothing": lambda: funnel("g", [("attempted", 0)], title="t"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_well_formed_and_describes_itself(name: str) -> None:
    figure = FIGURES[name]()
    root = ElementTree.fromstring(standalone(figure))
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    for part, attribute in (("title", "aria-labelledby"), ("desc", "aria-describedby")):
        found = root.find(space + part)
        assert found is not None
        assert found.text
        assert found.get("id") == root.get(attribute)
    assert root.find(f".//{space}script") is None


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_lies_outside_its_box(name: str) -> None:
    figure = FIGURES[name]()
    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', figure)
    assert found
    width, height = float(found[1]), float(found[2])
    for axis, limit in (("x", width), ("y", height)):
        for attribute in (axis, f"{axis}1", f"{axis}2", f"c{axis}"):
            values = [float(value) for value in re.findall(rf' {attribute}="(\S+?)"', figure)]
            assert all(0 <= value <= limit for value in values), (attribute, values)
    for drawn in re.findall(r' d="M(.*?)Z?"', figure):
        pairs = [tuple(map(float, point.split())) for point in drawn.split("L")]
        assert all(0 <= x <= width and 0 <= y <= height for x, y in pairs)


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_rows_give_the_same_figure(name: str) -> None:
    assert FIGURES[name]() == FIGURES[name]()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 8))
def test_a_scale_holds_what_it_is_made_for(low: float, wide: float, marks: int) -> None:
    assume(wide > abs(low) * 1e-9)
    axis = scale(low, low + wide, 0, 100, marks)
    assert axis.low <= low + 1e-6 * wide
    assert axis.high >= low + wide - 1e-6 * wide
    assert list(axis.ticks) == sorted(axis.ticks)
    assert 2 <= len(axis.ticks) <= 2 * marks + 3


def test_ticks_are_round_in_the_unit_that_is_read() -> None:
    assert scale(0, 1800, 0, 100, 3, tight=True, unit=60).ticks == (0, 600, 1200, 1800)
    assert scale(0, 1, 0, 100, 4, form=share).ticks == (0, 0.25, 0.5, 0.75, 1)
    assert scale(0.31, 0.74, 0, 100).low == 0.3


def test_ticks_have_decimals_only_where_one_needs_them() -> None:
    assert re.findall(r">([^<]+)</text>", across(scale(0, 1500, 0, 9, 3), 0, 9, money)) == [
        "$0",
        "$500",
        "$1,000",
        "$1,500",
    ]
    assert re.findall(r">([^<]+)</text>", across(scale(0, 1, 0, 9, 4), 0, 9, money))[1] == "$0.50"


def test_a_value_at_the_middle_is_drawn_in_the_middle() -> None:
    axis = scale(0, 10, 100, 200)
    assert (axis(0), axis(5), axis(10), axis(99)) == (100, 150, 200, 200)


def test_a_step_function_is_flat_between_its_steps() -> None:
    assert stairs([(0, 1), (2, 0.5)]) == [(0, 1), (2, 1), (2, 0.5)]


def test_long_names_are_cut_to_their_room() -> None:
    assert fit("short", 100) == "short"
    assert fit("x" * 100, 100).endswith("\u2026")
    assert len(fit("x" * 100, 100)) <= 14


def test_the_frontier_holds_those_that_none_beats() -> None:
    assert [offer.name for offer in frontier(OFFERS)] == ["cheap", "good"]


def test_an_undefined_rate_is_said_and_not_drawn() -> None:
    figure = forest("f", [Whisker("b", None, why="there is one task")], title="t", measure="m")
    assert "undefined: there is one task" in figure
    assert "point" not in figure


FORMS: dict[str, tuple[Form, float, float]] = {
    "count": (count, 1, 1),
    "share": (share, 1, 1e-2),
    "points": (points, 1e-2, 1e-2),
    "duration": (duration, 1, 1),
    "money": (money, 1, 1e-6),
    "units": (units, 1, 1e-6),
    "plain": (plain, 1, 1e-6),
}
"""What 1 without a unit means, and the least range that an axis of it is tried with."""


@pytest.mark.parametrize("name", FORMS)
@given(st.floats(0, 6), st.sampled_from([3, 4, 5, 6]), st.booleans())
def test_p4_a_tick_is_written_as_what_it_is(name: str, size: float, marks: int, tight: bool) -> None:
    form, factor, least = FORMS[name]
    high = least * 10**size
    unit = 3600 if name == "duration" and high >= 7200 else 60 if name == "duration" and high >= 120 else 1
    for tick in scale(0, high, 0, 100, marks, tight, unit, form).ticks:
        assert numbers(form(tick), factor) == [pytest.approx(tick, rel=1e-9, abs=1e-12)]


def test_p4_thinning_keeps_both_ends() -> None:
    assert thinned([1, 2, 3], 3) == [1, 2, 3]
    assert thinned(range(201), 200)[::199] == [0, 200]
    assert thinned(range(1000), 3) == [0, 500, 999]
