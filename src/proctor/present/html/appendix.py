"""What someone needs to do it again, and the runs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proctor.present.amounts import Form, count, counted, currency, duration, known
from proctor.present.html.evidence import MOST_SHOWN, Evidence, shown_runs, whole
from proctor.present.html.table import Cell, Column, Section, absent, folded, note, table
from proctor.present.markup import Markup, Piece, tag

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
    """Any recorded value: mappings as facts, lists as items, text as it is; what is empty is none."""
    if isinstance(value, Mapping | list | tuple) and not value:
        return tag("code", _word(None))
    if isinstance(value, Mapping):
        return _facts(value.items())
    if isinstance(value, list | tuple):
        kept = value[:MOST_FACTS]
        if not any(isinstance(item, Mapping | list | tuple) for item in kept):
            return tag("code", whole(", ".join(_word(item) for item in kept)))
        return tag("ul", (tag("li", _value(item)) for item in kept), class_="records")
    return tag("code", whole(_word(value)))


def _word(value: Any) -> str:
    """A single value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else str(value)


def _facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    kept = list(pairs)[:MOST_FACTS]
    return tag("dl", ((tag("dt", str(name)), tag("dd", _value(value))) for name, value in kept), class_="facts")


def evidence_list(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """Where the links of the numbers lead."""
    intro = tag(
        "p",
        "Each number of this page links to an entry here. Its query selects the runs behind it from the table that ",
        "was written beside this page: ",
        tag("code", 'proctor query --results runs.parquet --sql "\u2026"'),
        ".",
    )
    return Section("evidence", "Evidence", tag("div", intro, evidence.listing()))


def runs(findings: Mapping[str, Any], evidence: Evidence) -> Section:
    """The runs that the page carries along, as rows to link to."""
    rows = shown_runs(findings)
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
    lines = [_run(row, form) for row in rows]
    keys = [f"r{place}" for place in range(1, len(lines) + 1)]
    compared = min(len(lines), len(findings.get("runs") or ()))
    beside = sum(known(row.get("runs")) or 0 for row in findings.get("baselines") or ())
    listed = len(findings.get("runs") or ()) + (known(findings.get("runs_left_out")) or 0)
    hidden = listed + (beside if findings.get("baseline_runs") else 0) - len(lines)
    more = f"{counted(hidden, 'more run')} {'is' if hidden == 1 else 'are'}"
    rest = note(f"{more} not on this page; the queries above select them.") if hidden else None
    made = table("Runs", columns, lines, most=MOST_SHOWN, keys=keys, look="runs")
    others = f", and {count(len(lines) - compared)} of baselines" if len(lines) > compared else ""
    summary = f"{counted(compared, 'run')}{others}"
    return Section("runs", "Runs", tag("div", rest, folded(summary, made, key="all-runs")))


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
