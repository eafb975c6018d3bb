"""What a pilot cost in all is told with every line of it, the same in its status and in every report."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.present.report_files import tables
from proctor.study.analysis.cost_unit import UNITS, USD
from proctor.study.analysis.findings import findings
from proctor.study.pilot.ledger.pilot_runs import CUT
from proctor.study.pilot.report.pilot_findings import in_one_unit
from proctor.study.pilot.report.pilot_status import bill_of, status_of
from proctor.study.pilot.running.pilot_state import PilotState
from tests.present.test_data import made
from tests.study.pilot.ledger.test_costs_besides_runs import RATES, screen, with_people
from tests.study.pilot.pilot_cases import ARMS, run_of
from tests.study.pilot.report.test_status import stands


def screened(here: PilotState) -> PilotState:
    return replace(here, journal=replace(here.journal, charges=(screen("a", "1.25"), screen("b", "0.5"))))


def with_checks() -> PilotState:
    """A pilot whose known solutions were run as checks only, with a run that was cut off."""
    here = stands(6, methods=ARMS[:3])
    lost = run_of(here.plan.slots[0], -1, state=CUT, usd=Decimal("0.25"), status="")
    runs = tuple(replace(run, usd=Decimal("0.125")) if run.stage == "checks" else run for run in here.runs)
    return screened(replace(here, runs=(*runs, lost)))


@pytest.mark.parametrize("here", [stands(0), stands(8), with_checks(), screened(with_people(None))])
def test_the_lines_add_up_to_what_status_says_is_spent(here: PilotState) -> None:
    whole, now = bill_of(here), status_of(here, busy=False)
    amounts = {line["name"] or line["of"]: line["usd"] for line in whole["lines"]}
    assert sum(amounts.values()) == whole["total_usd"] == float(now["spent_usd"])
    assert {name: amounts[name] for name in ("x", "y")} == {
        one["method"]: float(one["spent_usd"]) for one in now["methods"] if not one["baseline"]
    }
    assert [line["name"] for line in whole["lines"] if line["of"] == "baseline"] == [
        one["method"] for one in now["methods"] if one["baseline"]
    ]
    assert amounts.get("checks", 0) == float(now["checks"]["spent_usd"])
    assert [(one["of"], one["usd"]) for one in whole["lines"] if one["of"] in ("screen", "patch", "review")] == [
        (one["kind"], float(one["usd"])) for one in now["charges"]
    ]


def test_a_baseline_tells_its_checks_from_its_runs_for_the_plan() -> None:
    """The table of baselines has fewer runs than the bill: checks were paid for and are no results."""
    here = stands(8)
    lines = {line["name"]: line for line in bill_of(here)["lines"]}
    assert [(lines[name]["count"], lines[name]["checks"]) for name in ("x", "noop", "reference")] == [
        (2, 0),
        (6, 4),
        (6, 4),
    ]
    methods = status_of(here, busy=False)["methods"]
    assert {one["method"]: (one["done"], one["checks"]) for one in methods} == {
        "x": (2, 0),
        "y": (2, 0),
        "noop": (2, 4),
        "reference": (2, 4),
    }
    shown = page({**findings(made()), "bill": bill_of(here)}).decode()
    assert "noop (baseline: 2 for the plan, 4 checks)" in shown and ">x</th>" in shown
    earlier = [{name: value for name, value in line.items() if name != "checks"} for line in bill_of(here)["lines"]]
    lines_of_it = report({**findings(made()), "bill": {**bill_of(here), "lines": earlier}}).decode()
    assert "| noop (baseline) | 6 |" in lines_of_it, "findings from before say what they know"


def test_every_line_is_told_in_every_report() -> None:
    whole = bill_of(with_checks())
    assert whole["unit"] == {"name": "units", "per_usd": 1000}
    found = {**findings(made()), "bill": whole}
    lines = report(found).decode()
    assert "## What the pilot cost in all" in lines
    for words in (
        "| for | number | units |",
        "| x | 2 | 1,000.00 |",
        "| noop (baseline: 2 for the plan, 4 checks) | 6 | 1,500.00 |",
        "| checks that belong to no method | 4 | 500.00 |",
        "| screens of checks | 2 | 1,750.00 |",
        "| in all |  | 6,000.00 |",
        "The budget is 100,000 units, set as 100.00 USD.",
    ):
        assert words in lines, (words, lines)
    shown = page(found).decode()
    for name, *_, amount in (line.strip("| ").split(" | ") for line in lines.splitlines() if line.endswith("00 |")):
        assert f">{name}</th>" in shown and f">{amount}</td>" in shown
    rows = tables(found)["bill"]
    assert {row["cost_unit"] for row in rows} == {"1000 units"}
    assert (rows[-1]["of"], rows[-1]["usd"]) == ("sum", whole["total_usd"])
    assert "What the pilot cost" not in report(findings(made())).decode() + page(findings(made())).decode()


def test_a_bill_in_dollars_says_so_and_one_of_both_has_no_unit() -> None:
    dollars = {"name": USD.name, "per_usd": 1}
    whole = bill_of(replace(stands(8), rates=RATES))
    assert in_one_unit(whole, dollars)["unit"] == dollars
    mixed = in_one_unit(whole, {"name": UNITS.name, "per_usd": 1000})
    assert mixed["unit"] is None and in_one_unit(whole, None)["unit"] is None
    lines = report({**findings(made()), "bill": whole}).decode()
    assert "| for | number | USD |" in lines and "| in all |  | 4.0000 |" in lines and "both among these" not in lines
    found: dict[str, Any] = {**findings(made()), "bill": mixed}
    told = "1,000 units count as a dollar here, as they do for budgets"
    assert told in report(found).decode() and told in page(found).decode()
    assert {row["cost_unit"] for row in tables(found)["bill"]} == {None}
