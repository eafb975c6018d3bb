"""What a pilot cost in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.present.sentences.phrases import bill_number, budget
from proctor.present.sentences.pilot_caveats import CHARGES
from proctor.study.analysis.cost_unit import UNITS, USD

TITLE = "What the pilot cost in all"
COUNTED = "Every run was paid for, including runs that fill no place and runs of removed tasks."
BOTH = "Some amounts are in dollars and some in units: 1,000 units count as a dollar here, as they do for budgets."
NO_METHOD = "checks that belong to no method"
TOTAL = "in all"


@dataclass(frozen=True)
class Bill:
    """The lines of a bill: for what, how many runs or charges, how much; the last is the sum."""

    unit: str
    lines: tuple[tuple[str, str, str, float], ...]
    """Each with its amount in dollars at the end, as a table sorts by it."""
    notes: tuple[str, ...]


def bill(findings: Mapping[str, Any]) -> Bill | None:
    """The bill in findings; nothing if they are not of a pilot."""
    given = findings.get("bill")
    if not given:
        return None
    unit = UNITS.name if (given["unit"] or {}).get("name") == UNITS.name else USD.name
    lines = [
        (line_name(line), f"{line['count']:,}", bill_number(line["usd"], unit), line["usd"]) for line in given["lines"]
    ]
    total = given["total_usd"]
    lines.append((TOTAL, "", bill_number(total, unit), total))
    notes = [f"{COUNTED} The budget is {budget(given['budget_usd'], unit)}."]
    if given["unit"] is None:
        notes.append(BOTH)
    return Bill(unit, tuple(lines), tuple(notes))


def line_name(line: Mapping[str, Any]) -> str:
    """What a line is for; some runs of a method can be checks, which no table of results has."""
    kind, checks = line["of"], line.get("checks")
    if kind in CHARGES:
        return CHARGES[kind][1]
    if kind == "checks":
        return NO_METHOD
    parts = ["baseline"] if kind == "baseline" else []
    if checks:
        parts.append(f"{line['count'] - checks:,} for the plan, {checks:,} {'check' if checks == 1 else 'checks'}")
    return f"{line['name']} ({': '.join(parts)})" if parts else str(line["name"])
