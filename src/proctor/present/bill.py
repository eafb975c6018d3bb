"""The whole bill of a pilot as people read it: a line for each thing that was paid for, their sum, and the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.study.analysis.unit import UNITS, USD

TITLE = "What the pilot cost in all"
COUNTED = "Every run was paid for, also one that fills no place or whose task was removed."
BOTH = "Dollars and units are both among these: a thousand units count as a dollar here, as they do for budgets."


@dataclass(frozen=True)
class Bill:
    """The lines of a bill: for what, how many runs or charges, how much; the last is the sum."""

    unit: str
    lines: tuple[tuple[str, str, str, float], ...]
    """Each with its amount in dollars at the end, as a table sorts by it."""
    notes: tuple[str, ...]


def bill(findings: Mapping[str, Any]) -> Bill | None:
    """The bill in findings; nothing where they are of no pilot."""
    given = findings.get("bill")
    if not given:
        return None
    unit = UNITS if (given["unit"] or {}).get("name") == UNITS.name else USD
    lines = [
        (
            _name(line),
            f"{line['count']:,}",
            unit.number(line["usd"]),
            line["usd"],
        )
        for line in given["lines"]
    ]
    total, budget = given["total_usd"], given["budget_usd"]
    lines.append(("in all", "", unit.number(total), total))
    asked = unit.words(budget) if unit is USD else f"{unit.words(budget)}, set as {USD.words(budget)}"
    notes = [f"{COUNTED} The budget is {asked}."]
    if given["unit"] is None:
        notes.append(BOTH)
    return Bill(unit.name, tuple(lines), tuple(notes))


def _name(line: Mapping[str, Any]) -> str:
    """For what a line is; where some of its runs were checks, which no table of results has, how many were."""
    told, checks = ["baseline"] if line["of"] == "baseline" else [], line.get("checks")
    if checks and line["of"] in ("baseline", "method"):
        told.append(f"{line['count'] - checks:,} for the plan, {checks:,} {'check' if checks == 1 else 'checks'}")
    return f"{line['name']} ({': '.join(told)})" if told else str(line["name"])
