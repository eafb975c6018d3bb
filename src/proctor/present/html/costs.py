"""What the runs cost by item, phase, agent, outcome, task and stratum, in money, time and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.amounts import Form, count, currency, duration, known, money
from proctor.present.bill import TITLE, bill
from proctor.present.figures.bars import stacked
from proctor.present.html.evidence import Evidence
from proctor.present.html.table import Cell, Column, Section, absent, folded, framed, note, ranked, table
from proctor.present.html.tradeoffs import offers, precision
from proctor.present.markup import Markup, Piece, tag
from proctor.study.analysis.costs import REVIEW

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
        parts = [absent("no run says what it cost or how long it took")]
    parts.append(_bill(findings))
    return Section("cost", "Cost", tag("div", parts, offers(findings, evidence), precision(findings)))


def _unmetered(findings: Mapping[str, Any]) -> Markup | None:
    """That sums are of the runs whose cost is known, where there are others."""
    agents = findings.get("agents") or ()
    rows = [(known(row.get("attempted")), known((row.get("cost") or {}).get("metered")), row) for row in agents]
    told = [
        f"{count(runs - metered)} of {count(runs)} of {row.get('agent')}"
        for runs, metered, row in rows
        if runs is not None and metered is not None and 0 < metered < runs
    ]
    more = f" and {len(told) - MOST_NAMED} more agents" if len(told) > MOST_NAMED else ""
    text = f"Sums of costs leave out runs whose cost is not known: {', '.join(told[:MOST_NAMED])}{more}."
    return note(text) if told else None


def _items(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    given = (findings.get("cost") or {}).get("items") or ()
    rows = ranked(findings, (row for row in given if known(row.get("usd")) is not None))
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
            str(row.get("phase") or "\u2013"),
            Cell(evidence.number(paid.form(row["usd"]), evidence.agent(str(row.get("agent")))), known(row["usd"])),
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
    return [meter for meter in meters if any(known(row.get(meter[0])) is not None for row in rows)]


def _agents(findings: Mapping[str, Any], evidence: Evidence) -> Markup | None:
    """What each agent used in all, and what a provider billed for it."""
    fields: tuple[tuple[str, str, Form], ...] = (
        ("total_usd", "Cost in all", currency(findings).form),
        ("billed_usd", "Billed by providers", money),
        ("tokens_in", "Tokens read", count),
        ("tokens_out", "Tokens written", count),
        ("review_usd", "Reviews, besides", currency(findings).form),
        ("human_minutes", "Time of people", lambda minutes: duration(None if minutes is None else minutes * 60)),
    )
    rows = [(str(row.get("agent")), row.get("cost") or {}) for row in findings.get("agents") or ()]
    used = [field for field in fields if any(known(cost.get(field[0])) is not None for _, cost in rows)]
    if not used:
        return None
    lines: list[list[Cell | Piece]] = [
        [
            name,
            *(_cell(known(cost.get(key)), form, evidence, evidence.agent(name)) for key, _, form in used),
        ]
        for name, cost in rows
    ]
    columns = [Column("Agent"), *(Column(title, True) for _, title, _ in used)]
    return folded("By agent, with tokens", table("What each agent used in all", columns, lines))


def _cell(value: float | None, form: Form, evidence: Evidence, link: str) -> Cell:
    """A number that leads to its runs; a dash leads nowhere."""
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
            _cell(known(row.get("runs")), count, evidence, link),
        ]
        line += [_cell(known(row.get(key)), form, evidence, link) for key, _, form in meters]
        lines.append(line + [_quartiles(row.get(f"{key}_quartiles"), form) for key, _, form in spread])
    made = table("Cost and time by outcome", columns, lines)
    return folded("By outcome", made) if len(lines) > 12 else tag("div", tag("h3", "By outcome"), made)


def _quartiles(given: Any, form: Form) -> Cell:
    """The median, and below it where the middle half of the runs lies."""
    values = [known(value) for value in given or ()]
    if len(values) != 3 or None in values:
        return Cell(form(None))
    return Cell([form(values[1]), tag("span", f"{form(values[0])} to {form(values[2])}", class_="range")], values[1])


def _places(cost: Mapping[str, Any], kind: str, form: Form, evidence: Evidence) -> Markup | None:
    """Use by task or by stratum, those first that used most of what is measured first.

    Agents are added up unless the findings left rows out: a sum over what is left would be wrong.
    """
    rows = list(cost.get(f"by_{kind}") or ())
    cut = int(known(cost.get(f"by_{kind}_left_out")) or 0)
    meters = _meters(rows, form)
    if not meters:
        return None
    sums: dict[tuple[str, str | None], dict[str, float]] = {}
    for row in rows:
        one = sums.setdefault((str(row.get(kind)), str(row.get("agent")) if cut else None), {})
        for key in ("runs", *(key for key, _, _ in meters)):
            if (value := known(row.get(key))) is not None:
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
