"""What someone needs to do it again, and the runs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proctor.present.amounts import Form, count, currency, duration, known
from proctor.present.html.evidence import Evidence, whole
from proctor.present.html.table import Cell, Column, Section, absent, folded, note, table
from proctor.present.markup import Markup, Piece, clean, tag

MOST_RUNS = 5000
MOST_BYTES = 2_500_000
"""What the rows of runs may add to the page, whatever their names are."""
MOST_FACTS = 300
LONG = 6000
"""Letters from which on a part of the appendix is folded away."""
KNOWN_STATUS = ("success", "failure", "acceptance-error", "invalid", "unknown")


def appendix(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Digests, lock files, agents' configuration, seeds, amendments and stages."""
    given = findings.get("appendix") or {}
    source = findings.get("source") or {}
    parts: list[Piece] = [
        tag("h3", "Source"),
        _facts((name, source[name]) for name in ("kind", "name", "digest", "rows") if name in source),
    ]
    titles = (
        ("digests", "Digests"),
        ("locks", "Lock files"),
        ("agents", "Configuration of agents"),
        ("seeds", "Seeds"),
        ("amendments", "Amendments"),
        ("stages", "Stages"),
    )
    for key, title in titles:
        made = _value(given[key]) if given.get(key) else absent("none is recorded")
        parts += [tag("h3", title), folded(f"All {title.lower()}", made) if len(made) > LONG else made]
    text = "The same findings give this page byte for byte; it holds no date of its own and nothing of the machine."
    return Section("appendix", "Reproducibility", tag("div", parts, note(text)))


def _value(value: Any) -> Markup:
    """Any recorded value: mappings as facts, lists as items, text as it is."""
    if isinstance(value, Mapping):
        return _facts(value.items())
    if isinstance(value, list | tuple):
        kept = value[:MOST_FACTS]
        if not any(isinstance(item, Mapping | list | tuple) for item in kept):
            return tag("code", whole(", ".join(str(item) for item in kept)))
        return tag("ul", (tag("li", _value(item)) for item in kept), class_="records")
    return tag("code", whole(str(value)))


def _facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    kept = list(pairs)[:MOST_FACTS]
    return tag("dl", ((tag("dt", str(name)), tag("dd", _value(value))) for name, value in kept), class_="facts")


def evidence_list(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Where the links of the numbers lead."""
    evidence.everything()
    intro = tag(
        "p",
        "Each number of this page links to an entry here. Its query selects the runs behind it from the table that ",
        "was written beside this page: ",
        tag("code", "proctor query --results runs.parquet --sql '\u2026'"),
        ".",
    )
    return Section("evidence", "Evidence", tag("div", intro, evidence.listing()))


def runs(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The runs that the page carries along, as rows to link to."""
    rows = list(findings.get("runs") or ())
    if not rows:
        return Section("runs", "Runs", absent("the findings name no single runs; the queries above select them"))
    columns = [
        Column("Run"),
        Column("Agent"),
        Column("Task"),
        Column("Trial", True),
        Column("Status"),
        Column("Cost", True),
        Column("Time", True),
        Column("Tags"),
        Column("Source"),
    ]
    form = currency(findings).form
    lines = [_run(row, form) for row in _bounded(rows)]
    keys = [f"r{place}" for place in range(1, len(lines) + 1)]
    hidden = (known(findings.get("runs_left_out")) or 0) + len(rows) - len(lines)
    rest = note(f"{count(hidden)} more runs are not on this page; the queries above select them.") if hidden else None
    made = table("Runs", columns, lines, most=MOST_RUNS, keys=keys, look="runs")
    return Section("runs", "Runs", tag("div", rest, folded(f"{count(len(lines))} runs", made, key="all-runs")))


def _bounded(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """As many of the first rows as a page may hold."""
    size = 0
    for place, row in enumerate(rows[:MOST_RUNS]):
        size += 350 + sum(
            len(clean(str(row.get(part))).encode()) for part in ("run", "agent", "task", "tags", "source")
        )
        if size > MOST_BYTES:
            return rows[:place]
    return rows[:MOST_RUNS]


def _run(row: Mapping[str, Any], form: Form) -> list[Cell | Piece]:
    status = str(row.get("status"))
    usd, seconds = known(row.get("cost_usd")), known(row.get("seconds"))
    look = f"status {status}" if status in KNOWN_STATUS else "status"
    return [
        str(row.get("run")),
        str(row.get("agent")),
        str(row.get("task")),
        count(row.get("trial")),
        tag("span", status, class_=look),
        Cell(form(usd), usd),
        Cell(duration(seconds), seconds),
        str(row.get("tags") or "").replace(";", ", "),
        str(row.get("source") or ""),
    ]
