"""What the runs cost by item, phase, outcome, task and stratum; price against performance; the price of precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.present.amounts import count, duration, known, money, points, share
from proctor.present.figures.bars import stacked
from proctor.present.figures.curves import Curve, curves
from proctor.present.figures.scatter import Offer, tradeoff
from proctor.present.html.evidence import Evidence
from proctor.present.html.table import Cell, Column, Section, absent, folded, framed, note, ranked, table
from proctor.present.markup import Markup, Piece, tag

ITEMS = ("model", "execution", "human", "overhead", "unattributed")
MOST_BARS = 40
MOST_TASKS = 100


def costs(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """All parts of the cost, each where the findings have it."""
    cost = findings.get("cost") or {}
    parts: list[Piece] = [_items(findings, evidence), _outcomes(findings, evidence)]
    parts += [_places(cost, "task", evidence), _places(cost, "stratum", evidence)]
    if not any(parts):
        parts = [absent("no run says what it cost or how long it took")]
    offered = _offers(findings, evidence)
    return Section("cost", "Cost", tag("div", parts, offered, _precision(findings)))


def _items(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    given = (findings.get("cost") or {}).get("items") or ()
    rows = ranked(findings, (row for row in given if known(row.get("usd")) is not None))
    if not rows:
        return None
    sums: dict[str, dict[str, float]] = {}
    for row in rows:
        item = str(row.get("item")) if row.get("item") in ITEMS else "unattributed"
        one = sums.setdefault(str(row.get("agent")), {})
        one[item] = one.get(item, 0.0) + float(row["usd"])
    used = [item for item in ITEMS if any(parts.get(item) for parts in sums.values())]
    title = "Cost of each agent by item"
    figure = framed(stacked("items", list(sums.items())[:MOST_BARS], used or ["model"], title=title), title)
    columns = [Column("Agent"), Column("Item"), Column("Phase"), Column("US dollars", True)]
    lines: list[list[Cell | Piece]] = [
        [
            str(row.get("agent")),
            str(row.get("item")),
            str(row.get("phase") or "\u2013"),
            Cell(evidence.number(money(row["usd"]), evidence.agent(str(row.get("agent")))), known(row["usd"])),
        ]
        for row in rows
    ]
    return tag("div", figure, folded("The same by phase, as a table", table("Cost by item and phase", columns, lines)))


def _outcomes(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    rows = ranked(findings, (findings.get("cost") or {}).get("by_outcome"))
    if not rows:
        return None
    columns = [Column("Agent"), Column("Outcome"), Column("Runs", True), Column("Cost", True), Column("Time", True)]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        agent, status = str(row.get("agent")), str(row.get("status"))
        link = evidence.where(agent, status=status)
        runs, usd, seconds = (known(row.get(part)) for part in ("runs", "usd", "seconds"))
        lines.append(
            [
                agent,
                status,
                Cell(evidence.number(count(runs), link), runs),
                Cell(evidence.number(money(usd), link), usd),
                Cell(evidence.number(duration(seconds), link), seconds),
            ]
        )
    made = table("Cost and time by outcome", columns, lines)
    return folded("By outcome", made) if len(lines) > 12 else tag("div", tag("h3", "By outcome"), made)


def _places(cost: Mapping[str, Any], kind: str, evidence: Evidence) -> Markup | None:
    """Cost by task or by stratum, dearest first, with the agents added up in the order of the page."""
    rows = list(cost.get(f"by_{kind}") or ())
    if not rows:
        return None
    sums: dict[str, list[float]] = {}
    for row in rows:
        one = sums.setdefault(str(row.get(kind)), [0.0, 0.0])
        one[0] += known(row.get("runs")) or 0
        one[1] += known(row.get("usd")) or 0
    dearest = sorted(sums.items(), key=lambda entry: (-entry[1][1], entry[0]))
    lines: list[list[Cell | Piece]] = []
    for name, (runs, usd) in dearest[:MOST_TASKS]:
        link = evidence.where(None, **{kind: name})
        each = usd / runs if runs else None
        cells = [Cell(evidence.number(count(runs), link), runs), Cell(evidence.number(money(usd), link), usd)]
        lines.append([name, *cells, Cell(money(each), each)])
    columns = [Column(kind.capitalize()), Column("Runs", True), Column("Cost", True), Column("Cost of a run", True)]
    rest = note(f"The {MOST_TASKS} dearest of {count(len(sums))}.") if len(sums) > MOST_TASKS else None
    made = table(f"Cost by {kind}, all agents together, dearest first", columns, lines)
    return folded(f"By {kind}", made, rest)


def _offers(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    heading = tag("h3", "Price against performance")
    rows = (findings.get("tradeoff") or {}).get("agents") or ()
    ranked = {str(row.get("agent")): place for place, row in enumerate(findings.get("agents") or (), 1)}
    offers = []
    for row in rows:
        usd, success = known(row.get("usd_per_run")), known(row.get("success"))
        if usd is not None and success is not None:
            name = str(row.get("agent"))
            offers.append(Offer(name, ranked.get(name, 0), usd, success, known(row.get("half_width"))))
    if not offers:
        return tag("div", heading, absent("no agent has both a cost and a success rate"))
    title = "Success against the cost of a run"
    figure = framed(tradeoff("offers", offers[:MOST_BARS], title=title), title)
    columns = [Column("Agent"), Column("Rank", True), Column("Cost of a run", True), Column("Success", True)]
    columns.append(Column("Half of its interval, points", True))
    lines = [_offer(offer, evidence) for offer in offers]
    text = "On the dashed line no other agent is both cheaper and better. It moves with chance as the whiskers do."
    return tag("div", heading, figure, note(text), folded("The same as a table", table(title, columns, lines)))


def _offer(offer: Offer, evidence: Evidence) -> list[Cell | Piece]:
    link = evidence.agent(offer.name)
    half = None if offer.half_width is None else f"\u00b1 {points(offer.half_width).lstrip('+')}"
    return [
        offer.name,
        Cell(count(offer.rank), float(offer.rank)),
        Cell(evidence.number(money(offer.usd), link), offer.usd),
        Cell(evidence.number(share(offer.success), link), offer.success),
        Cell(half or "\u2013", offer.half_width),
    ]


def _sizes(rows: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """A curve for each number of runs of a task, at most five that cover the whole range."""
    lines: dict[float, list[tuple[float, float]]] = {}
    for row in rows:
        lines.setdefault(known(row.get("runs_per_task")) or 0, []).append((float(row["usd"]), float(row["half_width"])))
    repeats = sorted(lines)
    if len(repeats) > 5:
        repeats = [repeats[round(place * (len(repeats) - 1) / 4)] for place in range(5)]
    return [Curve(f"{k:g} {'run' if k == 1 else 'runs'} of each task", lines[k]) for k in repeats]


def _precision(findings: Mapping[str, Any]) -> Markup:
    heading = tag("h3", "What more precision would cost")
    given: Sequence[Mapping[str, Any]] = (findings.get("tradeoff") or {}).get("precision") or ()
    rows = [row for row in given if known(row.get("usd")) is not None and known(row.get("half_width")) is not None]
    if not rows:
        return tag("div", heading, absent("without costs there is no price of precision"))
    rows = sorted(rows, key=lambda row: (row["usd"], row["half_width"]))[:200]
    title = "Half of the interval against the cost of a study"
    figure = curves(
        "precision",
        _sizes(rows),
        title=title,
        describe=f"{len(rows)} sizes of a study, from {money(rows[0]['usd'])} to {money(rows[-1]['usd'])}.",
        across_form=money,
        across_title="US dollars for the study",
        up_form=share,
        up_title="half of the 95% interval",
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
            Cell(money(row["usd"]), known(row["usd"])),
            Cell(f"\u00b1 {points(row['half_width']).lstrip('+')}", known(row["half_width"])),
        ]
        for row in rows
    ]
    made = folded("The same as a table", table(title, columns, lines))
    return tag("div", heading, framed(figure, title), note("Projected from the runs at hand."), made)
