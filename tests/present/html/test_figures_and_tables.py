"""Every figure of a report shows the numbers of its table: each mark, whisker, bar, line and label.

The findings are computed from runs, with intervals that reach further to one side than to the other, an agent that
always succeeds and one that never does. A figure without a check fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from proctor.present.html import page
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Question
from proctor.study.run_table import Table
from tests.present.html.drawn import Figure, at, close, figures, numbers, same, table
from tests.present.sample_parts import plan_part
from tests.study.analysis.made import Outcomes, runs

TASKS, TRIALS = 12, 3
NAMES = ("always", "never", "nearly & more", "seldom")


def outcomes() -> Outcomes:
    def won(agent: int, task: int, trial: int) -> int:
        return (1, 0, int((task, trial) != (3, 1)), int(task % 5 == 0 and trial != 2))[agent]

    return {
        name: {f"t{task:02d}": [won(agent, task, trial) for trial in range(TRIALS)] for task in range(TASKS)}
        for agent, name in enumerate(NAMES)
    }


def rows(priced: bool) -> list[dict[str, Any]]:
    """Runs with costs by item, times of which some are cut, gates and tags, all of them different."""
    found = runs(outcomes())
    for place, row in enumerate(found):
        agent, spread = NAMES.index(row["agent"]), 1 + (place * 37 % 101) / 50
        failed = row["status"] == "failure"
        row |= {
            "seconds": 45.0 * spread * (agent + 1),
            "censored": 0,
            "gate1": 1,
            "gate2": int(place % 11 != 0),
            "gate3": row["success"],
            "gate4": 1,
            "tags": f"kind-{place % 7};kind-{place % 3}" if failed else "",
        }
        if failed and place % 5 == 0:
            row |= {"censored": 1, "seconds": 900.0}
        if priced:
            parts = {"model_usd": 0.3 * spread * (agent + 1), "execution_usd": 0.02 * spread, "human_usd": 0.1}
            row |= {**parts, "cost_usd": sum(parts.values()) + 0.05, "review_usd": 0.5}
    return found


def found(priced: bool) -> dict[str, Any]:
    question = Question(against="seldom", minimum_effect=0.1)
    return {**findings(Table.from_rows(rows(priced)), question), "plan": plan_part()}


class Report:
    """A page with its figures."""

    def __init__(self, priced: bool) -> None:
        self.found = found(priced)
        self.html = page(self.found).decode()
        self.figures = figures(self.html)
        self.priced = priced


@pytest.fixture(scope="module", params=[True, False], ids=["with costs", "without costs"])
def report(request: pytest.FixtureRequest) -> Report:
    return Report(request.param)


CHECKS: dict[str, Callable[[Report, Figure], None]] = {}


def check(pattern: str) -> Callable[[Callable[[Report, Figure], None]], Callable[[Report, Figure], None]]:
    def keep(function: Callable[[Report, Figure], None]) -> Callable[[Report, Figure], None]:
        CHECKS[pattern] = function
        return function

    return keep


def test_p4_every_figure_shows_the_numbers_of_its_table(report: Report) -> None:
    seen = set()
    for key, figure in report.figures.items():
        (pattern,) = [pattern for pattern in CHECKS if re.fullmatch(pattern, key)]
        CHECKS[pattern](report, figure)
        seen.add(pattern)
    missing = {r"items", r"offers", r"cost_usd\d+"} if not report.priced else set()
    assert seen == CHECKS.keys() - missing


def test_p4_intervals_here_tell_both_sides_apart(report: Report) -> None:
    """Else a whisker of the same length to both sides would go unnoticed."""
    rates = [row["success"] for row in report.found["agents"]]
    sides = [(rate["value"] - rate["low"], rate["high"] - rate["value"]) for rate in rates]
    assert all(abs(below - above) > 0.05 for below, above in sides)


def rates(report: Report) -> dict[str, str]:
    return {row["Agent"]: row["Success"] for row in table(report.html, "Rates of each agent, best first")}


@check(r"glance\d+")
def _glance(report: Report, figure: Figure) -> None:
    name, _, said = figure.title.partition(": ")
    text = rates(report)[name]
    assert numbers(said) == numbers(text)
    (whole,), (inside,) = figure.shapes("rect", "c0"), figure.shapes("rect", "band-strong")
    (tick,) = figure.shapes("line", "tick")
    wide = at(whole, "width")
    drawn = [at(tick, "x1"), at(inside, "x"), at(inside, "x") + at(inside, "width")]
    for pixel, value in zip(drawn, numbers(text), strict=True):
        assert abs((pixel - at(whole, "x")) / wide - value) <= 0.0005 + 0.21 / wide


def _forest(figure: Figure, texts: dict[str, str], factor: float = 1.0) -> None:
    axis = figure.axis("x", factor)
    marks = figure.shapes("rect", "point")
    ends = [one for one in figure.shapes("line", "whisker") if at(one, "x1") != at(one, "x2")]
    caps = [one for one in figure.shapes("line", "whisker") if at(one, "x1") == at(one, "x2")]
    labels = figure.shapes("text", "small")
    assert len(marks) == len(ends) == len(labels) == len(texts) and len(caps) == 2 * len(ends)
    for mark, end, label, text in zip(marks, ends, labels, texts.values(), strict=True):
        assert close(at(mark, "x") + at(mark, "width") / 2, text, axis, factor)
        assert close(at(end, "x1"), text, axis, factor, 1) and close(at(end, "x2"), text, axis, factor, 2)
        assert numbers("".join(label.itertext()), factor) == numbers(text, factor)
    assert sorted(at(one, "x1") for one in caps) == sorted(at(one, way) for one in ends for way in ("x1", "x2"))
    shown = figure.texts()
    assert all(name in shown for name in texts)


@check("agents-forest")
def _agents(report: Report, figure: Figure) -> None:
    _forest(figure, rates(report))


@check("pairs")
def _pairs(report: Report, figure: Figure) -> None:
    listed = table(report.html, "Pairs of agents: first minus second")
    _forest(figure, {f"{row['First']} \u2212 {row['Second']}": row["Difference, points"] for row in listed}, 0.01)
    axis = figure.axis("x", 0.01)
    (none,), (worth,) = figure.shapes("line", "base"), figure.shapes("line", "mark-line")
    assert same([at(none, "x1"), at(worth, "x1")], [0.0, report.found["question"]["minimum_effect"]], axis)


@check("offers")
def _offers(report: Report, figure: Figure) -> None:
    listed = table(report.html, "Success against the cost of a run")
    x, y = figure.axis("x"), figure.axis("y")
    dots = {(at(one, "cx"), at(one, "cy")) for one in figure.shapes("circle", "point")}
    whiskers = {at(one, "x1"): one for one in figure.shapes("line", "whisker")}
    assert len(dots) == len(whiskers) == len(listed) == len(NAMES)
    for row in listed:
        assert row["Success"] == rates(report)[row["Agent"]], "both tables have the same estimate"
        (dot,) = [(cx, cy) for cx, cy in dots if close(cx, row["Cost of a run"], x) and close(cy, row["Success"], y)]
        whisker = whiskers[dot[0]]
        assert close(at(whisker, "y1"), row["Success"], y, place=1)
        assert close(at(whisker, "y2"), row["Success"], y, place=2)
        assert row["Agent"] in figure.texts()
    values = {row["Agent"]: (numbers(row["Cost of a run"])[0], numbers(row["Success"])[0]) for row in listed}
    best = [
        (usd, rate)
        for usd, rate in sorted(values.values())
        if not any(other <= usd and more >= rate and (other, more) != (usd, rate) for other, more in values.values())
    ]
    if len(best) > 1:
        front = figure.path("front")
        assert all(dot in dots for dot in front)
        assert [round(y(py), 2) for _, py in front] == [round(rate, 2) for _, rate in best]
    else:
        assert figure.shapes("path", "front") == []


@check("precision")
def _precision(report: Report, figure: Figure) -> None:
    by = "cost" if report.priced else "runs"
    listed = table(report.html, f"Half of the interval against the {by} of a study")
    x, y = figure.axis("x"), figure.axis("y", 0.01)
    dots: list[tuple[float, float]] = []
    for place, name in enumerate(figure.legend(), 1):
        assert figure.path(f"l{place}") == [
            (at(one, "cx"), at(one, "cy")) for one in figure.shapes("circle", f"c{place}")
        ]
        dots += figure.path(f"l{place}")
        repeats = numbers(name)[0]
        wanted = [row for row in listed if numbers(row["Runs of each task"])[0] == repeats]
        assert len(wanted) == len(figure.path(f"l{place}"))
        for (px, py), row in zip(figure.path(f"l{place}"), wanted, strict=True):
            assert close(py, row["Half of the interval, points"], y, 0.01)
            if report.priced:
                assert close(px, row["Cost"], x)
            else:
                assert same([px], [repeats * numbers(row["Tasks"])[0]], x)
    assert len(dots) == len(listed)


@check("items")
def _items(report: Report, figure: Figure) -> None:
    listed = [row for row in table(report.html, "Cost by item and phase") if row["Phase"] != "review after the run"]
    axis = figure.axis("x")
    items = [text for text in figure.texts() if text in {row["Item"] for row in listed}]
    start = axis.origin
    for place, name in enumerate(NAMES):
        reached = start
        for number, item in enumerate(items, 1):
            bar = [one for one in figure.shapes("rect", f"c{number}") if at(one, "height") != 12][_rank(report, name)]
            spent = [row["US dollars"] for row in listed if (row["Agent"], row["Item"]) == (name, item)]
            assert abs(at(bar, "x") - reached) <= 0.21
            slack = axis.tolerance * 2 + 0.005 * len(spent)
            assert abs(axis(axis.origin + at(bar, "width")) - axis.value - sum(map(_dollars, spent))) <= slack
            reached = at(bar, "x") + at(bar, "width")
        total = [text for text in figure.texts() if re.fullmatch(r"\$[\d.,]+", text) and text not in _ticks(figure)]
        every = sum(_dollars(row["US dollars"]) for row in listed if row["Agent"] == name)
        assert abs(_dollars(total[_rank(report, name)]) - every) <= 0.005 * (len(items) * 4 + 1), place


def _rank(report: Report, name: str) -> int:
    return [row["agent"] for row in report.found["agents"]].index(name)


def _dollars(text: str) -> float:
    return numbers(text)[0]


def _ticks(figure: Figure) -> list[str]:
    return ["".join(one.itertext()) for one in figure.shapes("text", "axis")]


@check(r"(seconds|cost_usd)\d+")
def _survival(report: Report, figure: Figure) -> None:
    kind = figure.key.rstrip("0123456789")
    agent = figure.title.partition(": share of runs")[0]
    name = {"seconds": "Time", "cost_usd": "Cost"}[kind]
    (row,) = [row for row in table(report.html, f"{name} of a run until it ends") if row["Agent"] == agent]
    (given,) = [one for one in report.found["survival"] if (one["agent"], one["of"]) == (agent, kind)]
    x, y = figure.axis("x"), figure.axis("y")
    line = figure.path("l1")
    corners = [(0.0, 1.0), *((step[0], step[1]) for step in given["steps"])]
    assert same([px for px, _ in line[::2]], [one for one, _ in corners], x), "a corner for each step"
    assert same([py for _, py in line[::2]], [one for _, one in corners], y)
    assert all(low[1] == high[1] for low, high in pairwise(line) if low[0] != high[0]), "flat between steps"
    band = figure.path("band")
    assert same([band[0][1]], [given["steps"][0][3]], y) and same([band[-1][1]], [given["steps"][0][2]], y)
    if row["Median"] == "not reached":
        assert min(y(py) for _, py in line) > 0.5
    else:
        half = next(px for px, py in line if y(py) <= 0.5 + y.tolerance)
        assert close(half, row["Median"], x)
    cut = figure.shapes("line", "mark-line")
    assert len(cut) == int(row["Cut at"] not in ("none", "several"))
    assert all(close(at(one, "x1"), row["Cut at"], x) for one in cut)
    until = numbers(row["Mean is up to"])[0]
    area = sum((min(x(b[0]), until) - min(x(a[0]), until)) * y(a[1]) for a, b in pairwise(line) if a[0] != b[0])
    area += max(0.0, until - x(line[-1][0])) * y(line[-1][1])
    assert area == pytest.approx(numbers(row["Mean"])[0], rel=0.02)


@check(r"modes\d+")
def _modes(report: Report, figure: Figure) -> None:
    agent = figure.title.partition(": failure modes")[0]
    caption = "Failure modes found, unseen at the least, and the price of one more"
    (row,) = [row for row in table(report.html, caption) if row["Agent"] == agent]
    (given,) = [one for one in report.found["modes"]["discovery"] if one["agent"] == agent]
    x, y = figure.axis("x"), figure.axis("y")
    line = figure.path("l1")
    across = [step[1] if report.priced else step[0] for step in given["curve"]]
    assert same([px for px, _ in line], across, x) and same([py for _, py in line], [s[2] for s in given["curve"]], y)
    assert same([line[-1][1]], numbers(row["Modes found"]), y)


@check(r"funnel\d+")
def _funnel(report: Report, figure: Figure) -> None:
    agent = figure.title.partition(": runs left")[0]
    (row,) = [row for row in table(report.html, "Runs left after each gate") if row["Agent"] == agent]
    cells = [text for name, text in row.items() if name != "Agent"]
    bars, whole = figure.shapes("rect", "c1"), at(figure.shapes("rect", "stripe")[0], "width")
    labels = [text for text in figure.texts() if re.match(r"[\d,]+ \(|not reached", text)]
    assert len(bars) == len(cells) == len(labels)
    for bar, label, text in zip(bars, labels, cells, strict=True):
        left = 0.0 if text == "not reached" else numbers(text)[0]
        part = left / (TASKS * TRIALS)
        assert abs(at(bar, "width") - part * whole) <= 0.11
        assert label == text or numbers(label) == [left, pytest.approx(part, abs=0.0005)]


@check("power")
def _power(report: Report, figure: Figure) -> None:
    listed = table(report.html, "Power by number of tasks")
    x, y = figure.axis("x"), figure.axis("y")
    assert figure.legend() == [name for name in listed[0] if name != "Tasks"]
    for place, name in enumerate(figure.legend(), 1):
        for (px, py), row in zip(figure.path(f"l{place}"), listed, strict=True):
            assert close(px, row["Tasks"], x) and close(py, row[name], y)
    (wanted,) = figure.shapes("line", "mark-line")
    (text,) = [text for text in figure.texts() if text.startswith("wanted: ")]
    assert close(at(wanted, "y1"), text, y) and numbers(text) == [report.found["plan"]["power"]["target"]]


@check("projection")
def _projection(report: Report, figure: Figure) -> None:
    listed = table(report.html, "Projected cost by number of runs")
    x, y = figure.axis("x"), figure.axis("y")
    band = figure.path("band")
    upper, lower = band[: len(listed)], band[len(listed) :][::-1]
    for row, mid, high, low in zip(listed, figure.path("l1"), upper, lower, strict=True):
        for point, name in ((mid, "Expected"), (high, "High"), (low, "Low")):
            assert close(point[0], row["Runs"], x) and close(point[1], row[name], y)
    (budget,) = figure.shapes("line", "mark-line")
    (text,) = [text for text in figure.texts() if text.startswith("budget: ")]
    assert close(at(budget, "y1"), text, y) and numbers(text) == [report.found["plan"]["projection"]["budget_usd"]]
