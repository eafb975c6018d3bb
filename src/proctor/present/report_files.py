"""A report as a folder of files: HTML, Markdown, JSON, one CSV for each table, and the runs as Parquet.

Same findings, same bytes. An estimate becomes several columns in CSV: value, limits, runs, tasks, method, and why it
is undefined. Texts are untrusted, so formulas in them are neutralised.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import escape_cell
from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.present.package_sections import make_sections
from proctor.present.sentences import joined, sentence, sentences
from proctor.present.sentences.estimates import undefined
from proctor.present.sentences.pilot_bill import TOTAL, line_name
from proctor.present.sentences.tables import weights
from proctor.study.analysis.cost_unit import Unit
from proctor.study.index.parquet_file import write_table
from proctor.study.run_table import Table

Row = dict[str, Any]

COST_UNIT, BILLED = "cost_unit", ("billed_usd", "cost_billed_usd")
"""The column that says what costs are in, and the columns that are in dollars whatever it says."""
ESTIMATE = ("value", "low", "high", "level", "method", "n", "clusters", "undefined")


def findings_json(findings: Mapping[str, Any]) -> bytes:
    """Findings as one line of JSON."""
    return orjson.dumps(findings) + b"\n"


def tables(findings: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Every table of the findings by name, each a list of flat rows."""
    cost, modes, tradeoff = findings["cost"], findings["modes"], findings["tradeoff"]
    found: dict[str, Iterable[Mapping[str, Any]]] = {
        "agents": (_without(agent, "pass_at", "all_of", "corrected", "runs") for agent in findings["agents"]),
        "attempts": _attempts(findings),
        "corrected": ({"agent": a["agent"], **one} for a in findings["agents"] for one in a["corrected"]),
        "pairs": findings["pairs"],
        "strata": findings["strata"],
        "weighted": ({**one, "weights": weights(one["weights"])} for one in findings["weighted"]),
        "cost_items": cost["items"],
        "cost_by_outcome": cost["by_outcome"],
        "cost_by_task": cost["by_task"],
        "cost_by_stratum": cost["by_stratum"],
        "bill": _bill(findings),
        "survival": (_without(one, "steps") for one in findings["survival"]),
        "survival_steps": _steps(findings),
        "modes": _modes(modes),
        "discovery": (_without(one, "curve") for one in modes["discovery"]),
        "discovery_curve": _curves(modes),
        "funnel": ({"agent": one["agent"], **step} for one in findings["funnel"] for step in one["steps"]),
        "tradeoff": tradeoff["agents"],
        "precision": tradeoff["precision"],
        "counterfactual": findings["counterfactual"],
        "comparability": ({**one, "differs": sentences(one["differs"])} for one in findings["comparability"]),
        "baselines": findings.get("baselines") or (),
        "variations": findings.get("variations") or (),
        "versus": (findings.get("versus") or {}).get("rows") or (),
        "statements": _statements(findings),
        "runs": findings["runs"],
        "baseline_runs": findings.get("baseline_runs") or (),
    }
    unit = _unit(cost.get("unit"))
    return {name: [_with_unit(flat(row), unit) for row in rows] for name, rows in found.items()}


def _unit(given: Mapping[str, Any] | None) -> str | None:
    """The unit of 1 in a column of costs."""
    return None if given is None else Unit(given["name"], given["per_usd"]).counts


def _with_unit(row: Row, unit: str | None) -> Row:
    """The row with a column that says what its costs are in, unless it has none or says so itself."""
    names = (*row, str(row.get("of")))
    has_costs = any("usd" in name and name not in BILLED for name in names)
    return {**row, COST_UNIT: unit} if has_costs and COST_UNIT not in row else row


def csv_bytes(rows: list[Row]) -> bytes:
    """Rows as CSV with a header; the columns are those of the first row that has them, in order."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_cell, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue().encode()


def write_csv(findings: Mapping[str, Any], folder: Path) -> list[str]:
    """Write a CSV file for each table that has rows, and remove what an earlier report had instead; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, rows in tables(findings).items():
        if rows:
            (folder / f"{name}.csv").write_bytes(csv_bytes(rows))
            written.append(f"{name}.csv")
        else:
            (folder / f"{name}.csv").unlink(missing_ok=True)
    return written


