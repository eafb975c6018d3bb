"""The plan of a pilot as curves: power by tasks under several assumptions, and cost by runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.amounts import Currency, count, counted, known, share
from proctor.present.figures.canvas import thinned
from proctor.present.figures.curves import MOST_LINES, power, projection
from proctor.present.html.table import Cell, Column, absent, folded, framed, table
from proctor.present.markup import Piece, tag

MOST_POINTS = 200


def planned(given: Mapping[str, Any], paid: Currency) -> list[Piece]:
    """Both curves, each with its table."""
    return [*_power(given.get("power") or {}), *_projection(given.get("projection") or {}, paid)]


def _power(given: Mapping[str, Any]) -> list[Piece]:
    heading = tag("h3", "Power")
    lines = [
        (str(one.get("name")), [(float(tasks), float(value)) for tasks, value in one.get("points") or ()])
        for one in given.get("curves") or ()
    ][:MOST_LINES]
    if not lines:
        return [heading, absent("the plan holds no power analysis")]
    target, effect = known(given.get("target")) or 0.8, known(given.get("minimum_effect")) or 0.0
    figure = power("power", lines, target=target, effect=effect)
    sizes = sorted({tasks for _, points in lines for tasks, _ in points})
    found = {(name, tasks): value for name, points in lines for tasks, value in points}
    rows: list[list[Cell | Piece]] = [
        [count(size), *(Cell(share(found.get((name, size))), found.get((name, size))) for name, _ in lines)]
        for size in sizes
    ]
    columns = [Column("Tasks", True), *(Column(name, True) for name, _ in lines)]
    made = table("Power by number of tasks", columns, rows)
    if given.get("supported") is not None:
        said = tag("p", tag("strong", f"The plan {_reached(given)}:"), " ", str(given.get("why") or ""))
        heading = tag("div", heading, said, _original(given.get("original") or {}))
    return [heading, framed(figure, "Power by number of tasks, as a figure"), folded("The same as a table", made)]


def _reached(given: Mapping[str, Any]) -> str:
    return "reached it" if given.get("supported") else "did not reach it"


def _original(given: Mapping[str, Any]) -> Piece:
    """What the plan promised when it was first frozen, where that is no longer what is in force."""
    if not given:
        return ""
    many = counted(given.get("tasks"), "task")
    return tag("p", f"The original plan, of {many}, {_reached(given)}: {given.get('why') or ''}")


def _projection(given: Mapping[str, Any], paid: Currency) -> list[Piece]:
    heading = tag("h3", "Projected cost")
    points = [tuple(float(value) for value in row[:4]) for row in given.get("points") or () if len(row) >= 4]
    if not points:
        return [heading, absent("the plan holds no cost projection")]
    drawn = [(row[0], row[1], row[2], row[3]) for row in thinned(points, MOST_POINTS)]
    figure = projection("projection", drawn, budget=known(given.get("budget_usd")), paid=paid)
    columns = [Column(name, True) for name in ("Runs", "Low", "Expected", "High")]
    rows: list[list[Cell | Piece]] = [
        [Cell(count(row[0]), row[0]), *(Cell(paid.form(value), value) for value in row[1:])] for row in drawn
    ]
    made = table("Projected cost by number of runs", columns, rows)
    return [heading, framed(figure, "Projected cost, as a figure"), folded("The same as a table", made)]
