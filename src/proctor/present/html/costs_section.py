"""What the runs cost by item, phase, agent, outcome, task and stratum, in money, time and tokens.

Price against performance, and what it would cost to know more precisely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.present.figures.bar_charts import stacked
from proctor.present.figures.interval_plots import Offer, tradeoff
from proctor.present.figures.line_charts import MOST_LINES, Curve, curves
from proctor.present.figures.svg_shapes import thinned
from proctor.present.html.evidence_links import Evidence
from proctor.present.html.html_table import (
    Cell,
    Column,
    Section,
    confidence,
    empty_note,
    estimated,
    folded,
    framed,
    note,
    ranked,
    table,
)
from proctor.present.html_markup import Markup, Piece, tag
from proctor.present.readable_numbers import (
    Currency,
    Form,
    count,
    counted,
    currency,
    duration,
    finite_number,
    money,
    points_wide,
)
from proctor.present.sentences.costs import phase
from proctor.present.sentences.pilot_bill import TITLE, bill
from proctor.study.analysis.cost_breakdown import REVIEW

MOST_OFFERS = 40
MOST_SIZES = 200


def offers(findings: Mapping[str, Any], evidence: Evidence) -> Markup:
    """Each agent by cost per run and success rate; the figure and the table show the same rows."""
    heading = tag("h3", "Price against performance")
    found = _offers(findings)
    if not found:
        return tag("div", heading, empty_note("no agent has both a cost and a success rate"))
    title, paid = "Success against the cost of a run", currency(findings)
    figure = framed(tradeoff("offers", found[:MOST_OFFERS], title=title, paid=paid), title)
    columns = [Column("Agent"), Column("Rank", True), Column("Cost of a run", True), Column("Success", True)]
    lines = [_offer(offer, paid, evidence) for offer in found]
    text = "No agent is both cheaper and better than one on the dashed line. The line is as uncertain as the whiskers."
    if len(found) > MOST_OFFERS:
        text += f" The figure shows the first {MOST_OFFERS} of {count(len(found))} agents."
    return tag("div", heading, figure, note(text), folded("The same as a table", table(title, columns, lines)))


def _offers(findings: Mapping[str, Any]) -> list[Offer]:
    """The agents that have both a cost and a success rate."""
    places = {str(row.get("agent")): place for place, row in enumerate(findings.get("agents") or (), 1)}
    found = []
    for row in (findings.get("tradeoff") or {}).get("agents") or ():
        usd, success, low, high = (finite_number(row.get(part)) for part in ("usd_per_run", "success", "low", "high"))
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
        return tag(
            "div", heading, empty_note("no agent has two tasks with an outcome, so there is no interval to narrow")
        )
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
    priced = any(
        finite_number(row.get("usd")) is not None and finite_number(row.get("half_width")) is not None for row in given
    )
    found = []
    for row in given:
        half, usd = finite_number(row.get("half_width")), finite_number(row.get("usd"))
        runs, tasks = finite_number(row.get("runs_per_task")), finite_number(row.get("tasks"))
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


ITEMS = ("model", "execution", "human", "overhead", "unattributed")
MOST_BARS = 40
MOST_NAMED = 5
MOST_TASKS = 100
METERS: tuple[tuple[str, str, Form], ...] = (
    ("seconds", "Time", duration),
    ("tokens_in", "Tokens read", count),
    ("tokens_out", "Tokens written", count),
)
"""What rows of cost may hold besides the cost: the field, its name and how it is written."""


def costs(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """All parts of the cost, each where the findings have it."""
    cost = findings.get("cost") or {}
    parts: list[Piece] = [
        _unmetered(findings),
        _items(findings, evidence),
        _agents(findings, evidence),
        _outcomes(findings, evidence),
    ]
    form = currency(findings).form
    parts += [_places(cost, "task", form, evidence), _places(cost, "stratum", form, evidence)]
    if not any(parts):
        parts = [empty_note("no run has a recorded cost or duration")]
    parts.append(_bill(findings))
    return Section("cost", "Cost", tag("div", parts, offers(findings, evidence), precision(findings)))


def _unmetered(findings: Mapping[str, Any]) -> Markup | None:
    """That sums are of the runs whose cost is known, where there are others."""
    agents = findings.get("agents") or ()
    rows = [
        (finite_number(row.get("attempted")), finite_number((row.get("cost") or {}).get("metered")), row)
        for row in agents
    ]
    partly = [
        f"{count(runs - metered)} of {count(runs)} of {row.get('agent')}"
        for runs, metered, row in rows
        if runs is not None and metered is not None and 0 < metered < runs
    ]
    more = f" and {len(partly) - MOST_NAMED} more agents" if len(partly) > MOST_NAMED else ""
    text = f"Sums of costs leave out runs whose cost is not known: {', '.join(partly[:MOST_NAMED])}{more}."
    return note(text) if partly else None


def _items(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    given = (findings.get("cost") or {}).get("items") or ()
    rows = ranked(findings, (row for row in given if finite_number(row.get("usd")) is not None))
    if not rows:
        return None
    sums: dict[str, dict[str, float]] = {}
    for row in (row for row in rows if row.get("phase") != REVIEW):
        item, one = _item(row), sums.setdefault(str(row.get("agent")), {})
        one[item] = one.get(item, 0.0) + float(row["usd"])
    used = [item for item in ITEMS if any(parts.get(item) for parts in sums.values())]
    title = "Cost of each agent by item"
    paid = currency(findings)
    bars = stacked("items", list(sums.items())[:MOST_BARS], used or ["model"], title=title, paid=paid)
    figure = framed(bars, title)
    columns = [
        Column("Agent"),
        Column("Item"),
        Column("Phase"),
        Column(f"{paid.title[0].upper()}{paid.title[1:]}", True),
    ]
    lines: list[list[Cell | Piece]] = [
        [
            str(row.get("agent")),
            _item(row),
            phase(row["phase"]) if row.get("phase") else "\u2013",
            Cell(
                evidence.number(paid.form(row["usd"]), evidence.agent(str(row.get("agent")))), finite_number(row["usd"])
            ),
        ]
        for row in rows
    ]
    besides = any(row.get("phase") == REVIEW for row in rows)
    rest = note("Reviews are listed here and are not part of the bars.") if besides else None
    made = table("Cost by item and phase", columns, lines)
    return tag("div", figure, folded("The same by phase, as a table", made, rest))


def _item(row: Mapping[str, Any]) -> str:
    """The item of a cost, as the bars and the table name it."""
    return str(row.get("item")) if row.get("item") in ITEMS else "unattributed"


def _bill(findings: Mapping[str, Any]) -> Markup | None:
    """Everything that a pilot paid for, and the sum."""
    whole = bill(findings)
    if whole is None:
        return None
    columns = [Column("For"), Column("Number", True), Column(f"{whole.unit[0].upper()}{whole.unit[1:]}", True)]
    lines: list[list[Cell | Piece]] = [[name, number, Cell(shown, usd)] for name, number, shown, usd in whole.lines]
    made = table(TITLE, columns, lines, sortable=False)
    return tag("div", tag("h3", TITLE), made, (note(text) for text in whole.notes))


def _meters(rows: list[Mapping[str, Any]], form: Form) -> list[tuple[str, str, Form]]:
    """The meters that any row has a number for; costs are written by ``form``."""
    meters = (("usd", "Cost", form), *METERS)
    return [meter for meter in meters if any(finite_number(row.get(meter[0])) is not None for row in rows)]


def _agents(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    """What each agent used in all, and what a provider billed for it."""
    fields: tuple[tuple[str, str, Form], ...] = (
        ("total_usd", "Cost in all", currency(findings).form),
        ("billed_usd", "Billed by providers", money),
        ("tokens_in", "Tokens read", count),
        ("tokens_out", "Tokens written", count),
        ("review_usd", "Reviews after runs", currency(findings).form),
        ("human_minutes", "Time of people", lambda minutes: duration(None if minutes is None else minutes * 60)),
    )
    rows = [(str(row.get("agent")), row.get("cost") or {}) for row in findings.get("agents") or ()]
    used = [field for field in fields if any(finite_number(cost.get(field[0])) is not None for _, cost in rows)]
    if not used:
        return None
    lines: list[list[Cell | Piece]] = [
        [
            name,
            *(_cell(finite_number(cost.get(key)), form, evidence, evidence.agent(name)) for key, _, form in used),
        ]
        for name, cost in rows
    ]
    columns = [Column("Agent"), *(Column(title, True) for _, title, _ in used)]
    return folded("By agent, with tokens", table("What each agent used in all", columns, lines))


def _cell(value: float | None, form: Form, evidence: Evidence, link: str) -> Cell:
    """A number that links to its runs; a dash has no link."""
    return Cell(form(value)) if value is None else Cell(evidence.number(form(value), link), value)


def _outcomes(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    rows = ranked(findings, (findings.get("cost") or {}).get("by_outcome"))
    if not rows:
        return None
    meters = _meters(rows, currency(findings).form)
    spread = [meter for meter in meters if any(row.get(f"{meter[0]}_quartiles") for row in rows)]
    columns = [Column("Agent"), Column("Outcome"), Column("Runs", True)]
    columns += [Column(f"{title}, all runs", True) for _, title, _ in meters]
    columns += [Column(f"{title} of a run: median, quartiles", True) for _, title, _ in spread]
    lines: list[list[Cell | Piece]] = []
    for row in rows:
        agent, status = str(row.get("agent")), str(row.get("status"))
        link = evidence.where(agent, status=status)
        line: list[Cell | Piece] = [
            agent,
            status,
            _cell(finite_number(row.get("runs")), count, evidence, link),
        ]
        line += [_cell(finite_number(row.get(key)), form, evidence, link) for key, _, form in meters]
        lines.append(line + [_quartiles(row.get(f"{key}_quartiles"), form) for key, _, form in spread])
    made = table("Cost and time by outcome", columns, lines)
    return folded("By outcome", made) if len(lines) > 12 else tag("div", tag("h3", "By outcome"), made)


def _quartiles(given: Any, form: Form) -> Cell:
    """The median, and below it the range of the middle half of the runs."""
    values = [finite_number(value) for value in given or ()]
    if len(values) != 3 or None in values:
        return Cell(form(None))
    return Cell([form(values[1]), tag("span", f"{form(values[0])} to {form(values[2])}", class_="range")], values[1])


def _places(cost: Mapping[str, Any], kind: str, form: Form, evidence: Evidence) -> Markup | None:
    """Use by task or by stratum, sorted by the first meter, largest first.

    Agents are added up unless the findings left rows out: a sum over what is left would be wrong.
    """
    rows = list(cost.get(f"by_{kind}") or ())
    cut = int(finite_number(cost.get(f"by_{kind}_left_out")) or 0)
    meters = _meters(rows, form)
    if not meters:
        return None
    sums: dict[tuple[str, str | None], dict[str, float]] = {}
    for row in rows:
        one = sums.setdefault((str(row.get(kind)), str(row.get("agent")) if cut else None), {})
        for key in ("runs", *(key for key, _, _ in meters)):
            if (value := finite_number(row.get(key))) is not None:
                one[key] = one.get(key, 0.0) + value
    first = meters[0][0]
    most = sorted(sums.items(), key=lambda entry: (-entry[1].get(first, 0.0), entry[0][0], entry[0][1] or ""))
    lines: list[list[Cell | Piece]] = []
    for (name, agent), used in most[:MOST_TASKS]:
        link = evidence.where(agent, **{kind: name})
        line: list[Cell | Piece] = [name] if agent is None else [name, agent]
        line.append(_cell(used.get("runs"), count, evidence, link))
        lines.append(line + [_cell(used.get(key), write, evidence, link) for key, _, write in meters])
    columns = [Column(kind.capitalize()), *([Column("Agent")] if cut else []), Column("Runs", True)]
    columns += [Column(title, True) for _, title, _ in meters]
    hidden = len(sums) - len(lines) + cut
    rest = note(f"{count(hidden)} more are not on this page.") if hidden else None
    title = f"Cost by {kind}{' and agent' if cut else ', all agents together'}, most first"
    return folded(f"By {kind}", table(title, columns, lines), rest)