def flat(row: Mapping[str, Any], prefix: str = "") -> Row:
    """A row without nesting: an estimate and any mapping become columns of their own, a list becomes a text."""
    found: Row = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if is_estimate(value):
            found[name] = value["value"]
            found |= {f"{name}_{part}": value[part] for part in ESTIMATE[1:-1]}
            found[f"{name}_undefined"] = undefined(value["undefined"]) if value["undefined"] else None
        elif isinstance(value, Mapping):
            found |= flat(value, f"{name}_")
        elif isinstance(value, list | tuple):
            found[name] = "; ".join(str(inner) for inner in value)
        else:
            found[name] = value
    return found


def is_estimate(value: Any) -> bool:
    """Whether a part of findings is an estimate."""
    return isinstance(value, Mapping) and set(ESTIMATE) <= value.keys()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape_cell(value) if isinstance(value, str) else value


def _without(row: Mapping[str, Any], *names: str) -> Row:
    return {key: value for key, value in row.items() if key not in names}


def _attempts(findings: Mapping[str, Any]) -> Iterator[Row]:
    for agent in findings["agents"]:
        for kind in ("pass_at", "all_of"):
            for one in agent[kind]:
                yield {"agent": agent["agent"], "of": kind, **one}


def _bill(findings: Mapping[str, Any]) -> Iterator[Row]:
    """The lines of a pilot's bill, and their sum."""
    if bill := findings.get("bill"):
        named = ({**line, "name": line["name"] or line_name(line)} for line in bill["lines"])
        total = {"of": "sum", "name": TOTAL, "count": None, "checks": None, "usd": bill["total_usd"]}
        lines = [*named, total]
        yield from ({**line, COST_UNIT: _unit(bill["unit"])} for line in lines)


def _steps(findings: Mapping[str, Any]) -> Iterator[Row]:
    for one in findings["survival"]:
        for at, share, low, high in one["steps"]:
            yield {"agent": one["agent"], "of": one["of"], "at": at, "share": share, "low": low, "high": high}


def _modes(modes: Mapping[str, Any]) -> Iterator[Row]:
    for row in modes["rows"]:
        for tag in modes["tags"]:
            if row["counts"].get(tag):
                yield {"agent": row["agent"], "mode": tag, "count": row["counts"][tag], "runs": row["runs"]}


def _curves(modes: Mapping[str, Any]) -> Iterator[Row]:
    for one in modes["discovery"]:
        for runs, usd, count in one["curve"]:
            yield {"agent": one["agent"], "runs": runs, "usd": usd, "modes": count}


def _statements(findings: Mapping[str, Any]) -> Iterator[Row]:
    head = findings["headline"]
    yield {"kind": "verdict", "code": head["verdict"], "text": head["verdict"]}
    yield {"kind": "headline", "code": head["reason"]["code"], "text": sentence(head["reason"])}
    yield {"kind": "cost", "code": None, "text": joined(head["cost"])}
    for kind, statements in (
        ("caveat", head["caveats"]),
        ("deviation", findings["deviations"]),
        ("cannot", findings["cannot"]),
        ("scope", findings["scope"]["not_to_generalise"]),
    ):
        for one in statements:
            yield {"kind": kind, "code": one["code"], "text": sentence(one)}


FINDINGS, PAGE, RUNS = "findings.json", "report.html", "runs.parquet"


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else or cannot be written, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise UsageFault("this is a file", where=str(folder), hint="give a folder for the report")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / FINDINGS).is_file():
        raise UsageFault("this folder holds something other than a report", where=str(folder), hint="give a new folder")
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    try:
        with TemporaryDirectory(prefix=".proctor-", dir=there):
            pass
    except OSError as error:
        what = f"nothing can be written here: {error.strerror} ({there})"
        raise UsageFault(what, where=str(folder), hint="give a folder that may be written") from None


def write_report(found: Mapping[str, Any], table: Table, folder: Path, sections: Sequence[str] = ()) -> list[str]:
    """Write all of it; the names of what was written. The file that marks a folder as a report comes last.

    ``sections`` are names of sections that installed packages provide.
    """
    more = make_sections(sections, found)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_bytes(page(found, more))
    (folder / "report.md").write_bytes(report(found, more))
    write_csv(found, folder / "csv")
    write_table(table, folder / RUNS)
    (folder / FINDINGS).write_bytes(findings_json(found))
    return [PAGE, "report.md", FINDINGS, "csv/", RUNS]
