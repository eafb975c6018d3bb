"""Anyone's table of results: which columns are taken, what words mean, and what is refused with its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.base.reversible_escapes import escape_cell
from proctor.study.statements import statement
from proctor.study.table_import.csv_reader import Reading, Results, read_results

PLAIN = "agent,task,trial,outcome\na,t1,1,pass\na,t2,1,fail\n"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Reads a text as a file of results."""

    def reading(text: str | bytes, **options: Any) -> Results:
        path = tmp_path / "results.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_results(path, Reading(**options))

    return reading


def rows(results: Results) -> list[dict[str, Any]]:
    return list(results.table.rows())


def test_usual_columns_are_found_and_told(read: Any) -> None:
    found = read(PLAIN)
    assert found.taken == {"agent": "agent", "task": "task", "trial": "trial", "outcome": "outcome"}
    assert found.shape == ""
    assert [row["status"] for row in rows(found)] == ["success", "failure"]
    assert [row["success"] for row in rows(found)] == [1, 0]
    assert [row["source"] for row in rows(found)] == ["results.csv:2", "results.csv:3"]
    assert [row["run"] for row in rows(found)] == ["a / t1 / 1", "a / t2 / 1"]


def test_a_table_of_swe_bench_is_known_and_its_tasks_name_repositories(read: Any) -> None:
    other = "f,My agent,django__django-1,1,0.25\n"
    found = read(f"folder,name,instance_id,resolved,cost_usd\nf,My agent,astropy__astropy-12907,1,0.25\n{other}")
    assert found.shape == "SWE-bench"
    row = rows(found)[0]
    assert (row["method"], row["task"], row["stratum"]) == ("My agent", "astropy__astropy-12907", "astropy/astropy")
    assert row["cost_usd"] == 0.25
    assert statement("strata-from-task-names") in found.notes


def test_a_table_of_terminal_bench_is_known_with_its_time_outs(read: Any) -> None:
    found = read(
        "submission,task_id,trial_name,is_resolved,failure_mode,input_tokens,output_tokens,agent_seconds\n"
        "s,hello,hello.1-of-2,True,agent_timeout,10,20,600.5\n"
        "s,hello,hello.2-of-2,,parse_error,1,2,30\n"
    )
    assert found.shape == "Terminal-Bench or Harbor"
    first, second = rows(found)
    assert (first["success"], first["censored"], first["ended"], first["tags"]) == (1, 1, "resource", "agent_timeout")
    assert (first["tokens_in"], first["tokens_out"], first["seconds"]) == (10, 20, 600.5)
    assert second["status"] == "unknown"
    assert "success" not in second, "an unknown outcome is no failure"
    assert (second["scorable"], second["censored"], second["tags"]) == (1, 0, "parse_error")
    assert [first["trial"], second["trial"]] == [1, 2]


def test_a_flat_table_of_harbor_trials_is_known(read: Any) -> None:
    found = read(
        "trial_name,task_name,agent_info.name,agent_info.model_info.name,verifier_result.rewards.reward,"
        "exception_info.exception_type,agent_result.n_input_tokens,agent_result.n_output_tokens,agent_result.cost_usd\n"
        "x__1,x,codex,one,1.0,,5,6,0.5\nx__2,x,codex,two,0.0,AgentTimeoutError,5,6,0.5\n"
    )
    assert found.shape == "Terminal-Bench or Harbor"
    assert [row["method"] for row in rows(found)] == ["codex · one", "codex · two"]
    assert [row["ended"] for row in rows(found)] == ["finished", "resource"]
    assert [row["cost_usd"] for row in rows(found)] == [0.5, 0.5]


def test_a_table_of_inspect_samples_is_known(read: Any) -> None:
    found = read(
        "sample_id,id,epoch,model,task_name,score_match,total_time,limit\n"
        "u1,7,1,openai/x,gaia,C,12.5,\nu2,7,2,openai/x,gaia,I,30,time\nu3,7,1,openai/x,swe,N,3,\n"
    )
    assert found.shape == "Inspect"
    assert [row["task"] for row in rows(found)] == ["gaia/7", "gaia/7", "swe/7"]
    assert [row["method"] for row in rows(found)] == ["openai/x"] * 3
    assert [row["status"] for row in rows(found)] == ["success", "failure", "failure"]
    assert [row["trial"] for row in rows(found)] == [1, 2, 1]
    assert [row["censored"] for row in rows(found)] == [0, 1, 0]


