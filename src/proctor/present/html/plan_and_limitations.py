"""Other caps, deviations, comparability, limitations and scope.

The plan of a pilot as curves: power by tasks under several assumptions, and cost by runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.figures.line_charts import MOST_LINES, power, projection
from proctor.present.figures.svg_shapes import thinned
from proctor.present.html.evidence_links import Evidence
from proctor.present.html.html_table import (
    Cell,
    Column,
    Section,
    by_rank,
    empty_note,
    estimated,
    folded,
    framed,
    listed,
    note,
    table,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import Currency, count, currency, finite_number, share
from proctor.present.sentences import sentences
from proctor.present.sentences.pilot_plan import answer, computed_when, original
from proctor.present.sentences.tables import other_cap

MOST_POINTS = 200


def planned(given: Mapping[str, Any], paid: Currency) -> list[Piece]:
    """Both curves, each with its table."""
    return [*_power(given.get("power") or {}), *_projection(given.get("projection") or {}, paid)]


def _power(given: Mapping[str, Any]) -> list[Piece]:
    heading = tag("h3", "Power")
    lines = [
        (f"icc {one.get('icc')}", [(float(tasks), float(value)) for tasks, value in one.get("points") or ()])
        for one in given.get("curves") or ()
    ][:MOST_LINES]
    if not lines:
        return [heading, empty_note("the plan holds no power analysis")]
    target, effect = finite_number(given.get("target")) or 0.8, finite_number(given.get("minimum_effect")) or 0.0
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
        first = given.get("original")
        heading = tag("div", heading, tag("p", answer(given)), tag("p", original(first)) if first else None)
    return [heading, framed(figure, "Power by number of tasks, as a figure"), folded("The same as a table", made)]


def _projection(given: Mapping[str, Any], paid: Currency) -> list[Piece]:
    heading = tag("h3", "Projected cost")
    points = [tuple(float(value) for value in row[:4]) for row in given.get("points") or () if len(row) >= 4]
    if not points:
        return [heading, empty_note("the plan holds no cost projection")]
    drawn = [(row[0], row[1], row[2], row[3]) for row in thinned(points, MOST_POINTS)]
    figure = projection("projection", drawn, budget=finite_number(given.get("budget_usd")), paid=paid)
    columns = [Column(name, True) for name in ("Runs", "Low", "Expected", "High")]
    rows: list[list[Cell | Piece]] = [
        [Cell(count(row[0]), row[0]), *(Cell(paid.form(value), value) for value in row[1:])] for row in drawn
    ]
    made = table("Projected cost by number of runs", columns, rows)
    return [heading, framed(figure, "Projected cost, as a figure"), folded("The same as a table", made)]


MOST_CASES = 12


def counterfactual(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Runs scored again under other caps, separate from everything that was measured."""
    rows = list(findings.get("counterfactual") or ())
    title = "Other caps"
    if not rows:
        return Section("counterfactual", title, empty_note("no run was scored again under other caps"))
    found = {(other_cap(row, findings), str(row.get("agent"))): row.get("success") for row in rows}
    cases, agents = list(dict.fromkeys(case for case, _ in found)), by_rank(findings, (agent for _, agent in found))
    lines: list[list[Cell | Piece]] = [
        [
            agent,
            *(
                estimated(found[case, agent], evidence.scored(agent)) if (case, agent) in found else Cell("\u2013")
                for case in cases[:MOST_CASES]
            ),
        ]
        for agent in agents
    ]
    columns = [Column("Agent"), *(Column(case, True) for case in cases[:MOST_CASES])]
    made = table("Hypothetical: success under other caps", columns, lines)
    if len(cases) > MOST_CASES:
        made = tag("div", made, note(f"The first {MOST_CASES} of {len(cases)} cases."))
    text = "The recorded runs were scored again under another cap. An agent that knew of that cap could have acted "
    text += "differently. No other part of this page uses these numbers."
    warning = tag("p", tag("strong", "Hypothetical, not part of the results. "), text)
    return Section("counterfactual", title, tag("div", warning, made, class_="apart"))


def deviations(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Where the study left its plan."""
    rows = sentences(findings.get("deviations"))
    planned = (findings.get("question") or {}).get("pilot")
    if rows:
        return Section("deviations", "Deviations", listed(rows))
    said = "None is recorded." if planned else "There is no plan: these runs were not part of a pilot."
    return Section("deviations", "Deviations", tag("p", said))


def comparability(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Which runs were made under the same conditions."""
    rows = list(findings.get("comparability") or ())
    title = "Comparability"
    if not rows:
        return Section("comparability", title, empty_note("the conditions of the runs are not recorded"))
    if len(rows) == 1:
        intro = "All runs were made under the same conditions and can be compared."
    else:
        intro = f"The runs have {len(rows)} classes of conditions. A comparison across classes also compares these."
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        name = str(row.get("class") or "\u2013")
        link = evidence.where(None, comparability=name)
        differs = "; ".join(sentences(row.get("differs"))) or "nothing"
        agents = _with_counts(row.get("agents") or (), row.get("counts") or ())
        runs = finite_number(row.get("runs"))
        lines.append([tag("code", name[:19]), Cell(evidence.number(count(runs), link), runs), agents, differs])
    columns = [Column("Class"), Column("Runs", True), Column("Agents"), Column("Differs in")]
    return Section("comparability", title, tag("div", tag("p", intro), table("Classes of conditions", columns, lines)))


def _with_counts(agents: Sequence[object], counts: Sequence[object]) -> str:
    """The agents of a class, each with its number of runs there if that is recorded."""
    many = [f" ({count(finite_number(one))})" for one in counts] if len(counts) == len(agents) else [""] * len(agents)
    return ", ".join(f"{agent}{runs}" for agent, runs in zip(agents, many, strict=True))


def cannot(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """What the table does not support."""
    rows = sentences(findings.get("cannot"))
    body = listed(rows) if rows else tag("p", "No limit of the data is recorded; the scope below still applies.")
    return Section("cannot", "What the data do not support", body)


def scope(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """When and on what was measured, and to what the findings do not extend."""
    given = findings.get("scope") or {}
    window = [str(end) for end in given.get("window") or () if end]
    pairs: list[tuple[str, Piece]] = [
        ("measured", " to ".join(dict.fromkeys(window)) if window else "the runs have no dates"),
        ("languages", _names(given.get("languages"))),
        ("kinds of repositories and tasks", _names(given.get("kinds"))),
        ("strata", _names(given.get("strata"))),
    ]
    body: list[Piece] = [tag("dl", ((tag("dt", name), tag("dd", text)) for name, text in pairs), class_="facts")]
    if given.get("not_to_generalise"):
        body += [tag("h3", "Not to be generalised"), listed(sentences(given["not_to_generalise"]))]
    if notes := (findings.get("source") or {}).get("notes"):
        body += [tag("h3", "How the runs were read"), listed(sentences(notes))]
    return Section("scope", "Scope", tag("div", body))


def _names(given: Any) -> Markup | str:
    names = [str(name) for name in given or ()]
    if len(names) > 40:
        names = [*names[:40], f"and {len(names) - 40} more"]
    return ", ".join(names) if names else "not recorded"


def plan(findings: Mapping[str, Any], evidence: Evidence) -> Section | None:
    """Power and projected cost of the plan of a pilot, and when they were computed."""
    given = findings.get("plan")
    if not given:
        return None
    shown = planned(given, currency(findings))
    return Section("plan", "The plan", tag("div", shown, note(computed_when(findings))))
