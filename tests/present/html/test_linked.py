"""A number of runs leads to a query that selects as many, in the report of a pilot and in that of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import run_command
from proctor.present.html_markup import tag
from proctor.present.report_files import write_report
from proctor.record.run_directory import RunDirectory
from proctor.study.analysis.question import Extras
from proctor.study.index.sql_query import RunsDatabase
from proctor.study.pilot.ledger.journal import Journal, Removal
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.report import pilot_findings
from tests.present.html.linked import Page, check_numbers
from tests.study.pilot.pilot_cases import SHOWN, SPOILT
from tests.study.pilot.planning import task
from tests.study.pilot.report.test_status import stands

TASKS = [task("a", "c"), task("b", "c"), task("d", "python"), task("e", "python"), task("f", "python")]


def spoilt(slot: Slot) -> Mapping[str, Any]:
    """Some runs of every arm are no use; the agent itself is at fault, so that they fill their places."""
    wrong = (slot.task == "d" and slot.repeat == 2) or (slot.task, slot.repeat, slot.method) == ("b", 1, "x")
    return {**SPOILT, "attribution": "agent"} if wrong else {}


@pytest.fixture
def pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    """The report of a pilot with both baselines, with a task that was removed and with invalid runs."""
    here = stands(None, spoilt, tasks=TASKS)
    removal = Removal("e", "", "flaky", (), SHOWN, "", "", "", 0, "")
    here = replace(here, journal=Journal(here.journal.screens, (removal,)))
    runs = {run.path: run for run in here.runs}

    def row(directory: RunDirectory) -> dict[str, Any]:
        run = runs[directory.path]
        passed = int(run.success) if run.scorable else None
        return {
            "run": run.run,
            "agent": run.method,
            "task": run.task,
            "contract": run.contract,
            "status": run.status,
            "success": passed,
            "scorable": int(run.scorable),
            "censored": int(run.task == "b" and run.repeat == 1),
            "cost_usd": None if run.task == "a" and run.repeat == 3 else 0.5,
            "seconds": None if run.task == "b" and run.repeat == 2 else 10.0 * run.repeat,
            "human_minutes": None,
            "gate1": None if passed is None else 1,
            "gate2": None if passed is None else int(run.repeat > 1 or bool(passed)),
            "gate3": passed,
            "gate4": passed,
            "tags": "" if passed is None else "slow;wrong" if run.repeat == 1 else "slow",
            "comparability": f"sha256:{run.task}{run.repeat == 1}",
        }

    monkeypatch.setattr(pilot_findings, "row_of", row)
    monkeypatch.setattr(pilot_findings, "_extras", lambda here: Extras(kind="pilot", name="a pilot"))
    monkeypatch.setattr(pilot_findings, "promised", lambda *plan: {})
    found, table = pilot_findings.report_of(here)
    write_report(found, table, tmp_path / "report")
    return found, tmp_path / "report"


def test_numbers_of_a_pilot_lead_to_as_many_runs(pilot: tuple[dict[str, Any], Path]) -> None:
    found, folder = pilot
    assert {row["task"] for row in found["runs"]} == {"a", "b", "d", "f"}
    assert [row["runs"] for row in found["baselines"]] == [12, 12]
    told = check_numbers(folder)
    assert told["the head of the page"] == 24
    assert told["Cost by task, all agents together, most first / a / Runs"] == 6
    assert told["Cost by stratum, all agents together, most first / python / Runs"] == 12
    assert told["Baselines beside the agents / noop / Runs"] == 12
    assert told["Runs left after each gate / x / Attempted"] == 12
    assert told["Runs left after each gate / x / Gate 1"] == 10
    assert told["Runs left after each gate / y / Gate 2"] == 7
    assert told["Time of a run until it ends / x / Ended"] == 10
    assert told["Time of a run until it ends / x / Cut short"] == 1
    assert told["Runs without success that have each failure tag, by agent / slow / y"] == 11, "no tag of a success"
    assert any(where.startswith("Classes of conditions / ") for where in told)


def test_runs_of_baselines_are_on_the_page(pilot: tuple[dict[str, Any], Path]) -> None:
    found, folder = pilot
    text = (folder / "report.html").read_text()
    assert "<summary>24 runs, and 24 of baselines</summary>" in text
    page = Page(text)
    for run in found["baseline_runs"]:
        assert tag("th", run["run"], scope="row") in text
    links = [key for key, query in page.queries.items() if "method = 'noop'" in query]
    entry = text[text.index(f'<div id="{links[0]}"') :]
    assert "12 of these runs" in entry[: entry.index("</details>")]
    assert (folder / "csv" / "baseline_runs.csv").read_text().count("\n") == 25


def test_a_difference_leads_to_the_runs_of_both_on_tasks_that_both_have(pilot: tuple[dict[str, Any], Path]) -> None:
    found, folder = pilot
    page = Page((folder / "report.html").read_text())
    (query,) = (query for query in page.queries.values() if "both_of" in query)
    with RunsDatabase.over(folder / "runs.parquet") as table:
        rows = len(list(table.ask(query).rows))
    assert rows == sum(agent["success"]["n"] for agent in found["agents"])


HEAD = "agent,task,trial,outcome,stratum,cost_usd,seconds,tags,failure_mode\n"


@pytest.mark.parametrize("strata", ["one", "several"])
def test_numbers_of_a_table_lead_to_as_many_runs(tmp_path: Path, strata: str) -> None:
    rows = []
    for agent, solved in (("new", 8), ("o'ld", 3)):
        for number in range(10):
            for trial in (1, 2):
                outcome = "pass" if number < solved else "fail"
                outcome = {(9, 1): "invalid", (8, 2): ""}.get((number, trial), outcome)
                stratum = "easy" if number < 5 or (strata == "several" and trial == 1) else "hard"
                cost = "" if number == 7 else f"0.{trial}"
                end = "agent_timeout" if number == 6 else ""
                cells = (agent, f"t{number}", str(trial), outcome, stratum, cost, f"{10 * trial}", "odd; slow", end)
                rows.append(",".join(cells) + "\n")
    path = tmp_path / "results.csv"
    path.write_text(HEAD + "".join(rows))
    assert run_command(["analyse", str(path), "--out", str(tmp_path / "report")]) in (0, 1)
    told = check_numbers(tmp_path / "report")
    assert told["the head of the page"] == 40
    hard = "(several)" if strata == "several" else "hard"
    assert told[f"Strata by agent with runs and cost / {hard} / Runs"] == 10
    assert told["Sensitivity to unknown outcomes and to wrong checks / new / Unknown outcomes"] == 1
    assert told["Runs left after each gate / new / Scorable"] == 19