def test_columns_can_be_named(read: Any) -> None:
    found = read(
        "who;what;how;usd;kind\nx;t;GOOD;1.5;easy\n",
        columns={"agent": "who", "task": "what", "outcome": "how", "cost": "usd", "stratum": "kind"},
        success=("good",),
    )
    row = rows(found)[0]
    assert (row["method"], row["task"], row["status"], row["cost_usd"], row["stratum"]) == (
        "x",
        "t",
        "success",
        1.5,
        "easy",
    )


@pytest.mark.parametrize(
    ("outcome", "options", "status"),
    [
        ("Resolved", {}, "success"),
        ("1.0", {}, "success"),
        ("unresolved", {}, "failure"),
        ("error", {}, "acceptance-error"),
        ("invalid", {}, "invalid"),
        ("N/A", {}, "unknown"),
        ("", {}, "unknown"),
        ("skipped", {"unknown": ("Skipped",)}, "unknown"),
        ("0.95", {"success": (">=0.9",)}, "success"),
        ("0.85", {"success": (">=0.9",)}, "failure"),
        ("", {"success": (">=0.9",)}, "unknown"),
        ("yes", {"success": ("full",)}, "failure"),
        ("half", {"success": ("full",)}, "failure"),
        ("error", {"success": ("full",)}, "acceptance-error"),
    ],
)
def test_outcomes(read: Any, outcome: str, options: dict[str, Any], status: str) -> None:
    other = "a,other,full\n" if "full" in options.get("success", ()) else ""
    found = read(f"agent,task,outcome\na,t,{outcome}\n{other}", **options)
    assert rows(found)[0]["status"] == status


def test_only_an_invalid_run_is_not_scorable(read: Any) -> None:
    found = read("agent,task,outcome\na,t,pass\na,u,error\na,v,invalid\na,w,?\n")
    assert [row["scorable"] for row in rows(found)] == [1, 1, 0, 1]
    assert [row.get("success") for row in rows(found)] == [1, 0, None, None]


def test_a_cap_and_words_of_ones_own_mark_time_outs(read: Any) -> None:
    text = "agent,task,outcome,seconds,ended\na,t,pass,100,\na,u,fail,300,\na,v,fail,20,gave-up\n"
    found = read(text, cap_seconds=300.0, timeout=("Gave up",))
    assert [row["censored"] for row in rows(found)] == [0, 1, 1]
    assert statement("no-time-outs") in read(text).cannot


def test_an_agent_with_several_models_counts_as_several(read: Any) -> None:
    found = read("agent,model,task,outcome\na,m1,t,1\na,m2,t,0\nb,m1,t,1\n")
    assert [row["method"] for row in rows(found)] == ["a · m1", "a · m2", "b"]
    assert [row["agent"] for row in rows(found)] == ["a", "a", "b"]


def test_a_table_without_agents_compares_models(read: Any) -> None:
    found = read("model,task,outcome\nm1,t,1\nm2,t,0\n")
    assert [row["method"] for row in rows(found)] == ["m1", "m2"]
    assert found.taken["agent"] == "model"


def test_labels_of_trials_are_numbered_whatever_the_order_of_rows(read: Any) -> None:
    found = read("agent,task,trial,outcome\na,t,run-c,1\na,t,run-a,1\na,u,run-b,0\na,t,run-b,0\n")
    assert [row["trial"] for row in rows(found)] == [3, 1, 1, 2]


def test_trials_can_be_numbered_in_the_order_of_the_file(read: Any) -> None:
    found = read("agent,task,outcome\na,t,1\na,u,1\na,t,0\n", number_trials=True)
    assert [row["trial"] for row in rows(found)] == [1, 1, 2]
    assert statement("trials-by-order") in found.notes


