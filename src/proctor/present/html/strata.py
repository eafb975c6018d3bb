"""Success and cost by stratum, and the rates that weigh strata otherwise than the tasks at hand do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.amounts import count, known, money
from proctor.present.html.evidence import Evidence
from proctor.present.html.table import Cell, Column, Section, absent, estimated, folded, methods, note, table
from proctor.present.markup import Markup, Piece, tag

MOST_AGENTS = 12
"""Agents side by side; more are listed one below the other."""


def strata(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """A table of strata by agents, the whole list, and weighted rates."""
    rows = list(findings.get("strata") or ())
    if not rows:
        return Section(
            "strata", "Strata", tag("div", absent("the runs carry no strata"), _weighted(findings, evidence))
        )
    every = _list(rows, evidence)
    agents = list(dict.fromkeys(str(row.get("agent")) for row in rows))
    wide = len(agents) <= MOST_AGENTS
    shown: list[Piece] = [_grid(rows, agents, evidence) if wide else None]
    shown.append(folded("Every stratum and agent with runs and cost", every) if wide else every)
    text = "Strata are small: a difference inside one is a hint for a next study, not a finding of this one."
    return Section("strata", "Strata", tag("div", shown, note(text), _weighted(findings, evidence)))


def _grid(rows: list[Mapping[str, Any]], agents: list[str], evidence: Evidence) -> Markup:
    found = {(str(row.get("stratum")), str(row.get("agent"))): row for row in rows}
    columns = [Column("Stratum"), Column("Tasks", True), *(Column(name, True) for name in agents)]
    lines: list[list[Cell | Piece]] = []
    for stratum in dict.fromkeys(name for name, _ in found):
        here = {agent: found[stratum, agent] for agent in agents if (stratum, agent) in found}
        tasks = max((known(row.get("tasks")) or 0 for row in here.values()), default=0)
        cells = [
            estimated(here[agent].get("success"), evidence.where(agent, stratum=stratum))
            if agent in here
            else Cell("\u2013")
            for agent in agents
        ]
        lines.append([stratum, Cell(count(tasks), tasks), *cells])
    made = table("Success by stratum and agent", columns, lines)
    return tag("div", made, methods(row.get("success") for row in rows))


def _list(rows: list[Mapping[str, Any]], evidence: Evidence) -> Markup:
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
                estimated(row.get("success"), link),
                Cell(evidence.number(money(usd), link), usd),
            ]
        )
    return table("Strata by agent with runs and cost", columns, lines)


def _weighted(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    rows = list(findings.get("weighted") or ())
    if not rows:
        return None
    lines: list[list[Cell | Piece]] = [
        [
            str(row.get("agent")),
            str(row.get("weights")),
            estimated(row.get("estimate"), evidence.agent(str(row.get("agent")))),
        ]
        for row in rows
    ]
    made = table("Success with strata weighed", [Column("Agent"), Column("Weights"), Column("Success", True)], lines)
    return tag("div", tag("h3", "Weighed"), made, methods(row.get("estimate") for row in rows))
