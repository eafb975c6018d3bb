"""How long runs take and what they cost before they end, including runs that were cut at their cap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.figures.line_charts import SMALL, Curve, curves
from proctor.present.figures.svg_shapes import thinned
from proctor.present.html.evidence_links import Evidence
from proctor.present.html.html_table import (
    Cell,
    Column,
    Section,
    empty_note,
    estimated,
    folded,
    methods,
    note,
    ranked,
    table,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import Form, count, currency, duration, finite_number, share

FEW = 6
MOST = 60
"""Figures of one kind; further agents are only in the table."""

MOST_STEPS = 400


def survival(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Curves beside each other, one for each agent, and the table of medians and restricted means."""
    rows = ranked(findings, findings.get("survival"))
    if not rows:
        return Section("survival", "Survival of the budget", empty_note("no run has a recorded duration or cost"))
    parts: list[Piece] = [
        tag(
            "p",
            "The share of runs that are still at work after this time or cost. A run that a cap cut short counts as at "
            "work until then, and does not count as ended; the dashed line is where runs were cut.",
        )
    ]
    for kind in dict.fromkeys(str(row.get("of")) for row in rows):
        named = ("time", duration) if kind == "seconds" else ("cost", currency(findings).form)
        parts += _kind(kind, *named, [row for row in rows if str(row.get("of")) == kind], evidence)
    return Section("survival", "Survival of the budget", tag("div", parts))


def _kind(kind: str, name: str, form: Form, rows: list[Mapping[str, Any]], evidence: Evidence) -> list[Piece]:
    drawn = [_figure(f"{kind}{place}", name, form, row) for place, row in enumerate(rows[:MOST])]
    parts: list[Piece] = [tag("h3", name.capitalize()), tag("div", drawn[:FEW], class_="small-figures")]
    if len(drawn) > FEW:
        parts.append(folded(f"{len(drawn) - FEW} more agents", tag("div", drawn[FEW:], class_="small-figures")))
    columns = [Column("Agent"), Column("Ended", True), Column("Cut short", True), Column("Cut at", True)]
    columns += [Column("Median", True), Column("Mean", True), Column("Mean is up to", True)]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        agent = str(row.get("agent"))
        ended, cut, cap, median = (finite_number(row.get(part)) for part in ("events", "censored", "cap", "median"))
        measured = f"{kind} IS NOT NULL"
        link = evidence.part(agent, measured, f"a known {name}", (ended or 0) + (cut or 0))
        lines.append(
            [
                agent,
                _counted(
                    ended, agent, f"{measured} AND censored IS DISTINCT FROM 1", f"a known {name}, ended", evidence
                ),
                _counted(cut, agent, f"{measured} AND censored = 1", f"a known {name}, cut short", evidence),
                Cell(("several" if cut else "none") if cap is None else form(cap), cap),
                Cell("not reached" if median is None else evidence.number(form(median), link), median),
                estimated(row.get("mean"), link, form),
                Cell(form(until := finite_number(row.get("horizon")) or cap), until),
            ]
        )
    parts.append(table(f"{name.capitalize()} of a run until it ends", columns, lines))
    parts.append(methods(row.get("mean") for row in rows))
    parts.append(
        note("\u201cNot reached\u201d: more than half of the runs were still at work at the end of the curve.")
    )
    return parts


def _counted(runs: float | None, agent: str, condition: str, what: str, evidence: Evidence) -> Cell:
    """A number of runs that links to them; zero has no link."""
    link = evidence.part(agent, condition, what, runs) if runs else ""
    return Cell(evidence.number(count(runs), link) if link else count(runs), runs)


def _figure(key: str, name: str, form: Form, row: Mapping[str, Any]) -> Markup:
    steps = thinned([step for step in row.get("steps") or () if len(step) >= 2], MOST_STEPS)
    points = [(0.0, 1.0), *((float(step[0]), float(step[1])) for step in steps)]
    band = [
        (float(step[0]), float(step[2]), float(step[3]))
        for step in steps
        if len(step) > 3 and finite_number(step[2]) is not None and finite_number(step[3]) is not None
    ]
    agent = str(row.get("agent"))
    median = finite_number(row.get("median"))
    half = f"Half have ended by {form(median)}." if median is not None else "More than half had not ended."
    figure = curves(
        key,
        [Curve(agent, points, band, steps=True)],
        title=f"{agent}: share of runs still at work by {name}",
        describe=f"A falling step curve with its band. {half}",
        across_form=form,
        across_title=f"{name} of a run",
        up_form=share,
        up_title="still at work",
        size=SMALL,
        unit=_unit(points[-1][0]) if form is duration else 1,
        at=finite_number(row.get("cap")),
    )
    return tag("figure", tag("figcaption", agent), figure)


def _unit(seconds: float) -> float:
    """The unit in which seconds of this size are shown, in seconds."""
    return 3600 if seconds >= 7200 else 60 if seconds >= 120 else 1
