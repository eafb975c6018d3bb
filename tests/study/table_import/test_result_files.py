"""Result files of SWE-bench, Harbor, Inspect and mini-swe-agent as tables, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.study.statements import statement
from proctor.study.table_import.csv_reader import Reading, Results, read_results
from proctor.study.table_import.result_sheet import number_cell, values
from tests.study.table_import import result_samples as sample

REPORT = {
    "resolved_ids": ["a__b-1", "a__b-2"],
    "unresolved_ids": ["a__b-3"],
    "empty_patch_ids": ["a__b-4"],
    "error_ids": ["a__b-5"],
    "incomplete_ids": ["a__b-6"],
    "infra_failure_ids": ["a__b-5"],
    "failure_reasons": {"a__b-5": "disk full"},
    "schema_version": 2,
}


def rows(results: Results) -> list[dict[str, Any]]:
    return list(results.table.rows())


def refused(*paths: Path) -> str:
    with pytest.raises(UsageFault) as caught:
        read_results(paths, Reading())
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_report_of_swe_bench_is_read_with_invalid_and_unknown_instances(tmp_path: Path) -> None:
    found = read_results(sample.write(tmp_path / "house.first.json", REPORT), Reading())
    statuses = {row["task"]: row["status"] for row in rows(found)}
    assert statuses == {
        **dict.fromkeys(("a__b-1", "a__b-2"), "success"),
        **dict.fromkeys(("a__b-3", "a__b-4"), "failure"),
        "a__b-5": "invalid",
        "a__b-6": "unknown",
    }
    assert {row["agent"] for row in rows(found)} == {"house.first"}
    assert rows(found)[4]["tags"] == "disk full;error"
    assert rows(found)[0]["source"] == "house.first.json: a__b-1"
    assert found.notes[0] == statement("results-read", format="SWE-bench", files=1, rows=6)


def test_several_reports_make_one_table_whose_digest_does_not_depend_on_their_order(tmp_path: Path) -> None:
    one, two = (sample.write(tmp_path / f"{name}.json", REPORT) for name in ("one", "two"))
    found = read_results([one, two], Reading())
    assert {row["agent"] for row in rows(found)} == {"one", "two"}
    assert found.digest == read_results([two, one], Reading()).digest
    assert found.name == "one.json and 1 more"


def test_the_report_of_an_instance_names_its_model_by_its_folder(tmp_path: Path) -> None:
    record = {"a__b-1": {"patch_exists": True, "resolved": False, "infra_failure": False}}
    path = sample.write(tmp_path / "run" / "house" / "a__b-1" / "report.json", record)
    assert [(row["agent"], row["status"]) for row in rows(read_results(path, Reading()))] == [("house", "failure")]


def test_an_instance_with_two_outcomes_is_refused(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "r.json", {"resolved_ids": ["a"], "unresolved_ids": ["a"]})
    assert "'a' is in resolved_ids and in unresolved_ids" in refused(path)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"resolved_ids": [1]}, "'resolved_ids' has a number"),
        ({"resolved_ids": ["a"], "unresolved_ids": "b"}, "'unresolved_ids' is text"),
        ({"resolved_ids": ["a\nb"]}, "printable"),
        ({"resolved_ids": ["x" * 501]}, "1 to 500"),
        ({"resolved_ids": [], "schema_version": 3}, "schema_version 3"),
        ({"something": "else"}, "no known tool"),
        ('{"resolved_ids": [NaN', "this is not JSON"),
        ('{"resolved_ids": ' + "[" * 100_000, "this is not JSON"),
    ],
)
def test_bad_reports_of_swe_bench_get_one_message(tmp_path: Path, record: Any, expected: str) -> None:
    assert expected in refused(sample.write(tmp_path / "r.json", record))


def test_a_job_of_harbor_is_its_trials(tmp_path: Path) -> None:
    cut = sample.trial("hello__z", reward=0, exception_info={"exception_type": "AgentTimeoutError"})
    lost = sample.trial("other__y", "org/other", None, exception_info={"exception_type": "DockerError"})
    folder = sample.job(tmp_path / "job", sample.trial(), cut, lost, planned=5)
    for path in (folder, folder / "result.json"):
        found = read_results(path, Reading())
        assert [row["status"] for row in rows(found)] == ["success", "failure", "unknown"]
        assert [row["censored"] for row in rows(found)] == [0, 1, 0]
        first = rows(found)[0]
        assert (first["agent"], first["model"], first["task"]) == ("house", "p/m", "org/hello")
        assert (first["seconds"], first["cost_usd"], first["tokens_in"]) == (90.5, 0.25, 10)
        assert first["source"] == "job/hello__x/result.json"
        assert statement("attempts-not-recorded", missing=2) in found.notes


def test_a_partial_reward_needs_a_threshold(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "t" / "result.json", sample.trial(reward=0.4))
    assert "t/result.json: reward is '0.4': neither success nor failure" in refused(path)
    found = read_results(path, Reading(success=(">=0.4",)))
    assert [row["status"] for row in rows(found)] == ["success"]


def test_a_trial_that_is_given_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    one = sample.write(tmp_path / "one" / "result.json", sample.trial())
    two = sample.write(tmp_path / "two" / "result.json", sample.trial())
    message = refused(one, two)
    assert "two/result.json: the attempt of 'house'" in message
    assert "is already at one/result.json" in message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"agent_info": {"version": "1"}}, "'agent_info.name' is missing"),
        ({"task_name": 5}, "'task_name' is a number"),
        ({"verifier_result": {"rewards": {"reward": True}}}, "is true or false"),
        ({"verifier_result": {"rewards": {"reward": "1"}}}, "is text"),
        ({"verifier_result": {"rewards": [1]}}, "is a list"),
        ({"verifier_result": {"rewards": {f"r{n}": 1 for n in range(51)}}}, "51 rewards"),
        ({"agent_execution": {"started_at": "yesterday", "finished_at": "today"}}, "not a time"),
        ({"agent_result": {"cost_usd": -1}}, "which is not possible for an attempt"),
    ],
)
def test_bad_trials_of_harbor_get_one_message(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    path = sample.write(tmp_path / "t" / "result.json", {**sample.trial(), **change})
    assert expected in refused(path)


def test_a_log_of_inspect_is_read_from_its_summaries_alone(tmp_path: Path) -> None:
    samples = [
        sample.summary(),
        sample.summary(2, value="I", limit="token"),
        sample.summary("s3", value=None, error="x"),
    ]
    members = {"header.json": sample.header(results={"total_samples": 4}), "summaries.json": samples}
    plain = sample.deflated(tmp_path / "log.eval", {**members, "samples/s1_epoch_1.json": "not even JSON"})
    found = read_results(plain, Reading())
    assert [row["status"] for row in rows(found)] == ["success", "failure", "unknown"]
    assert [row["task"] for row in rows(found)] == ["s1", "2", "s3"]
    assert [row["tokens_in"] for row in rows(found)] == [5, 5, 5]
    assert rows(found)[1]["censored"] == 1
    assert rows(found)[2]["tags"] == "error"
    assert statement("attempts-not-recorded", missing=1) in found.notes
    data = {name: json.dumps(value).encode() for name, value in members.items()}
    packed = read_results(sample.zstd(tmp_path / "packed.eval", data), Reading())
    assert [row["status"] for row in rows(packed)] == ["success", "failure", "unknown"]


def test_a_log_of_inspect_in_json_and_one_that_is_being_written_are_read(tmp_path: Path) -> None:
    text = json.dumps({**sample.header(), "samples": [sample.summary(value=float("nan")), sample.summary(2)]})
    found = read_results(sample.write(tmp_path / "log.json", text), Reading())
    assert [row["status"] for row in rows(found)] == ["unknown", "success"]
    members = {"_journal/start.json": sample.header(), "_journal/summaries/1.json": [sample.summary()]}
    found = read_results(sample.deflated(tmp_path / "started.eval", members), Reading())
    assert [row["status"] for row in rows(found)] == ["success"]


def test_several_scorers_need_a_choice(tmp_path: Path) -> None:
    both = sample.summary(scores={"one": {"value": "C"}, "two": {"value": 0.0}})
    path = sample.deflated(tmp_path / "log.eval", {"header.json": sample.header(), "summaries.json": [both]})
    assert "'score_one' and 'score_two' could each be the outcome" in refused(path)
    found = read_results(path, Reading(columns={"outcome": "score_two"}))
    assert [row["status"] for row in rows(found)] == ["failure"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"other.json": {}}, "no header.json"),
        ({"header.json": {**sample.header(), "version": 3}, "summaries.json": []}, "version 3"),
        ({"header.json": sample.header(), "summaries.json": []}, "no samples"),
        ({"header.json": sample.header(), "summaries.json": {}}, "an object, not a list"),
        ({"header.json": sample.header(), "summaries.json": [[]]}, "a list, not a sample"),
        ({"header.json": sample.header(), "summaries.json": [{"id": "a"}]}, "'epoch' is missing"),
        ({"header.json": sample.header(), "summaries.json": [sample.summary(value=[1])]}, "is a list"),
        ({"header.json": "[" * 5000, "summaries.json": []}, "this is not JSON"),
    ],
)
def test_bad_logs_of_inspect_get_one_message(tmp_path: Path, members: dict[str, Any], expected: str) -> None:
    assert expected in refused(sample.deflated(tmp_path / "log.eval", members))


def test_trajectories_take_their_outcomes_from_the_report_of_their_model(tmp_path: Path) -> None:
    report = sample.write(tmp_path / "org__m.first.json", REPORT)
    one = sample.write(tmp_path / "out" / "a__b-1" / "a__b-1.traj.json", sample.trajectory())
    sample.write(tmp_path / "out" / "a__b-3" / "a__b-3.traj.json", sample.trajectory("a__b-3", status="LimitsExceeded"))
    sample.write(tmp_path / "out" / "c" / "c.traj.json", sample.trajectory("a__b-9"))
    found = read_results([report, tmp_path / "out"], Reading())
    by_task = {row["task"]: row for row in rows(found)}
    assert by_task["a__b-1"]["cost_usd"] == 0.5
    assert by_task["a__b-1"]["status"] == "success"
    assert (by_task["a__b-3"]["status"], by_task["a__b-3"]["censored"]) == ("failure", 1)
    assert by_task["a__b-9"]["status"] == "unknown"
    assert statement("outcomes-not-recorded", rows=1) in found.notes
    assert [row["status"] for row in rows(read_results(one, Reading()))] == ["unknown"]
    other = sample.write(tmp_path / "org__m.second.json", REPORT)
    assert "could each belong to 'org__m'" in refused(report, other, one)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"trajectory_format": "mini-swe-agent-2.0"}, "trajectory_format"),
        ({"info": []}, "'info.config.model.model_name' is not where it should be"),
        ({"info": {"config": {"model": {"model_name": "m"}}, "model_stats": {"api_calls": "3"}}}, "is text"),
    ],
)
def test_bad_trajectories_get_one_message(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    path = sample.write(tmp_path / "x.traj.json", {**sample.trajectory(), **change})
    assert expected in refused(path)


def test_results_of_different_tools_and_tables_are_not_mixed(tmp_path: Path) -> None:
    report = sample.write(tmp_path / "r.json", REPORT)
    folder = sample.job(tmp_path / "job", sample.trial())
    assert "the files are of Harbor and SWE-bench" in refused(report, folder)
    table = sample.write(tmp_path / "t.csv", "agent,task,outcome\na,b,1\n")
    assert "t.csv: this is not JSON" in refused(report, table)


def test_folders_without_results_and_links_are_refused(tmp_path: Path) -> None:
    assert "no results" in refused(tmp_path)
    job = sample.job(tmp_path / "job", sample.trial(), planned=2)
    (job / "linked").symlink_to(job / "hello__x")
    assert len(rows(read_results(job, Reading()))) == 1
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    assert "cannot be read" in refused(tmp_path / "link.json", tmp_path / "link.json")


def test_results_without_any_outcome_are_all_unknown(tmp_path: Path) -> None:
    log = {"header.json": sample.header(), "summaries.json": [sample.summary(value=None)]}
    for path in (
        sample.deflated(tmp_path / "log.eval", log),
        sample.write(tmp_path / "t" / "result.json", sample.trial(reward=None)),
    ):
        assert [row["status"] for row in rows(read_results(path, Reading()))] == ["unknown"]


def test_a_number_without_end_beside_nan_is_refused_as_a_number() -> None:
    """NaN takes the reader of the standard library, whose integers have no limit."""
    found = values(b"[NaN, " + b"9" * 400 + b", 12]", "log")
    assert found[0] is None and found[2] == 12
    with pytest.raises(UsageFault, match="'cost' is"):
        number_cell(found[1], "cost", "log")


def test_text_that_is_not_unicode_beside_nan_is_refused() -> None:
    assert values(b'[NaN, "\\ud83d\\ude00"]', "log") == [None, "\U0001f600"]
    with pytest.raises(UsageFault, match="not JSON"):
        values(b'[NaN, "\\ud800"]', "log")
