"""Costs of a table of results are in dollars, unless the table says that they are in units."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.present.report_files import csv_bytes, tables
from proctor.present.sentences import joined
from proctor.study.analysis.findings import findings
from proctor.study.run_table import Table
from proctor.study.table_import.csv_reader import Reading, Results, read_results
from tests.study.analysis.test_cost_unit import costing

HEAD = "agent,task,outcome,cost_usd,cost_unit"


def read(folder: Path, text: str | bytes) -> Results:
    (folder / "runs.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_results(folder / "runs.csv", Reading())


@pytest.mark.parametrize("method", ["fallback-1", "sha256:prices"])
def test_a_table_of_runs_that_a_report_wrote_keeps_its_unit(method: str, tmp_path: Path) -> None:
    found = findings(Table.from_rows(costing(cost_method=method)))
    again = findings(read(tmp_path, csv_bytes(tables(found)["runs"])).table)
    assert again["cost"]["unit"] == found["cost"]["unit"]
    assert f" {found['cost']['unit']['name']} per run" in joined(again["headline"]["cost"])


def test_every_table_with_costs_says_what_they_are_in() -> None:
    for method, unit in (("fallback-1", "1000 units"), ("sha256:prices", "USD")):
        found = tables(findings(Table.from_rows(costing(cost_method=method))))
        for name, rows in found.items():
            costs = {key for row in rows for key in row if "usd" in key}
            told = {row.get("cost_unit") for row in rows if row.get("of") != "seconds"}
            assert told <= ({unit} if costs or name in ("survival", "survival_steps", "counterfactual") else {None}), (
                name
            )
        assert {row.get("cost_unit") for row in found["survival"] if row["of"] == "seconds"} == {None}
        assert "cost_unit" in found["agents"][0] and "cost_unit" not in found["pairs"][0]


@pytest.mark.parametrize("unit", ["", "USD", "usd", "$"])
def test_dollars_in_many_words(unit: str, tmp_path: Path) -> None:
    assert findings(read(tmp_path, f"{HEAD}\na,t,1,0.5,{unit}\n").table)["cost"]["unit"]["name"] == "USD"


def test_units_are_told_beside_a_price_table_too(tmp_path: Path) -> None:
    rows = "a,t,1,0.5,1000 Units,\na,u,1,0.5,1000 units,fallback-2\n"
    found = read(tmp_path, f"{HEAD},cost_method\n{rows}").table
    assert list(found.cost_method) == ["fallback", "fallback-2"]


def test_another_currency_is_refused_and_not_taken_for_dollars(tmp_path: Path) -> None:
    with pytest.raises(UsageFault) as caught:
        read(tmp_path, f"{HEAD}\na,t,1,0.5,EUR\na,u,1,0.5,USD\na,v,1,0.5,EUR\n")
    assert "runs.csv:2: cost_unit is 'EUR': costs are read in USD, or " in caught.value.message
    assert "(also in line 4)" in caught.value.message
