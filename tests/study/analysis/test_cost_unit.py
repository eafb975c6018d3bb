"""Costs are told in the unit that they have, and units are never mixed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.present.readable_numbers import currency, money, units
from proctor.present.sentences import joined, sentences
from proctor.present.sentences.tables import other_cap
from proctor.study.analysis.cost_unit import UNITS, in_one_unit
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Question
from proctor.study.run_table import Table
from tests.study.analysis.made import runs

OUTCOMES = {"x": {f"t{task}": [1, task % 2] for task in range(12)}, "y": {f"t{task}": [0, 1] for task in range(12)}}


def costing(**columns: Any) -> list[dict[str, Any]]:
    """Rows with costs of every part, times and tags."""
    parts = {"model_usd": 0.003, "execution_usd": 0.002, "agent_execution_usd": 0.002, "stratum": "s", "seconds": 5.0}
    return [
        {**row, "cost_usd": 0.005 + place / 10_000, "tags": "slow" if place % 3 else ""}
        for place, row in enumerate(runs(OUTCOMES, **parts, **columns))
    ]


def test_amounts_in_tables() -> None:
    assert [units(value) for value in (None, 0, 1, 0.0123, 12.345, 12345.6)] == [
        "\u2013",
        "0 units",
        "1 unit",
        "0.0123 units",
        "12.3 units",
        "12,346 units",
    ]
    paid = currency({"cost": {"unit": {"name": "units", "per_usd": 1000}}})
    assert (paid.form(0.0123), paid.tick(0.0123), paid.tick(0.001)) == ("12.3 units", "12.3", "1")
    for unit in (None, {}, {"name": "USD", "per_usd": 1}):
        assert currency({"cost": {"unit": unit}}).form is money
    assert currency({}).form is money


def test_no_dollar_is_shown_where_costs_are_units() -> None:
    question = Question(against="y", caps={"cost_usd": (0.006,)})
    found = findings(Table.from_rows(costing(cost_method="fallback-1")), question)
    assert found["cost"]["unit"] == {"name": "units", "per_usd": 1000}
    assert "units per run" in joined(found["headline"]["cost"])
    assert other_cap(found["counterfactual"][0], found) == "hypothetical: cap of 6 units per run"
    shown = page(found).decode()
    text = re.sub(r"<(style|script).*?</\1>", "", shown, flags=re.DOTALL)
    assert not re.search(r"\$\d|US dollars", text.replace("a dollar", ""))
    assert "6.15 units" in text
    lines = report(found).decode()
    assert "| agent | units | units per run | units per success |" in lines
    assert "## Units until the agent ends" in lines
    assert "USD" not in lines


def test_dollars_are_dollars() -> None:
    found = findings(Table.from_rows(costing(cost_method="sha256:prices")), Question(against="y"))
    assert found["cost"]["unit"] == {"name": "USD", "per_usd": 1}
    assert "$0.0062" in page(found).decode()
    assert "| agent | USD | USD per run | USD per success |" in report(found).decode()


@pytest.mark.parametrize("other", ["sha256:prices", None])
def test_dollars_and_units_are_not_added(other: str | None) -> None:
    rows = [{**row, "cost_method": other if place % 4 else "fallback-1"} for place, row in enumerate(costing())]
    table = Table.from_rows([*rows, {"run": "free", "method": "x", "task": "t1", "trial": 9, "success": 1}])
    assert in_one_unit(table)[1].mixed == (36, 12)
    found = findings(table, Question(against="y"))
    assert found["cost"]["unit"] is None
    assert found["cost"]["items"] == []
    assert {agent["cost"]["total_usd"] for agent in found["agents"]} == {None}
    told = "The costs of 36 runs are in US dollars and those of 12 in units of a fixed schedule"
    assert any(text.startswith(told) for text in sentences(found["headline"]["caveats"]))
    assert {"code": "cannot-add-costs"} in found["cannot"]
    assert told in page(found).decode()
    assert found["headline"]["cost"] == [{"code": "costs-in-two-units"}]


def test_runs_without_a_cost_have_no_unit() -> None:
    rows = [{**row, "cost_usd": None, "cost_method": None} for row in costing()[:4]] + costing(
        cost_method="fallback-1"
    )[4:]
    assert in_one_unit(Table.from_rows(rows))[1] == UNITS
