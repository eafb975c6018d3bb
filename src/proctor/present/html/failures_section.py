"""How runs fail: failure tags by agent, unseen failure modes, runs left after each gate, agreement of reviewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.figures.bar_charts import funnel as funnel_figure
from proctor.present.figures.line_charts import SMALL, Curve, curves
from proctor.present.figures.svg_shapes import thinned
from proctor.present.html.evidence_links import SCORABLE, Evidence
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
from proctor.present.readable_numbers import (
    Currency,
    count,
    counted,
    currency,
    duration,
    finite_number,
    left_after,
    plain,
    share,
)
from proctor.present.sentences.phrases import names as some_of
from proctor.present.sentences.tables import step

MOST_TAGS = 60
FEW = 6
MOST = 60
MOST_STEPS = 200
MOST_GATES = 20
MOST_PEOPLE = 10
"""How many reviewers are named."""
STEPS: Mapping[str, tuple[str, ...]] = {
    "scorable": (SCORABLE,),
    "outcome-known": ("success IS NOT NULL",),
    **{f"gate-{number}": (f"gate{number} = 1",) for number in range(1, 5)},
    "success": ("success = 1",),
}
"""The condition of each step, in addition to those of the steps before it."""


def modes(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The matrix of failure modes and what finding one more would cost."""
    given = findings.get("modes") or {}
    tags, rows = [str(name) for name in given.get("tags") or ()], ranked(findings, given.get("rows"))
    if not tags or not rows:
        return Section(
            "modes", "Failure modes", tag("div", empty_note("no run has a failure tag"), _agreement(findings))
        )
    parts = [
        _matrix(tags, rows, evidence),
        _discovery(ranked(findings, given.get("discovery")), currency(findings), evidence),
        _agreement(findings),
    ]
    return Section("modes", "Failure modes", tag("div", parts))


def _matrix(tags: Sequence[str], rows: Sequence[Mapping[str, Any]], evidence: Evidence) -> Markup:
    """The columns are modes or agents, whichever are fewer."""
    some = tags[:MOST_TAGS]
    if len(rows) <= len(some):
        columns = [Column("Failure mode"), *(Column(str(row.get("agent")), True) for row in rows)]
        lines: list[list[Cell | Piece]] = [[name, *(_count(name, row, evidence) for row in rows)] for name in some]
    else:
        columns = [Column("Agent"), *(Column(name, True) for name in some)]
        lines = [[str(row.get("agent")), *(_count(name, row, evidence) for name in some)] for row in rows]
    made = table("Runs without success that have each failure tag, by agent", columns, lines, look="heat")
    text = "The shade is the share of the agent's runs: stronger from 2%, 5%, 10%, 20% and 40% on. "
    text += "One run may have several tags. Tags of runs that succeeded are left out."
    if len(tags) > len(some):
        text += f" The first {len(some)} of {len(tags)} tags."
    return tag("div", made, note(text))


def _count(name: str, row: Mapping[str, Any], evidence: Evidence) -> Cell:
    found, runs = finite_number((row.get("counts") or {}).get(name)) or 0, finite_number(row.get("runs")) or 0
    part = found / runs if runs else 0
    shade = sum(part >= step for step in (0.02, 0.05, 0.1, 0.2, 0.4))
    if not found:
        return Cell("0", 0.0, "quiet")
    link = evidence.tagged(str(row.get("agent")), name)
    return Cell([evidence.number(count(found), link), tag("span", share(part), class_="range")], found, f"h{shade}")


def _discovery(rows: Sequence[Mapping[str, Any]], paid: Currency, evidence: Evidence) -> Markup:
    heading = tag("h3", "What one more failure mode costs to find")
    if not rows:
        return tag("div", heading, empty_note("there are too few tagged runs to estimate how quickly new modes appear"))
    drawn = [made for place, row in enumerate(rows[:MOST]) if (made := _curve(f"modes{place}", row, paid))]
    columns = [
        Column("Agent"),
        Column("Modes found", True),
        Column("Unseen, at the least", True),
        Column("One more costs", True),
    ]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        link = evidence.tagged(str(row.get("agent")))
        found, unseen = finite_number(row.get("found")), finite_number(row.get("unseen_estimate"))
        lines.append(
            [
                str(row.get("agent")),
                Cell(evidence.number(count(found), link), found),
                Cell(plain(unseen), unseen),
                estimated(row.get("marginal_usd"), evidence.agent(str(row.get("agent"))), paid.form),
            ]
        )
    more = folded(f"{len(drawn) - FEW} more agents", tag("div", drawn[FEW:], class_="small-figures"))
    return tag(
        "div",
        heading,
        tag("div", drawn[:FEW], class_="small-figures"),
        more if len(drawn) > FEW else None,
        table("Failure modes found, unseen at the least, and the price of one more", columns, lines),
        methods(row.get("marginal_usd") for row in rows),
    )


