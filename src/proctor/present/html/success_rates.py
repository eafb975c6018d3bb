"""How often each agent succeeds, and the numbers beside that rate.

Success, acceptance errors and invalid runs are separate; the rate over all attempted runs is next to them.

Success and cost by stratum, and the rates with weighted strata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.figures.interval_plots import Whisker, forest
from proctor.present.html.evidence_links import KNOWN, SCORABLE, Evidence
from proctor.present.html.html_table import (
    Cell,
    Column,
    Section,
    by_rank,
    confidence,
    empty_note,
    estimated,
    folded,
    framed,
    methods,
    note,
    ranked,
    table,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import Form, count, currency, finite_number, share, span
from proctor.present.sentences.estimates import reason
from proctor.present.sentences.tables import weights

MOST_LINES = 60
VARIATIONS = "Counts of runs, not part of the comparison: so few runs do not separate variations."
TITLE = "Success rate of each agent with its interval"


def agents(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The forest plot, the table of rates, and what is read from repeated or unknown outcomes."""
    rows = list(findings.get("agents") or ())
    if not rows:
        return Section("agents", "Agents", empty_note("no agent has a run"))
    parts: list[Piece] = [
        tag(
            "p",
            "The square is the measured success rate over scorable runs, the whisker is its interval. "
            "Each agent in bold may be the best: its range of ranks begins at 1.",
        ),
        plot("agents", rows),
        _rates(findings, evidence),
        methods(row.get("success") for row in rows),
        _baselines(findings, evidence),
        _variations(findings, evidence),
        _repeats(rows, evidence),
        _unknown(rows, evidence),
    ]
    return Section("agents", "Agents", tag("div", parts))


