"""Success and cost by stratum, and the rates that weigh strata otherwise than the tasks at hand do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.amounts import Form, count, currency, known, reason
from proctor.present.html.evidence import KNOWN, Evidence
from proctor.present.html.table import (
    Cell,
    Column,
    Section,
    absent,
    by_rank,
    estimated,
    folded,
    methods,
    note,
    ranked,
    table,
)
from proctor.present.markup import Markup, Piece, tag

MOST_ACROSS = 14
"""Columns side by side; more are in the list alone."""


def strata(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """A table of strata by agents, the whole list, and weighted rates."""
    rows = list(findings.get("strata") or ())
    if not rows:
        return Section(
            "strata",
            "Strata",
            tag("div", absent("the runs carry no strata that tell tasks apart"), _weighted(findings, evidence)),
        )
    text = "Strata are small: a difference inside one is a hint for a next study, not a finding of this one."
    every = folded("Every stratum and agent with runs and cost", _list(rows, currency(findings).form, evidence))
    body = [_grid(findings, rows, evidence), note(text), every, _weighted(findings, evidence)]
    return Section("strata", "Strata", tag("div", body))


def _grid(findings: Mapping[str, Any], rows: list[Mapping[str, Any]], evidence: Evidence) -> Markup | None:
    """Whatever there is less of, strata or agents, stands across."""
    found = {(str(row.get("stratum")), str(row.get("agent"))): row for row in rows}
    kinds, agents = list(dict.fromkeys(name for name, _ in found)), by_rank(findings, (name for _, name in found))
    if min(len(kinds), len(agents)) > MOST_ACROSS:
        return None
    upright = len(agents) <= len(kinds)
    columns = [Column("Stratum" if upright else "Agent")]
    columns += [Column(name, True) for name in (agents if upright else kinds)]
    lines: list[list[Cell | Piece]] = []
    for name in kinds if upright else agents:
        places = [(name, agent) for agent in agents] if upright else [(kind, name) for kind in kinds]
        lines.append([name, *(_cell(found.get(place), evidence) for place in places)])
    made = table("Success by stratum and agent", columns, lines, look="grid")
    return tag("div", made, methods(row.get("success") for row in rows))


def _cell(row: Mapping[str, Any] | None, evidence: Evidence) -> Cell:
    """A rate; why one is undefined stands in the list of all."""
    if row is None:
        return Cell("\u2013")
    if reason(row.get("success")):
        return Cell(tag("span", "undefined", class_="quiet"))
    return estimated(row.get("success"), _scored(row, evidence))


def _scored(row: Mapping[str, Any], evidence: Evidence) -> str:
    """Where the runs of an agent in a stratum stand that have an outcome."""
    stratum, agent = str(row.get("stratum")), str(row.get("agent"))
    if known((row.get("success") or {}).get("n")) == known(row.get("runs")):
        return evidence.where(agent, stratum=stratum)
    return evidence.where(agent, KNOWN, "an outcome", stratum=stratum)


def _list(rows: list[Mapping[str, Any]], form: Form, evidence: Evidence) -> Markup:
    columns = [Column("Stratum"), Column("Agent"), Column("Tasks", True), Column("Runs", True)]
    columns += [Column("Success", True), Column("Cost", True)]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        stratum, agent = str(row.get("stratum")), str(row.get("agent"))
        link = evidence.where(agent, stratum=stratum)
        runs, usd = known(row.get("runs")), known(row.get("cost_usd"))
        lines.append(
            [
                stratum,
                agent,
                Cell(count(row.get("tasks")), known(row.get("tasks"))),
                Cell(evidence.number(count(runs), link), runs),
                estimated(row.get("success"), _scored(row, evidence)),
                Cell(evidence.number(form(usd), link), usd),
            ]
        )
    return table("Strata by agent with runs and cost", columns, lines)


def _weighted(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    rows = ranked(findings, findings.get("weighted"))
    if not rows:
        return None
    lines: list[list[Cell | Piece]] = [
        [
            str(row.get("agent")),
            str(row.get("weights")),
            estimated(row.get("estimate"), evidence.scored(str(row.get("agent")))),
        ]
        for row in rows
    ]
    made = table("Success with strata weighed", [Column("Agent"), Column("Weights"), Column("Success", True)], lines)
    how = methods(row.get("estimate") for row in rows)
    return folded("Strata weighed", made, how) if len(rows) > 8 else tag("div", tag("h3", "Weighed"), made, how)
