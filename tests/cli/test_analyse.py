"""``proctor analyse`` as a user calls it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.cli.main import run_command
from proctor.study.index.parquet_file import read_table

HEAD = "agent,task,trial,outcome,cost_usd,seconds,failure_mode\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two agents, 30 tasks, two trials: one solves 25 tasks, the other 10; one attempt was cut short."""
    rows = [
        f"{agent},t{task:02},{trial},{'pass' if task < solved else 'fail'},0.{trial},{10 * trial},"
        f"{'agent_timeout' if task == 29 else ''}\n"
        for agent, solved in (("new", 25), ("old", 10))
        for task in range(30)
        for trial in (1, 2)
    ]
    path = tmp_path / "results.csv"
    path.write_text(HEAD + "".join(rows))
    return path


def test_a_ranking_with_what_was_taken(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["analyse", str(results)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "Columns: agent = agent, task = task, trial = trial, outcome = outcome, status = failure_mode"
    )
    lines = [line.split() for line in out.splitlines()]
    assert ["1", "new", "60", "83.3%"] in [line[:4] for line in lines]
    assert ["2", "old", "60", "33.3%"] in [line[:4] for line in lines]
    assert "ranking: new has the highest success rate" in out
    assert "No evidence of validity" in out
    assert "reading results.csv ..." in err


def test_errors_of_checks_that_were_measured(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["analyse", str(results), "--oracle", "8/8,126/130", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["agents"][0]["corrected"][0]
    assert (found["sensitivity_n"], found["specificity_n"]) == (8, 130)
    assert run_command(["analyse", str(results), "--oracle", "0.9"]) == 2
    assert "such as 8/8,126/130" in capsys.readouterr().err


def test_pairs_that_are_open_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.csv"
    path.write_text("agent,task,outcome\na,t1,1\na,t2,0\nb,t1,1\nb,t2,1\nc,t1,0\nc,t2,0\n")
    assert run_command(["analyse", str(path)]) == 0
    out = capsys.readouterr().out
    assert "not separable (3 of 3 pairs, adjusted for all comparisons):" in out
    assert "  b - a: +50.0 (" in out
    assert "1-3   b" in out


@pytest.mark.parametrize(
    ("against", "verdict", "code"),
    [("old", "adopt: Adopt new rather than old", 0), ("new", "keep: Keep new", 1)],
)
def test_a_question_has_an_answer_and_a_code(
    results: Path, capsys: pytest.CaptureFixture[str], against: str, verdict: str, code: int
) -> None:
    assert run_command(["analyse", str(results), "--against", against, "--minimum-effect", "0.05"]) == code
    assert verdict in capsys.readouterr().out


def test_everything_is_written_and_the_same_each_time(results: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert run_command(["analyse", str(results), "--out", str(folder)]) == 0
    names = sorted(str(path.relative_to(folders[0])) for path in folders[0].rglob("*") if path.is_file())
    assert {"findings.json", "report.html", "report.md", "runs.parquet", "csv/agents.csv"} <= set(names)
    for name in names:
        if name != "runs.parquet":
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    found = json.loads((folders[0] / "findings.json").read_bytes())
    assert found["source"]["kind"] == "results"
    assert found["source"]["name"] == "results.csv"
    assert found["source"]["digest"].startswith("sha256:")
    assert found["agents"][0]["agent"] == "new"
    assert len(read_table(folders[0] / "runs.parquet")) == 120
    assert run_command(["analyse", str(results), "--out", str(folders[0])]) == 0, "a report may be written anew"


def test_what_was_made_of_the_names_of_tasks_is_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "swe.csv"
    path.write_text("agent,task,outcome\na,django__django-1,1\na,astropy__astropy-2,0\n")
    assert run_command(["analyse", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "Strata: the repository in the task's name."


def test_columns_that_are_not_used_are_told_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "more.csv"
    more = [f"more{place}" for place in range(9)]
    path.write_text(f"agent,task,outcome,{','.join(more)}\na,t,1{',' * 9}\na,u,0{',' * 9}\n")
    assert run_command(["analyse", str(path), "--out", str(tmp_path / "out")]) == 0
    told = f"Columns not used: {', '.join(more[:8])} and 1 more."
    assert capsys.readouterr().out.splitlines()[1] == told
    assert f"- {told}" in (tmp_path / "out" / "report.md").read_text()


def test_why_rates_do_not_make_the_difference_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "uneven.csv"
    path.write_text("agent,task,outcome\na,t,1\na,u,1\nb,t,0\nb,u,0\nb,v,1\n")
    assert run_command(["analyse", str(path), "--against", "b"]) == 1
    counts = "Rates count every run; the difference counts every task equally."
    told = f"1 of 3 tasks has no outcome of one of the agents. {counts}"
    assert f"\n{told}\ncost: " in capsys.readouterr().out


def test_a_difference_over_one_task_is_undefined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.csv"
    path.write_text("agent,task,outcome\na,t,1\nb,t,0\n")
    assert run_command(["analyse", str(path)]) == 0
    assert "\n  a - b: undefined, because only one task has outcomes of both agents\n" in capsys.readouterr().out


def test_a_dash_is_standard_input(results: Path) -> None:
    command = [sys.executable, "-m", "proctor", "analyse", "-", "--json"]
    done = subprocess.run(command, input=results.read_bytes(), capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout)["source"]["name"] == "stdin"


def test_json_is_the_findings(results: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    options = ["--weight", "x=1"]
    assert run_command(["analyse", str(results), "--json", "--what-if-seconds", "15"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert (found["counterfactual"][0]["of"], found["counterfactual"][0]["cap"]) == ("seconds", 15)
    assert found["survival"][0]["censored"] == 2
    assert run_command(["analyse", str(results), *options]) == 2, "weights need strata"


def test_a_what_if_is_answered_apart_from_the_results(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["analyse", str(results)]) == 0
    assert "hypothetical" not in capsys.readouterr().out
    assert run_command(["analyse", str(results), "--what-if-seconds", "15"]) == 0
    asked = capsys.readouterr().out.partition("other caps, not part of the results:\n")[2]
    assert asked.startswith("  hypothetical: cap of 15 s of the agent's time: ")


@pytest.mark.parametrize(
    ("option", "value", "role"),
    [
        ("--cap-seconds", "5", "seconds"),
        ("--what-if-seconds", "5", "seconds"),
        ("--what-if-usd", "0.3", "cost"),
        ("--timeout", "late", "status"),
    ],
)
def test_an_option_about_a_column_that_is_not_there_is_not_passed_over(
    option: str, value: str, role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("agent,task,outcome\na,t,pass\na,u,fail\nb,t,pass\nb,u,pass\n")
    assert run_command(["analyse", str(path), option, value]) == 2
    told = capsys.readouterr().err
    assert f"plain.csv: {option} needs a column of the {role}, and none was found" in told
    assert f"name it with --{role} COLUMN" in told


def test_columns_are_named_by_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("who,what,mark,kind,in,out\na,t,0.95,x,1,2\na,u,0.5,y,1,2\nb,t,1,x,1,2\nb,u,,y,1,2\n")
    words = ["--agent", "who", "--task", "what", "--outcome", "mark", "--success", ">=0.9", "--stratum", "kind"]
    assert run_command(["analyse", str(path), *words, "--tokens", "in,out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    first, second = sorted(found["agents"], key=lambda agent: str(agent["agent"]))
    assert first["success"]["value"] == 0.5
    assert second["bounds"] == {"low": 0.5, "high": 1.0, "unknown": 1}
    assert first["cost"]["tokens_in"] == 2
    assert {row["stratum"] for row in found["strata"]} == {"x", "y"}


BAD = {
    "no such file": (["absent.csv"], "absent.csv: there is no such file"),
    "no such column": (["results.csv", "--cost", "price"], "no column 'price' for --cost"),
    "two columns for one": (["results.csv", "--agent", "agent", "--agent", "task"], "given 2 times, and one column"),
    "two agents in use": (["results.csv", "--against", "old", "--against", "new"], "given 2 times, and one agent"),
    "no such agent": (["results.csv", "--against", "nobody"], "there is no agent 'nobody'"),
    "an effect for nobody": (["results.csv", "--minimum-effect", "0.1"], "add --against"),
    "an effect too large": (["results.csv", "--against", "old", "--minimum-effect", "5"], "the minimum effect is 5.0"),
    "alpha out of reach": (["results.csv", "--alpha", "2"], "alpha is 2.0"),
    "a cap of nothing": (["results.csv", "--cap-seconds", "0"], "--cap-seconds is 0.0"),
    "a cap below nothing": (["results.csv", "--what-if-usd", "-1"], "--what-if-usd is -1.0"),
    "a cap without an end": (["results.csv", "--what-if-seconds", "inf"], "--what-if-seconds is inf"),
    "three tokens": (["results.csv", "--tokens", "a,b,c"], "--tokens names 3 columns"),
    "a weight without a number": (["results.csv", "--weight", "easy"], "--weight 'easy' has no number"),
    "a threshold that is none": (["results.csv", "--success", "<1"], "'<1' is not a threshold"),
    "a file for a folder": (["results.csv", "--out", "results.csv"], "this is a file"),
    "a folder below a file": (["results.csv", "--out", "results.csv/out"], "nothing can be written here: Not a direct"),
    "a folder nowhere": (["absent.csv", "--out", "/proc/none/out"], "nothing can be written here"),
    "somebody's folder": (["results.csv", "--out", "."], "something other than a report"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_gets_one_message(
    name: str, results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words, message = BAD[name]
    monkeypatch.chdir(results.parent)
    before = sorted(results.parent.iterdir())
    assert run_command(["analyse", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert sorted(results.parent.iterdir()) == before, "nothing is written when something is wrong"


def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "analyse.md").read_text("utf-8")
    data = re.search(r"<!-- file: trials.csv -->\n```csv\n(.*?)```", page, re.DOTALL)
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert data
    assert shown
    (tmp_path / "trials.csv").write_text(data[1])
    monkeypatch.chdir(tmp_path)
    assert run_command(["analyse", "trials.csv"]) == 0
    assert capsys.readouterr().out == shown[1]


def test_the_page_shows_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "analyse.md").read_text("utf-8")
    data = re.search(r"<!-- file: bad.csv -->\n```csv\n(.*?)```", page, re.DOTALL)
    assert data
    (tmp_path / "bad.csv").write_text(data[1])
    monkeypatch.chdir(tmp_path)
    assert run_command(["analyse", "bad.csv"]) == 2
    assert capsys.readouterr().err.removeprefix("reading bad.csv ...\n") in page


def test_names_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.csv"
    path.write_text("agent,task,outcome\n\x1b[2Jx,t,1\n\x1b[2Jx,u,1\ny,t,0\ny,u,0\n")
    assert run_command(["analyse", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_name_cannot_forge_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "forged.csv"
    rows = [f'"a\nadopt: Adopt a rather than b.",t{task},1\nb,t{task},0\n' for task in range(3)]
    path.write_text("agent,task,outcome\n" + "".join(rows))
    assert run_command(["analyse", str(path), "--against", "b"]) == 1
    out = capsys.readouterr().out
    assert "a?adopt: Adopt a" in out
    assert not [line for line in out.splitlines() if line.startswith("adopt")]


def test_columns_stand_below_each_other_in_every_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wide.csv"
    names = ["\u65e5\u672c\u8a9e", "e\u0301te\u0301", "plain"]
    path.write_text("agent,task,outcome\n" + "".join(f"{name},t{task},1\n" for name in names for task in (1, 2)))
    assert run_command(["analyse", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("RANK"))
    assert head.index("RUNS") == len("1-3   ") + 8
    shown = {name: next(line for line in lines if f"  {name} " in line) for name in names}
    assert shown["plain"].index("2  ") == head.index("RUNS")
    assert shown[names[0]].index("2  ") == head.index("RUNS") - 3, "three signs take six columns"
    assert shown[names[1]].index("2  ") == head.index("RUNS") + 2, "two marks take none"


def test_costs_of_next_to_nothing_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "cheap.csv"
    rows = [f"a,t{task},1,{task}e-320\nb,t{task},0,2e-320\n" for task in range(1, 5)]
    path.write_text("agent,task,outcome,cost_usd\n" + "".join(rows))
    assert run_command(["analyse", str(path), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "report.html").is_file()