def success_forest(key: str, rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The figure of the success rates of the first agents, best first."""
    lines = [_line(row) for row in rows[:MOST_LINES]]
    return forest(f"{key}-forest", lines, title=TITLE, measure="success over scorable runs", bounds=(0, 1))


def plot(key: str, rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The forest plot of success, best first, with its title."""
    rest = note(f"The figure shows the first {MOST_LINES} of {len(rows)} agents.") if len(rows) > MOST_LINES else None
    return tag("div", framed(success_forest(key, rows), TITLE), rest)


def _line(row: Mapping[str, Any]) -> Whisker:
    success = row.get("success") or {}
    value, low, high = (finite_number(success.get(part)) for part in ("value", "low", "high"))
    lead = (row.get("rank") or {}).get("best") == 1
    return Whisker(str(row.get("agent")), value, low, high, lead, reason(row.get("success")))


def ranks(row: Mapping[str, Any]) -> str:
    """The ranks that an agent may have, such as 2 or 1 to 4."""
    rank = row.get("rank") or {}
    best, worst = rank.get("best"), rank.get("worst")
    if best is None or worst is None:
        return count(rank.get("position"))
    return f"{best}" if best == worst else f"{best} to {worst}"


def _rates(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    rows = list(findings.get("agents") or ())
    columns = [
        Column("Agent"),
        Column("Rank", True),
        Column("Success", True),
        Column("Of all attempted", True),
        Column("Acceptance errors", True),
        Column("Invalid", True),
        Column("Runs scorable / attempted", True),
        Column("Tasks", True),
    ]
    priced = any(finite_number((row.get("cost") or {}).get("per_run_usd")) is not None for row in rows)
    if priced:
        columns += [Column("Cost of a run", True), Column("Cost of a success", True)]
    form = currency(findings).form
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        name = str(row.get("agent"))
        cost = row.get("cost") or {}
        parts = ("success", "intention_to_treat", "error", "invalid")
        each, solved = finite_number(cost.get("per_run_usd")), finite_number(cost.get("per_success_usd"))
        prices = (
            (each, cost.get("per_run"), evidence.metered(name)),
            (solved, cost.get("per_success"), evidence.agent(name)),
        )
        scorable, attempted = finite_number(row.get("scorable")), finite_number(row.get("attempted"))
        runs = [
            evidence.number(count(scorable), evidence.scorable(name)) if scorable else count(scorable),
            " / ",
            evidence.number(count(attempted), evidence.agent(name)),
        ]
        lines.append(
            [
                name,
                Cell(ranks(row), finite_number((row.get("rank") or {}).get("position"))),
                *(estimated(row.get(part), evidence.rate(name, part)) for part in parts),
                Cell(runs, attempted),
                Cell(count(row.get("tasks")), finite_number(row.get("tasks"))),
                *([_price(*one, form, evidence) for one in prices] if priced else []),
            ]
        )
    text = f"Rank is the range of places that are not separable at {confidence(findings)}. "
    text += "Success and acceptance errors are over scorable runs, invalid is over attempted runs; "
    text += "\u201cof all attempted\u201d counts everything that did not succeed against the agent."
    made = table("Rates of each agent, best first", columns, lines)
    return tag("div", made, note(text), [note(f"A cost has no interval if {why}.") for why in _uncertain(rows)])


def _uncertain(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every reason why an amount has no interval."""
    costs = [row.get("cost") or {} for row in rows]
    parts = [(cost.get(f"{name}_usd"), cost.get(name)) for cost in costs for name in ("per_run", "per_success")]
    return list(dict.fromkeys(why for usd, one in parts if usd is not None and one and (why := reason(one))))


def _price(usd: float | None, estimate: Mapping[str, Any] | None, link: str, form: Form, evidence: Evidence) -> Cell:
    """An amount with its range, or that it has none."""
    inside = span(estimate, form)
    if usd is not None and estimate and not inside:
        inside = "no interval"
    return Cell([evidence.number(form(usd), link), tag("span", inside, class_="range") if inside else None], usd)


def _baselines(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    """What must fail and what must succeed."""
    rows = findings.get("baselines")
    if not rows:
        return None
    held = {True: "yes", False: tag("b", "NO", class_="broken"), None: "\u2013"}
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        name = str(row.get("method"))
        runs, wanted = finite_number(row.get("runs")), finite_number(row.get("expected"))
        cells = [
            Cell(evidence.number(count(runs), evidence.agent(name)) if runs else count(runs), runs),
            estimated(row.get("success"), evidence.scored(name)),
        ]
        lines.append([name, *cells, Cell(share(wanted), wanted), held.get(row.get("held"), "\u2013")])
    columns = [
        Column("Baseline"),
        Column("Runs", True),
        Column("Success", True),
        Column("Must be", True),
        Column("Held"),
    ]
    text = "Baselines are not compared with the agents; they show whether the tasks are valid."
    return tag("div", tag("h3", "Baselines"), table("Baselines beside the agents", columns, lines), note(text))


def _variations(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    """The results of runs under each variation that a pilot declared over its repeats."""
    rows = findings.get("variations")
    if not rows:
        return None
    columns = [Column("Variation"), Column("Method")]
    columns += [Column(name, True) for name in ("Runs", "With a verdict", "Successes")]
    parts = (("runs", ""), ("scorable", SCORABLE), ("successes", f"{SCORABLE} AND success = 1"))
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        name, method = str(row.get("variation")), str(row.get("method"))
        among = ", ".join(str(int(repeat)) for repeat in row.get("repeats") or ())
        line: list[Cell | Piece] = [name, method]
        for part, condition in parts:
            shown: Piece = count(row.get(part))
            if among:
                wanted = f"trial IN ({among})" + (f" AND {condition}" if condition else "")
                what = f"repeats {among}" + (f", {part}" if condition else "")
                shown = evidence.number(count(row.get(part)), evidence.where(method, wanted, what))
            line.append(Cell(shown, finite_number(row.get(part))))
        lines.append(line)
    text = VARIATIONS
    made = table("Runs, verdicts and successes by variation and method", columns, lines)
    return tag("div", tag("h3", "Variations"), made, note(text))


def _repeats(rows: Sequence[Mapping[str, Any]], evidence: Evidence) -> Markup | None:
    """At least one success in k tries, and success in all of k tries."""
    tries = sorted(
        {
            finite_number(one.get("k")) or 0
            for row in rows
            for part in ("pass_at", "all_of")
            for one in row.get(part) or ()
        }
    )
    if not tries:
        return note("Success within several tries is not available, because no task was tried more than once.")
    columns = [Column("Agent")]
    columns += [Column(f"{word} of {k:g}", True) for word in ("one", "all") for k in tries]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        link = evidence.scorable(str(row.get("agent")))
        line: list[Cell | Piece] = [str(row.get("agent"))]
        for part in ("pass_at", "all_of"):
            found = {finite_number(one.get("k")): one.get("estimate") for one in row.get(part) or ()}
            line += [estimated(found[k], link) if k in found else Cell("\u2013") for k in tries]
        lines.append(line)
    text = "\u201cOne of k\u201d is the chance that at least one of k tries succeeds (pass@k), "
    text += "\u201call of k\u201d that every one does."
    made = table("Success within several tries", columns, lines)
    return folded("Success within several tries (pass@k, all of k)", made, note(text))


def _unknown(rows: Sequence[Mapping[str, Any]], evidence: Evidence) -> Markup:
    """How unknown outcomes, and checks that are wrong, could change the rates."""
    columns = [
        Column("Agent"),
        Column("Unknown outcomes", True),
        Column("Rate if all of them failed", True),
        Column("Rate if all succeeded", True),
        Column("Imputed", True),
    ]
    checks = list(dict.fromkeys(_check(one) for row in rows for one in row.get("corrected") or ()))[:6]
    columns += [Column(_erring(check), True) for check in checks]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        agent = str(row.get("agent"))
        link = evidence.scorable(agent)
        bounds = row.get("bounds") or {}
        low, high, unknown = (finite_number(bounds.get(part)) for part in ("low", "high", "unknown"))
        line: list[Cell | Piece] = [
            agent,
            Cell(evidence.number(count(unknown), evidence.unknown(agent)) if unknown else count(unknown), unknown),
            Cell(evidence.number(share(low), link), low),
            Cell(evidence.number(share(high), link), high),
            estimated(row["imputed"], link) if row.get("imputed") else Cell("\u2013"),
        ]
        corrected = {_check(one): one.get("estimate") for one in row.get("corrected") or ()}
        scored = evidence.scored(agent)
        line += [estimated(corrected[check], scored) if check in corrected else Cell("\u2013") for check in checks]
        lines.append(line)
    text = "Unknown outcomes are never dropped: the bounds hold for every possible outcome. "
    if checks:
        text += (
            "The last columns show the rate if the checks accept and reject with these probabilities. They are assumed "
        )
        text += "unless the number of patches is given on which they were measured; "
        text += "they are a sensitivity analysis, not a result."
    made = table("Sensitivity to unknown outcomes and to wrong checks", columns, lines)
    return folded("Sensitivity to unknown outcomes and to wrong checks", made, note(text))


def _check(one: Mapping[str, Any]) -> tuple[float | None, ...]:
    return tuple(
        finite_number(one.get(part)) for part in ("sensitivity", "specificity", "sensitivity_n", "specificity_n")
    )


def _erring(check: tuple[float | None, ...]) -> str:
    """How often checks are wrong, and on how many patches that was measured."""
    found, spared, right, faulty = check
    text = f"Sensitivity {share(found)}, specificity {share(spared)}"
    measured = right is not None and faulty is not None
    return f"{text}, measured on {count(right)} correct and {count(faulty)} faulty patches" if measured else text


MOST_ACROSS = 14
"""Columns side by side; more are only in the list."""


def strata(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """A table of strata by agents, the whole list, and weighted rates."""
    rows = list(findings.get("strata") or ())
    if not rows:
        return Section(
            "strata",
            "Strata",
            tag("div", empty_note("the runs have no strata"), _weighted(findings, evidence)),
        )
    text = "Strata are small: a difference inside one is a hint for a next study, not a finding of this one."
    every = folded("Every stratum and agent with runs and cost", _list(rows, currency(findings).form, evidence))
    body = [_grid(findings, rows, evidence), note(text), every, _weighted(findings, evidence)]
    return Section("strata", "Strata", tag("div", body))


def _grid(findings: Mapping[str, Any], rows: list[Mapping[str, Any]], evidence: Evidence) -> Markup | None:
    """The columns are strata or agents, whichever are fewer."""
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
    """A rate; the full list shows why one is undefined."""
    if row is None:
        return Cell("\u2013")
    if reason(row.get("success")):
        return Cell(tag("span", "undefined", class_="quiet"))
    return estimated(row.get("success"), _scored(row, evidence))


def _scored(row: Mapping[str, Any], evidence: Evidence) -> str:
    """The link to the runs of an agent in a stratum that have an outcome."""
    stratum, agent = str(row.get("stratum")), str(row.get("agent"))
    if finite_number((row.get("success") or {}).get("n")) == finite_number(row.get("runs")):
        return evidence.where(agent, stratum=stratum)
    return evidence.where(agent, KNOWN, "an outcome", stratum=stratum)


def _list(rows: list[Mapping[str, Any]], form: Form, evidence: Evidence) -> Markup:
    columns = [Column("Stratum"), Column("Agent"), Column("Tasks", True), Column("Runs", True)]
    columns += [Column("Success", True), Column("Cost", True)]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        stratum, agent = str(row.get("stratum")), str(row.get("agent"))
        link = evidence.where(agent, stratum=stratum)
        runs, usd = finite_number(row.get("runs")), finite_number(row.get("cost_usd"))
        lines.append(
            [
                stratum,
                agent,
                Cell(count(row.get("tasks")), finite_number(row.get("tasks"))),
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
            weights(row.get("weights")),
            estimated(row.get("estimate"), evidence.scored(str(row.get("agent")))),
        ]
        for row in rows
    ]
    made = table("Success with weighted strata", [Column("Agent"), Column("Weights"), Column("Success", True)], lines)
    how = methods(row.get("estimate") for row in rows)
    return folded("Weighted strata", made, how) if len(rows) > 8 else tag("div", tag("h3", "Weighted"), made, how)
