"""``proctor query`` as a user calls it: real runs, every way of printing, and one message for what cannot be asked."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.query import MOST_NAMED, MOST_SHOWN, left_out
from proctor.study.index.index_update import LeftOut
from proctor.study.index.parquet_file import ingest
from proctor.study.run_table import COLUMNS

Proctor = Callable[..., subprocess.CompletedProcess[str]]
SQL = "select agent, count(*) as runs, sum(success) as good from runs group by agent order by agent"


@pytest.fixture
def home(proctor: Proctor, make_contract: Any, tmp_path: Path) -> Path:
    """A home with a run of the no-op and one of the reference."""
    contract = make_contract()
    for agent in ("noop", "reference"):
        assert proctor("run", contract, "--agent", agent).returncode in (0, 1)
    return tmp_path / "home"


def test_runs_are_asked_printed_and_followed(proctor: Proctor, home: Path, make_contract: Any) -> None:
    done = proctor("query", SQL)
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["agent", "runs", "good"],
        ["---------", "----", "----"],
        ["noop", "1", "0"],
        ["reference", "1", "1"],
    ]
    assert done.stderr == "2 runs in the index, 2 of them new or changed\n"
    assert (home / "index" / "runs.parquet").is_file()
    assert proctor("query", "--table", SQL).stdout == done.stdout
    assert json.loads(proctor("query", "--json", SQL).stdout)["rows"] == [
        {"agent": "noop", "runs": 1, "good": 0},
        {"agent": "reference", "runs": 1, "good": 1},
    ]
    assert proctor("query", "--csv", SQL).stdout == "agent,runs,good\nnoop,1,0\nreference,1,1\n"
    rows = json.loads(proctor("query", "--json", "select * from runs order by agent").stdout)["rows"]
    shown = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert sorted(row["run"] for row in rows) == sorted(row["run"] for row in shown)
    assert {row["source"] for row in rows} == {row["path"] for row in shown}
    report = json.loads((Path(rows[1]["source"]) / "report.json").read_bytes())
    assert rows[1]["score"] == float(report["score"]["value"])
    assert rows[1]["comparability"] == report["comparability"]["class"]
    assert rows[1]["begun"] == next(row["started"] for row in shown if row["run"] == rows[1]["run"])


def test_a_run_that_a_cap_ended_says_so_and_what_it_cost(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("action_type,unit,unit_price\nexecution,second,0.01\nrun,run,0.25\n")
    agent = "command:sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; sleep 9'"
    contract = make_contract(budget={"tool_calls": 5, "wall_seconds": 60})
    done = proctor("run", contract, "--agent", agent, "--prices", "prices.csv", "--json")
    name = json.loads(done.stdout)["runs"][0]["run"]
    (row,) = json.loads(proctor("query", "--json", "from runs").stdout)["rows"]
    assert (row["run"], row["ended"], row["censored"], row["scorable"]) == (name, "resource", 1, 1)
    assert row["tool_calls"] >= 5
    cost = json.loads(proctor("cost", name, "--json").stdout)
    assert row["cost_method"] == cost["schedule"]
    assert row["cost_usd"] == pytest.approx(float(cost["projected"]))
    parts = [row[f"{part}_usd"] for part in ("model", "execution", "human", "overhead")]
    assert sum(parts) == pytest.approx(row["cost_usd"])
    assert row["overhead_usd"] == row["setup_overhead_usd"] == 0.25


def test_what_has_no_row_is_named(proctor: Proctor, home: Path) -> None:
    first, second = sorted(
        (home / "runs").iterdir(), key=lambda run: b'"noop"' not in (run / "manifest.json").read_bytes()
    )
    report = second / "report.json"
    report.write_bytes(report.read_bytes().replace(b"success", b"failure"))
    cut = home / "runs" / "20260307T120000-0123456789"
    shutil.copytree(first, cut)
    (cut / "seal.json").unlink()
    done = proctor("query", "select run from runs", "--csv")
    assert done.stdout == f"run\n{first.name}\n"
    assert done.stderr.splitlines() == [
        "1 run in the index, 1 of them new or changed",
        "2 runs left out:",
        f"  {cut.name} was cut off before it was sealed",
        f"  {second.name} is not what was sealed",
    ]


def test_many_runs_without_a_row_are_counted() -> None:
    lines = list(left_out([LeftOut(f"r{number}", "", "was cut\x1b off") for number in range(MOST_NAMED + 3)]))
    assert lines[0] == f"{MOST_NAMED + 3} runs left out:"
    assert lines[1] == "  r0 was cut? off"
    assert len(lines) == MOST_NAMED + 2
    assert lines[-1] == "  and 3 more; `proctor runs` lists them all"


def test_columns_are_explained(proctor: Proctor) -> None:
    shown = proctor("query", "--columns").stdout
    assert all(f"{column.name} " in shown and column.meaning in shown for column in COLUMNS)
    listed = json.loads(proctor("query", "--columns", "--json").stdout)["columns"]
    assert [(one["column"], one["values"], one["meaning"]) for one in listed] == [
        (column.name, column.kind, column.meaning) for column in COLUMNS
    ]
    table = list(csv.reader(io.StringIO(proctor("query", "--columns", "--csv").stdout)))
    assert table[0] == ["column", "values", "meaning"]
    assert len(table) == len(COLUMNS) + 1


def test_a_home_without_runs_answers(proctor: Proctor) -> None:
    done = proctor("query", "select count(*) as runs from runs", "--json")
    assert json.loads(done.stdout)["rows"] == [{"runs": 0}]
    assert done.stderr == "0 runs in the index, 0 of them new or changed\n"
    assert proctor("query", "select run from runs", "--json").stdout == '{"kind":"query","schema":1,"rows":[]}\n'


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.parquet"
    ingest(({"run": f"r{n}", "agent": "a\tb", "cost_usd": n / 3, "tokens_in": 2**50} for n in range(1500)), path)
    return path


def test_a_table_of_results_is_asked_in_place_of_the_home(proctor: Proctor, results: Path, tmp_path: Path) -> None:
    done = proctor("query", "--results", results, "select run, agent from runs")
    assert len(done.stdout.splitlines()) == MOST_SHOWN + 2
    assert "a?b" in done.stdout, "nothing steers the terminal"
    assert done.stderr == "1,000 of 1,500 rows are shown; --csv and --json print all of them\n"
    assert len(proctor("query", "--results", results, "--csv", "from runs").stdout.splitlines()) == 1501
    assert len(json.loads(proctor("query", "--results", results, "--json", "from runs").stdout)["rows"]) == 1500
    assert not (tmp_path / "home").exists()


def test_values_of_every_kind_are_printed(proctor: Proctor, results: Path) -> None:
    sql = (
        "select sum(tokens_in) * 1000 as big, 0.1::double + 0.2 as sum, 1.5 as decimal, 'nan'::double as nan,"
        " null as gone, true as yes, date '2026-03-07' as day, [1, 2] as list, {'a': 1.5} as map, 'ab'::blob as bytes"
        " from runs"
    )
    (row,) = json.loads(proctor("query", "--results", results, "--json", sql).stdout)["rows"]
    assert row == {
        "big": str(2**50 * 1500 * 1000),
        "sum": 0.1 + 0.2,
        "decimal": 1.5,
        "nan": None,
        "gone": None,
        "yes": True,
        "day": "2026-03-07",
        "list": [1, 2],
        "map": {"a": 1.5},
        "bytes": "6162",
    }
    (cells,) = list(csv.reader(io.StringIO(proctor("query", "--results", results, "--csv", sql).stdout)))[1:]
    assert cells[:5] == [str(2**50 * 1500 * 1000), "0.30000000000000004", "1.5", "nan", ""]
    shown = proctor("query", "--results", results, sql).stdout.splitlines()[2]
    assert shown.split()[1:5] == ["0.3", "1.5", "nan", "-"]


def test_no_cell_is_a_formula_and_analyse_reads_the_names_back(proctor: Proctor, tmp_path: Path) -> None:
    names = ['=HYPERLINK("http://x")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\tx", "plain"]
    rows = [
        {"run": f"{name}/{task}", "agent": name, "task": f"t{task}", "trial": 1, "status": "success", "score": -0.5}
        for name in names
        for task in (1, 2)
    ]
    ingest(rows, tmp_path / "hostile.parquet")
    ask = ("query", "--results", tmp_path / "hostile.parquet", "--csv")
    sql = 'select agent, task, trial, status, score as "=1", -9999999999999999999::hugeint as big from runs'
    done = proctor(*ask, sql)
    table = list(csv.reader(io.StringIO(done.stdout)))
    assert [
        cell for row in table for cell in row if re.match(r"[=+@\t\r-]", cell) and not re.match(r"-[\d.]+$", cell)
    ] == []
    assert table[0][4] == "'=1"
    assert table[1][4:] == ["-0.5", "-9999999999999999999"], "numbers stay numbers"
    (tmp_path / "back.csv").write_text(done.stdout)
    found = json.loads(proctor("analyse", tmp_path / "back.csv", "--json").stdout)
    assert {agent["agent"] for agent in found["agents"]} == {name.strip() for name in names}


def test_the_page_shows_what_is_printed(proctor: Proctor, project: Path) -> None:
    page = (project / "docs" / "queries.md").read_text("utf-8")
    sql = re.findall(r'^\$ proctor query "(.+)"$', page, re.MULTILINE)[0]
    shown = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    assert proctor("demo").returncode == 0
    assert proctor("query", sql).stdout == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a query or --columns"),
        (("--columns", "select 1"), "give a query or --columns"),
        (("select 1", "--json", "--csv"), "--json, --csv and --table exclude each other"),
        (("",), "SELECT: the query is empty"),
        (("selec",), 'SELECT: Parser Error: syntax error at or near "selec"'),
        (("select * from walks",), "SELECT: Catalog Error: Table with name walks does not exist"),
        (("copy runs to 'out.csv'",), "SELECT: only a SELECT can be executed, not COPY"),
        (("select * from read_text('contracts')",), "SELECT: Permission Error"),
        (
            (
                "select 1 as a, 2 as a",
                "--json",
            ),
            "two columns are called 'a'",
        ),
        (("select 1", "--results", "absent.parquet"), "absent.parquet: is not there"),
    ],
)
def test_what_cannot_be_asked_is_one_message(proctor: Proctor, arguments: tuple[str, ...], message: str) -> None:
    done = proctor("query", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