def _curve(key: str, row: Mapping[str, Any], paid: Currency) -> Markup | None:
    given = [step for step in row.get("curve") or () if len(step) >= 3 and step[0] is not None and step[2] is not None]
    steps = thinned(given, MOST_STEPS)
    if len(steps) < 2:
        return None
    agent, priced = str(row.get("agent")), all(step[1] is not None for step in steps) and bool(steps[-1][1])
    figure = curves(
        key,
        [Curve(agent, [(float(step[1] if priced else step[0]), float(step[2])) for step in steps])],
        title=f"{agent}: failure modes found by {'cost' if priced else 'runs'}",
        describe=f"A rising curve that ends at {_modes(steps[-1][2])} after {counted(steps[-1][0], 'run')}.",
        across_form=paid.tick if priced else count,
        across_title=paid.title if priced else "runs",
        up_form=plain,
        up_title="modes found",
        size=SMALL,
    )
    return tag("figure", tag("figcaption", agent), figure)


def _modes(many: float) -> str:
    return f"{plain(many)} {'mode' if many == 1 else 'modes'}"


def _agreement(findings: Mapping[str, Any]) -> Markup:
    heading = tag("h3", "Agreement of reviewers")
    found = findings.get("agreement")
    if not found:
        return tag("div", heading, empty_note("no run was reviewed by two people"))
    minutes = finite_number(found.get("minutes"))
    pairs = (
        ("Cohen's kappa", _coefficient(found.get("cohen"))),
        ("Krippendorff's alpha", _coefficient(found.get("krippendorff"))),
        ("reviewers", _people(found.get("reviewers"))),
        ("runs reviewed", count(found.get("units"))),
        ("time of reviewers", duration(None if minutes is None else minutes * 60)),
    )
    return tag("div", heading, tag("dl", ((tag("dt", name), tag("dd", text)) for name, text in pairs), class_="facts"))


def _people(reviewers: Any) -> str:
    """The number of reviewers, and their names if findings have them: ``2 (ada and bo)``."""
    if not isinstance(reviewers, list):
        return count(reviewers)
    names = f" ({some_of([str(name) for name in reviewers], MOST_PEOPLE)})" if reviewers else ""
    return f"{count(len(reviewers))}{names}"


def _coefficient(value: Any) -> str:
    return plain(value.get("value") if isinstance(value, Mapping) else value)


def funnel(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """How many runs are left after each gate."""
    rows = ranked(findings, findings.get("funnel"))
    if not rows:
        return Section("funnel", "Gates", empty_note("the runs have no verdicts of gates"))
    drawn = []
    for place, row in enumerate(rows[:MOST]):
        agent = str(row.get("agent"))
        left = [(step(name), runs) for name, runs in _left(row)]
        figure = funnel_figure(f"funnel{place}", left, title=f"{agent}: runs left after each gate")
        drawn.append(tag("figure", tag("figcaption", agent), figure))
    parts: list[Piece] = [
        tag("p", "From all attempted runs to those that passed every gate; percentages are of the attempted runs."),
        tag("div", drawn[:FEW], class_="small-figures"),
    ]
    if len(drawn) > FEW:
        parts.append(folded(f"{len(drawn) - FEW} more agents", tag("div", drawn[FEW:], class_="small-figures")))
    names = list(dict.fromkeys(name for row in rows for name, _ in _left(row)))
    lines = [_steps(row, names, evidence) for row in rows]
    columns = [Column("Agent"), *(Column(step(name).capitalize(), True) for name in names)]
    parts.append(folded("The same as a table", table("Runs left after each gate", columns, lines)))
    return Section("funnel", "Gates", tag("div", parts))


def _left(row: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """The steps of an agent with the runs that are left, for the figure and the table."""
    steps = [(str(step.get("name")), finite_number(step.get("count"))) for step in row.get("steps") or ()]
    return steps[:MOST_GATES]


def _steps(row: Mapping[str, Any], names: Sequence[str], evidence: Evidence) -> list[Cell | Piece]:
    agent = str(row.get("agent"))
    left = dict(_left(row))
    cells: list[Cell | Piece] = [agent]
    held: list[str] = []
    for text, name in zip(left_after([left.get(name) for name in names]), names, strict=True):
        runs = left.get(name)
        held += STEPS.get(name, ())
        shown = (
            evidence.number(text, evidence.part(agent, " AND ".join(held), f"step {step(name)}", runs))
            if runs
            else text
        )
        cells.append(Cell(shown, runs))
    return cells
