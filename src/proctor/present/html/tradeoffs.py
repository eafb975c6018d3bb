"""Price against performance, and what it would cost to know more precisely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.present.amounts import Currency, count, counted, currency, known, points_wide
from proctor.present.figures.canvas import thinned
from proctor.present.figures.curves import MOST_LINES, Curve, curves
from proctor.present.figures.scatter import Offer, tradeoff
from proctor.present.html.evidence import Evidence
from proctor.present.html.table import Cell, Column, absent, confidence, estimated, folded, framed, note, table
from proctor.present.markup import Markup, Piece, tag

MOST_OFFERS = 40
MOST_SIZES = 200


def offers(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """Each agent by cost per run and success rate; the figure and the table show the same rows."""
    heading = tag("h3", "Price against performance")
    found = _offers(findings)
    if not found:
        return tag("div", heading, absent("no agent has both a cost and a success rate"))
    title, paid = "Success against the cost of a run", currency(findings)
    figure = framed(tradeoff("offers", found[:MOST_OFFERS], title=title, paid=paid), title)
    columns = [Column("Agent"), Column("Rank", True), Column("Cost of a run", True), Column("Success", True)]
    lines = [_offer(offer, paid, evidence) for offer in found]
    text = "On the dashed line no other agent is both cheaper and better. It moves with chance as the whiskers do."
    if len(found) > MOST_OFFERS:
        text += f" The figure shows the first {MOST_OFFERS} of {count(len(found))} agents."
    return tag("div", heading, figure, note(text), folded("The same as a table", table(title, columns, lines)))


def _offers(findings: Mapping[str, Any]) -> list[Offer]:
    """The agents that have both a cost and a success rate."""
    places = {str(row.get("agent")): place for place, row in enumerate(findings.get("agents") or (), 1)}
    found = []
    for row in (findings.get("tradeoff") or {}).get("agents") or ():
        usd, success, low, high = (known(row.get(part)) for part in ("usd_per_run", "success", "low", "high"))
        if usd is not None and success is not None:
            name = str(row.get("agent"))
            found.append(Offer(name, places.get(name, 0), usd, success, low, high))
    return found


def _offer(offer: Offer, paid: Currency, evidence: Evidence) -> list[Cell | Piece]:
    return [
        offer.name,
        Cell(count(offer.rank), float(offer.rank)),
        Cell(evidence.number(paid.form(offer.usd), evidence.metered(offer.name)), offer.usd),
        estimated({"value": offer.success, "low": offer.low, "high": offer.high}, evidence.scored(offer.name)),
    ]


@dataclass(frozen=True)
class Size:
    """A study of some size: its position on the horizontal axis, and half of the width of its projected interval."""

    across: float
    runs_per_task: float | None
    tasks: float | None
    usd: float | None
    half_width: float


def precision(findings: Mapping[str, Any]) -> Markup:
    """How the interval narrows with the size of a study; in money where costs are known, else in runs."""
    heading = tag("h3", "What more precision would cost")
    sizes, priced = _sizes(findings)
    if not sizes:
        return tag("div", heading, absent("no agent has two tasks with an outcome, so there is no interval to narrow"))
    paid = currency(findings)
    title = f"Half of the interval against the {'cost' if priced else 'runs'} of a study"
    figure = curves(
        "precision",
        _curves(sizes),
        title=title,
        describe=f"{counted(len(sizes), 'size')} of a study; the larger it is, the narrower the interval.",
        across_form=paid.tick if priced else count,
        across_title=f"{paid.title} for one agent" if priced else "runs of one agent",
        up_form=points_wide,
        up_title=f"half of the {confidence(findings)} interval, points",
        size=(760, 300),
        marked=True,
        falling=True,
    )
    columns = [Column("Runs of each task", True), Column("Tasks", True), Column("Cost", True)]
    columns.append(Column("Half of the interval, points", True))
    lines: list[list[Cell | Piece]] = [
        [
            Cell(count(size.runs_per_task), size.runs_per_task),
            Cell(count(size.tasks), size.tasks),
            Cell(paid.form(size.usd), size.usd),
            Cell(points_wide(size.half_width), size.half_width),
        ]
        for size in sizes
    ]
    made = folded("The same as a table", table(title, columns, lines))
    text = "Projected from these runs with the method of the intervals above, as the mean over the agents. "
    text += "An interval need not reach equally far to both sides."
    return tag("div", heading, framed(figure, title), note(text), made)


def _sizes(findings: Mapping[str, Any]) -> tuple[list[Size], bool]:
    """The sizes of a study for the figure and the table, smallest first, and whether they are measured in money."""
    given: Sequence[Mapping[str, Any]] = (findings.get("tradeoff") or {}).get("precision") or ()
    priced = any(known(row.get("usd")) is not None and known(row.get("half_width")) is not None for row in given)
    found = []
    for row in given:
        half, usd = known(row.get("half_width")), known(row.get("usd"))
        runs, tasks = known(row.get("runs_per_task")), known(row.get("tasks"))
        across = usd if priced else (tasks or 0.0) * (runs or 1.0)
        if half is not None and across is not None:
            found.append(Size(across, runs, tasks, usd, half))
    return sorted(found[:MOST_SIZES], key=lambda size: (size.across, size.half_width)), priced


def _curves(sizes: Sequence[Size]) -> list[Curve]:
    """A curve for each number of runs of a task, at most five that cover the whole range."""
    lines: dict[float, list[tuple[float, float]]] = {}
    for size in sizes:
        lines.setdefault(size.runs_per_task or 0, []).append((size.across, size.half_width))
    repeats = thinned(sorted(lines), MOST_LINES)
    return [Curve(f"{k:g} {'run' if k == 1 else 'runs'} of each task", lines[k]) for k in repeats]