def test_a_meter_that_never_moved_is_no_measurement(read: Any) -> None:
    found = read("agent,task,outcome,cost_usd\na,t,1,0\na,u,1,0\nb,t,1,0\nb,u,1,2\n")
    assert [row.get("cost_usd") for row in rows(found)] == [None, None, 0, 2]
    assert statement("meter-never-moved", column="cost_usd", agents=1) in found.notes


def test_what_the_file_does_not_say_is_said(read: Any) -> None:
    said = [one.code for one in read(PLAIN).cannot]
    assert said[:2] == ["no-traces", "no-evidence-of-validity"]
    assert said[2:] == ["no-column-of-costs", "no-column-of-times", "no-failure-modes"]


def test_a_byte_order_mark_and_quoted_lines_are_read(read: Any) -> None:
    text = '\ufeffagent,task,outcome,notes\n"a, b",t,1,"two\nlines"\na,u,1,\n'
    found = read(text)
    assert [row["method"] for row in rows(found)] == ["a, b", "a"]
    assert [row["source"] for row in rows(found)] == ["results.csv:2", "results.csv:4"]


MISTAKES: dict[str, tuple[str | bytes, dict[str, Any], list[str]]] = {
    "an empty file": ("", {}, ["results.csv: the file is empty"]),
    "no rows": ("agent,task,outcome\n", {}, ["no rows below the header"]),
    "no outcome": ("agent,task\na,t\n", {}, ["no column looks like the outcome", "--outcome COLUMN"]),
    "nothing known": ("x,y\n1,2\n", {}, ["the agent or the task or the outcome", "the columns are: x, y"]),
    "a column that is not there": (PLAIN, {"columns": {"agent": "who"}}, ["no column 'who' for --agent"]),
    "a column twice": ("agent,agent,task,outcome\n", {}, ["two columns are called 'agent'"]),
    "two scores": (
        "id,epoch,model,score_a,score_b\n1,1,m,C,I\n",
        {},
        ["'score_a' and 'score_b' could each be the outcome", "--outcome"],
    ),
    "cells missing": ("agent,task,outcome\na,t\na,t,1\nb\n", {}, ["results.csv:2: 2 cells", "results.csv:4: 1 cells"]),
    "no agent": ("agent,task,outcome\n,t,1\n", {}, ["results.csv:2: no agent in column 'agent'"]),
    "not a number": ("agent,task,outcome,cost\na,t,1,cheap\n", {}, ["results.csv:2: cost is 'cheap', not a number"]),
    "a negative cost": ("agent,task,outcome,cost\na,t,1,-1\n", {}, ["results.csv:2: cost is -1"]),
    "an endless time": ("agent,task,outcome,seconds\na,t,1,inf\n", {}, ["results.csv:2: seconds is inf"]),
    "too many tokens": (
        "agent,task,outcome,tokens\na,t,1,1e25\n",
        {},
        ["results.csv:2: tokens is 1e+25, which is not possible"],
    ),
    "a decimal comma": ("agent;task;outcome;cost\na;t;1;0,5\n", {}, ["cost is '0,5', not a number: write a point"]),
    "a cost among gaps": ("agent,task,outcome,cost\na,t,1,nan\na,u,1,-3\n", {}, ["results.csv:3: cost is -3"]),
    "a strange outcome": ("agent,task,outcome\na,t,maybe\n", {}, ["'maybe': neither success nor failure", "--success"]),
    "a share as outcome": ("agent,task,reward\na,t,0.5\n", {}, ["results.csv:2: reward is '0.5'"]),
    "a bad threshold": (PLAIN, {"success": (">0.9",)}, ["'>0.9' is not a threshold"]),
    "no share for a threshold": ("agent,task,outcome\na,t,high\n", {"success": (">=1",)}, ["outcome is 'high'"]),
    "an attempt twice": (
        "agent,task,trial,outcome\na,t,1,1\na,u,1,1\na,t,1,0\n",
        {},
        ["results.csv:4: the attempt of 'a' at 't', trial '1' is already at line 2"],
    ),
    "attempts without trials": (
        "agent,task,outcome\na,t,1\na,t,0\n",
        {},
        ["results.csv:3: the attempt of 'a' at 't' is already at line 2", "--number-trials"],
    ),
    "an open quote": ('agent,task,outcome\n"a,t,1\n', {}, ["results.csv:2: this is not CSV", "quote left open"]),
    "JSON of no tool": ('{"answers": [], "error_ids": []}', {}, ["results.csv: this JSON is of no known tool"]),
    "JSON lines": ('{"a": 1}\n{"a": 2}\n', {}, ["results.csv: this is not JSON"]),
    "a list in JSON": ('[{"agent": "a", "task": "t"}]', {}, ["results.csv:1: this is JSON", "docs/analyse.md"]),
    "another encoding": (b"agent,task,outcome\na,t\xe9,1\n", {}, ["results.csv:2: this is not UTF-8"]),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_mistakes_are_told_with_their_place(read: Any, name: str) -> None:
    text, options, parts = MISTAKES[name]
    with pytest.raises(UsageFault) as caught:
        read(text, **options)
    assert [part for part in parts if part not in str(caught.value)] == []
    assert caught.value.hint


def refusal(read: Any, text: str, **options: Any) -> list[str]:
    """The lines of the message with which a table is refused, without its hint."""
    with pytest.raises(UsageFault) as caught:
        read(text, **options)
    return str(caught.value).splitlines()[:-1]


def test_many_mistakes_are_told_at_once_and_no_more_than_twenty(read: Any) -> None:
    text = "agent,task,outcome\n" + "".join(f"a,t{number},perhaps{number}\n" for number in range(50))
    told = refusal(read, text)
    assert len([line for line in told if line.startswith("results.csv:")]) == 20
    assert told[-1] == "... and 30 more"


def test_the_same_mistake_in_many_rows_is_told_once_with_its_lines(read: Any) -> None:
    text = "agent,task,outcome\n" + "".join(f"a,t{number},perhaps\n" for number in range(50))
    (told,) = refusal(read, text)
    assert told.startswith("results.csv:2: outcome is 'perhaps': neither success nor failure")
    assert told.endswith("(also in lines 3, 4, 5, 6 and 45 more)")
    (told,) = refusal(read, "agent,task,outcome\na,t,perhaps\na,u,perhaps\n")
    assert told.endswith("(also in line 3)")


def test_a_column_that_is_wrong_throughout_hides_no_other_mistake(read: Any) -> None:
    text = "agent,task,outcome,cost,seconds\n" + "".join(f"a,t{n},1,{n} EUR,1\n" for n in range(60))
    text += ",t,1,1,1\na,t1,1,1,1\na,x,1,1\na,y,perhaps,1,-1\n"
    last = [
        ["results.csv:62", "no agent in column 'agent'"],
        ["results.csv:63", "the attempt of 'a' at 't1' is already at line 3"],
        ["results.csv:64", "4 cells in a table of 5 columns"],
        ["results.csv:65", "outcome is 'perhaps': neither success nor failure"],
        ["results.csv:65", "seconds is -1, which is not possible for an attempt"],
    ]
    told = refusal(read, text)
    assert [line.split(": ")[0] for line in told[:15]] == [f"results.csv:{line}" for line in range(2, 17)]
    assert sorted(re.split(r"; --| \(--", line)[0].split(": ", 1) for line in told[15:20]) == last
    assert told[20:] == ["... and 45 more"]


def test_every_wrong_column_is_told_at_once(read: Any) -> None:
    told = refusal(
        read, "id,epoch,score_a,score_b,x,x\n1,1,C,I,2,3\n", columns={"cost": "price", "seconds": "duration"}
    )
    assert told == [
        "results.csv:1: two columns are called 'x'",
        "there is no column 'price' for --cost",
        "there is no column 'duration' for --seconds",
        "'score_a' and 'score_b' could each be the outcome; name it with --outcome COLUMN",
        "no column looks like the agent; name it with --agent COLUMN",
    ]


def test_rows_are_read_in_pieces_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.csv"
    path.write_text(
        "agent,task,outcome,cost\n" + "".join(f"a,t{number},{number % 2},{number}\n" for number in range(5))
    )
    whole = list(read_results(path, Reading()).table.rows())
    monkeypatch.setattr("proctor.study.table_import.csv_reader.CHUNK_ROWS", 2)
    told: list[int] = []
    assert list(read_results(path, Reading(), told.append).table.rows()) == whole
    assert told == [2, 4]
    monkeypatch.setattr("proctor.study.table_import.csv_reader.MAX_ROWS", 4)
    with pytest.raises(UsageFault, match="more than 4 rows"):
        read_results(path, Reading())


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.csv"):
        with pytest.raises(UsageFault) as caught:
            read_results(path, Reading())
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(("first", "second"), [("1", "01"), ("1", "1.0"), ("2.50", "2.5"), ("b", "b")])
def test_one_trial_written_in_two_ways_is_one(read: Any, first: str, second: str) -> None:
    with pytest.raises(UsageFault, match="is already at line 2"):
        read(f"agent,task,trial,outcome\na,t,{first},1\na,t,{second},0\n")


def test_trials_that_differ_stay_apart(read: Any) -> None:
    assert len(read("agent,task,trial,outcome\na,t,1,1\na,t,1.5,0\na,t,10,0\na,t,x1,0\na,t,x01,0\n").table) == 5


def test_an_attempt_without_a_trial_is_the_first(read: Any) -> None:
    found = read("agent,task,trial,outcome\na,t,,1\na,u,2,1\nb,t,,0\nb,t,2,0\n")
    assert [(row["trial"], row["run"]) for row in rows(found)] == [
        (1, "a / t / 1"),
        (2, "a / u / 2"),
        (1, "b / t / 1"),
        (2, "b / t / 2"),
    ]
    (told,) = refusal(read, "agent,task,trial,outcome\na,t,,1\na,t,1,0\n")
    assert told == "results.csv:3: the attempt of 'a' at 't', trial '1' is already at line 2"


def test_empty_cells_say_nothing(read: Any) -> None:
    text = "agent,model,task,trial,outcome,failure_mode,cost_usd,seconds,difficulty,tags,started\n"
    (row,) = rows(read(text + "a, ,t,,pass, , ,,  ,,\n"))
    assert row.keys() == {
        "run",
        "source",
        "agent",
        "method",
        "task",
        "trial",
        "status",
        "success",
        "scorable",
        "ended",
        "censored",
        "tags",
    }
    assert (row["method"], row["ended"], row["tags"]) == ("a", "finished", "")


def test_a_table_of_runs_says_what_its_costs_are_in(read: Any) -> None:
    found = read("agent,task,outcome,cost_usd,cost_method\na,t,1,0.5,fallback-1\na,u,1,,\n")
    assert [row.get("cost_method") for row in rows(found)] == ["fallback-1", None]


def test_labels_too_long_for_a_number_are_labels(read: Any) -> None:
    found = read(f"agent,task,trial,outcome\na,t,{'9' * 400},1\na,t,{'9' * 399}8,1\n")
    assert [row["trial"] for row in rows(found)] == [2, 1]


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_ends_of_lines_end_rows(read: Any, mark: str) -> None:
    found = read(f"agent,task,outcome\r\na{mark}b,t,1\r\nc,t,0\r\n")
    assert [row["agent"] for row in rows(found)] == [f"a{mark}b", "c"]
    assert [row["source"] for row in rows(found)] == ["results.csv:2", "results.csv:3"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_tables_in_wide_characters_are_read(read: Any, encoding: str) -> None:
    text = "agent\ttask\toutcome\nJosé\tt\t1\n"
    mark = "" if encoding == "utf-16" else "\ufeff"
    assert [row["agent"] for row in rows(read((mark + text).encode(encoding)))] == ["José"]
    with pytest.raises(UsageFault, match="this is not UTF-16 text"):
        read((mark + text).encode(encoding)[:-1])


def test_what_was_guarded_for_spreadsheets_is_read_back(read: Any) -> None:
    names = ["=1+1", "+a", "-b", "@c", "'=d", "'e", "-5"]
    lines = "".join(f"{escape_cell(name)},t,1\n" for name in names)
    assert [row["agent"] for row in rows(read(f"agent,task,outcome\n{lines}"))] == names
    found = read("'=who,task,outcome\na,t,1\n", columns={"agent": "=who"})
    assert found.taken["agent"] == "=who"
