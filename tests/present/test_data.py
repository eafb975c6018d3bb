"""Findings as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from proctor.present.report_files import Row, csv_bytes, findings_json, flat, tables, write_csv
from proctor.study.analysis.findings import findings
from proctor.study.run_table import Table

ESTIMATE = {
    "value": 0.5,
    "low": 0.25,
    "high": 0.75,
    "level": 0.95,
    "method": "made",
    "n": 4,
    "clusters": 2,
    "undefined": None,
}


def made(agents: tuple[str, ...] = ("x", "y")) -> Table:
    """Two agents, three tasks, two trials."""
    return Table.from_rows(
        {
            "run": f"{agent}/{task}/{trial}",
            "source": "made",
            "agent": agent,
            "method": agent,
            "task": task,
            "stratum": f"s{task}",
            "trial": trial,
            "status": "success" if (place + task + trial) % 2 else "failure",
            "success": (place + task + trial) % 2,
            "scorable": 1,
            "censored": int(trial == 2),
            "cost_usd": 0.5,
            "seconds": 10.0 * trial,
            "tags": "slow" if trial == 2 else "",
            "comparability": f"c{task}",
        }
        | {"task": f"t{task}"}
        for place, agent in enumerate(agents)
        for task in (1, 2, 3)
        for trial in (1, 2)
    )


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_json_is_what_the_findings_are() -> None:
    found = findings(made())
    data = findings_json(found)
    assert json.loads(data) == found
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert findings_json(findings(made())) == data


def test_an_estimate_becomes_columns() -> None:
    assert flat({"agent": "x", "rate": ESTIMATE, "rank": {"best": 1}, "tags": ["a", "b"]}) == {
        "agent": "x",
        "rate": 0.5,
        "rate_low": 0.25,
        "rate_high": 0.75,
        "rate_level": 0.95,
        "rate_method": "made",
        "rate_n": 4,
        "rate_clusters": 2,
        "rate_undefined": None,
        "rank_best": 1,
        "tags": "a; b",
    }


def test_every_table_has_its_rows() -> None:
    found = tables(findings(made()))
    counts = {name: len(rows) for name, rows in found.items()}
    assert counts["agents"] == 2
    assert counts["pairs"] == 1
    assert counts["attempts"] == 2 * 2 * 2, "two agents, pass@k and all-of-k, k of 1 and 2"
    assert counts["strata"] == 6
    assert counts["cost_by_task"] == 6
    assert counts["runs"] == 12
    assert counts["modes"] == 2
    assert {row["kind"] for row in found["statements"]} >= {"verdict", "headline", "cost", "caveat", "cannot", "scope"}
    assert {row["of"] for row in found["survival_steps"]} == {"seconds", "cost_usd"}


def test_a_file_for_each_table_that_has_rows(tmp_path: Path) -> None:
    found = findings(made())
    written = write_csv(found, tmp_path / "csv")
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == sorted(written)
    assert "agents.csv" in written
    assert "counterfactual.csv" not in written, "nothing to tell, no file"
    (row, _) = read((tmp_path / "csv" / "agents.csv").read_bytes())
    assert row["agent"] == found["agents"][0]["agent"]
    assert float(row["success"]) == found["agents"][0]["success"]["value"]
    assert float(row["success_low"]) == found["agents"][0]["success"]["low"]
    assert row["rank_best"] == "1"


def test_tables_of_an_earlier_report_do_not_stay(tmp_path: Path) -> None:
    found = findings(made())
    found["baselines"] = [{"method": "noop", "runs": 4, "success": ESTIMATE, "expected": 0.0, "held": True}]
    assert "baselines.csv" in write_csv(found, tmp_path)
    (tmp_path / "notes.csv").write_text("mine")
    assert "baselines.csv" not in write_csv(findings(made()), tmp_path)
    assert not (tmp_path / "baselines.csv").exists()
    assert (tmp_path / "notes.csv").exists(), "what is no table of a report stays"


def test_a_cell_is_no_formula_and_missing_is_empty() -> None:
    rows: list[Row] = [
        {"agent": '=HYPERLINK("http://x")', "usd": None, "gain": -0.5, "fine": True},
        {"agent": "a,b\nc", "more": 1},
    ]
    first, second = read(csv_bytes(rows))
    assert first["agent"].startswith("'=HYPERLINK")
    assert (first["usd"], first["gain"], first["fine"], first["more"]) == ("", "-0.5", "true", "")
    assert second["agent"] == "a,b\nc"
