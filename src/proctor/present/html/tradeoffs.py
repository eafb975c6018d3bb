"""Price against performance, and what it would cost to know more precisely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.amounts import Currency, count, counted, currency, known, points, share
from proctor.present.figures.curves import Curve, curves
from proctor.present.figures.scatter import Offer, tradeoff
from proctor.present.html.evidence import Evidence
from proctor.present.html.table import Cell, Column, absent, confidence, folded, framed, note, table
from proctor.present.markup import Markup, Piece, tag

MOST_OFFERS = 40
MOST_SIZES = 200


def offers(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """Each agent by what a run costs and how often it succeeds."""
    heading = tag("h3", "Price against performance")
    rows = (findings.get("tradeoff") or {}).get("agents") or ()
    places = {str(row.get("agent")): place for place, row in enumerate(findings.get("agents") or (), 1)}
    found = []
    for row in rows:
        usd, success = known(row.get("usd_per_run")), known(row.get("success"))
        if usd is not None and success is not None:
            name = str(row.get("agent"))
            found.append(Offer(name, places.get(name, 0), usd, success, known(row.get("half_width"))))
    if not found:
        return tag("div", heading, absent("no agent has both a cost and a success rate"))
    title, paid = "Success against the cost of a run", currency(findings)
    figure = framed(tradeoff("offers", found[:MOST_OFFERS], title=title, paid=paid), title)
    columns = [Column("Agent"), Column("Rank", True), Column("Cost of a run", True), Column("Success", True)]
    columns.append(Column("Half of its interval, points", True))
    lines = [_offer(offer, paid, evidence) for offer in found]
    text = "On the dashed line no other agent is both cheaper and better. It moves with chance as the whiskers do."
    return tag("div", heading, figure, note(text), folded("The same as a table", table(title, columns, lines)))


def _offer(offer: Offer, paid: Currency, evidence: Evidence) -> list[Cell | Piece]:
    half = None if offer.half_width is None else f"\u00b1 {points(offer.half_width).lstrip('+')}"
    return [
        offer.name,
        Cell(count(offer.rank), float(offer.rank)),
        Cell(evidence.number(paid.form(offer.usd), evidence.metered(offer.name)), offer.usd),
        Cell(evidence.number(share(offer.success), evidence.scored(offer.name)), offer.success),
        Cell(half or "\u2013", offer.half_width),
    ]


def precision(findings: Mapping[str, Any]) -> Markup:
    """How the interval narrows with the size of a study; in money where costs are known, else in runs."""
    heading = tag("h3", "What more precision would cost")
    given: Sequence[Mapping[str, Any]] = (findings.get("tradeoff") or {}).get("precision") or ()
    rows = [row for row in given if known(row.get("half_width")) is not None][:MOST_SIZES]
    priced = [row for row in rows if known(row.get("usd")) is not None]
    if not rows:
        return tag("div", heading, absent("the intervals at hand do not say how they would narrow"))
    rows = sorted(priced or rows, key=lambda row: (_size(row, bool(priced)), row["half_width"]))
    paid = currency(findings)
    title = f"Half of the interval against the {'cost' if priced else 'runs'} of a study"
    figure = curves(
        "precision",
        _sizes(rows, bool(priced)),
        title=title,
        describe=f"{counted(len(rows), 'size')} of a study; the larger it is, the narrower the interval.",
        across_form=paid.tick if priced else count,
        across_title=f"{paid.title} for one agent" if priced else "runs of one agent",
        up_form=share,
        up_title=f"half of the {confidence(findings)} interval",
        size=(760, 300),
        marked=True,
        falling=True,
    )
    columns = [Column("Runs of each task", True), Column("Tasks", True), Column("Cost", True)]
    columns.append(Column("Half of the interval, points", True))
    lines: list[list[Cell | Piece]] = [
        [
            Cell(count(row.get("runs_per_task")), known(row.get("runs_per_task"))),
            Cell(count(row.get("tasks")), known(row.get("tasks"))),
            Cell(paid.form(row.get("usd")), known(row.get("usd"))),
            Cell(f"\u00b1 {points(row['half_width']).lstrip('+')}", known(row["half_width"])),
        ]
        for row in rows
    ]
    made = folded("The same as a table", table(title, columns, lines))
    return tag("div", heading, framed(figure, title), note("Projected from the runs at hand."), made)


def _size(row: Mapping[str, Any], priced: bool) -> float:
    if priced:
        return known(row.get("usd")) or 0.0
    return (known(row.get("tasks")) or 0.0) * (known(row.get("runs_per_task")) or 1.0)


def _sizes(rows: Sequence[Mapping[str, Any]], priced: bool) -> list[Curve]:
    """A curve for each number of runs of a task, at most five that cover the whole range."""
    lines: dict[float, list[tuple[float, float]]] = {}
    for row in rows:
        point = (_size(row, priced), float(row["half_width"]))
        lines.setdefault(known(row.get("runs_per_task")) or 0, []).append(point)
    repeats = sorted(lines)
    if len(repeats) > 5:
        repeats = [repeats[round(place * (len(repeats) - 1) / 4)] for place in range(5)]
    return [Curve(f"{k:g} {'run' if k == 1 else 'runs'} of each task", lines[k]) for k in repeats]
