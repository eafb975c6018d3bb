"""Runs in the formats of other tools: every file follows the rules of its format, and says what happened in the run."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from proctor.author.export.export_record import export_schema
from proctor.author.export.recorded_run import read_run
from proctor.author.export.registry import RUN_FORMATS
from proctor.record.run_directory import RunDirectory
from tests.author.export import peer_rules
from tests.author.export.conftest import Command
from tests.corpus_runs import NAMES, unpack


def exported(proctor_at: Command, form: str, runs: Mapping[str, str], out: Path) -> dict[str, bytes]:
    """The files of an export by path, after a look at its record."""
    done = proctor_at("export", form, *runs.values(), "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    jsonschema.validate(record, export_schema())
    assert record == json.loads((out / "export.json").read_bytes())
    files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    assert [one["path"] for one in record["files"]] == sorted(files.keys() - {"export.json"})
    assert [one["name"] for one in record["subjects"]] == sorted(runs.values())
    return files


@pytest.mark.parametrize("form", sorted(RUN_FORMATS))
def test_the_same_runs_give_the_same_bytes(
    form: str, proctor_at: Command, runs: dict[str, str], tmp_path: Path
) -> None:
    first = exported(proctor_at, form, runs, tmp_path / "first")
    reversed_ = dict(reversed([*runs.items()]))
    assert exported(proctor_at, form, {**reversed_}, tmp_path / "second") == first


def check_trajectory(found: dict[str, Any]) -> None:
    """The schema, and what ATIF demands beyond it."""
    jsonschema.validate(found, peer_rules.ATIF)
    assert [step["step_id"] for step in found["steps"]] == [*range(1, len(found["steps"]) + 1)]
    for step in found["steps"]:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        results = step.get("observation", {"results": []})["results"]
        assert {result["source_call_id"] for result in results} <= calls
        assert "metrics" not in step or step["llm_call_count"] == 1


def test_trajectories_have_every_step(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    files = exported(proctor_at, "atif", runs, tmp_path / "out")
    found = {name: json.loads(files[f"{run}.json"]) for name, run in runs.items()}
    for one in found.values():
        check_trajectory(one)
    steps = found["builtin"]["steps"]
    assert [step["source"] for step in steps] == ["system", "user", *["agent"] * 4]
    assert [len(step.get("tool_calls", ())) for step in steps] == [0, 0, 1, 1, 1, 0]
    assert steps[2]["tool_calls"][0]["arguments"] == {"command": "cat greeting.py; echo é"}
    assert "def greet" in steps[2]["observation"]["results"][0]["content"]
    assert [step["observation"]["results"][0]["extra"]["failed"] for step in steps[3:5]] == [False, False]
    assert steps[-1]["message"] == "Blank names are greeted as the world."
    prompt = sum(step["metrics"]["prompt_tokens"] for step in steps[2:])
    assert found["builtin"]["final_metrics"]["total_prompt_tokens"] == prompt > 0
    assert found["builtin"]["agent"]["model_name"] == "scripted/one"
    verdicts = {name: one["extra"]["proctor"]["verdict"]["status"] for name, one in found.items()}
    expected = {
        "noop": "failure",
        "reference": "success",
        "builtin": "success",
        "changed": "failure",
        "broken": "invalid",
    }
    assert {name: verdicts[name] for name in expected} == expected
    command = found["changed"]["steps"][1]
    assert command["llm_call_count"] == 0 and command["tool_calls"][0]["arguments"]["command"][-1] == "echo x > new.txt"
    assert [step["source"] for step in found["noop"]["steps"]] == ["user"]


def check_archive(data: bytes) -> dict[str, Any]:
    """The members of a log in their order, each by its rules."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        members = {name: json.loads(archive.read(name)) for name in names}
    sample = names[1]
    assert names == [
        *("_journal/start.json", sample, "_journal/summaries/1.json"),
        *("summaries.json", "reductions.json", "header.json"),
    ]
    jsonschema.validate(members["_journal/start.json"], peer_rules.INSPECT_START)
    jsonschema.validate(members[sample], peer_rules.INSPECT_SAMPLE)
    jsonschema.validate(members["reductions.json"], peer_rules.INSPECT_REDUCTIONS)
    jsonschema.validate(members["header.json"], peer_rules.INSPECT_HEADER)
    one = members[sample]
    assert sample == f"samples/{one['id']}_epoch_{one['epoch']}.json"
    assert members["summaries.json"] == members["_journal/summaries/1.json"]
    ids = [message["id"] for message in one["messages"]]
    uuids = [event["uuid"] for event in one["events"]]
    assert len(ids) == len(set(ids)) and len(uuids) == len(set(uuids))
    calls = {call["id"] for message in one["messages"] for call in message.get("tool_calls", ())}
    assert {message["tool_call_id"] for message in one["messages"] if message["role"] == "tool"} <= calls
    assert ("error" in one) == (not one["scores"]) == (members["header.json"]["status"] == "error")
    assert [event["timestamp"] for event in one["events"]] == sorted(event["timestamp"] for event in one["events"])
    return {"sample": one, "header": members["header.json"]}


def test_logs_open_in_inspect(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    files = exported(proctor_at, "inspect", runs, tmp_path / "out")
    found = {name: check_archive(files[f"{run}.eval"]) for name, run in runs.items()}
    values = {
        name: one["sample"]["scores"]["proctor"]["value"] for name, one in found.items() if one["sample"]["scores"]
    }
    expected = {"noop": "I", "reference": "C", "builtin": "C", "changed": "I"}
    assert {name: values[name] for name in expected} == expected
    sample = found["builtin"]["sample"]
    assert [message["role"] for message in sample["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "tool", "assistant", "tool", "assistant"),
    ]
    kinds = [event["event"] for event in sample["events"]]
    assert kinds.count("model") == 4 and kinds.count("tool") == 3 and kinds[0] == "sample_init" and kinds[-1] == "score"
    assert found["builtin"]["header"]["stats"]["model_usage"]["scripted/one"]["input_tokens"] > 0
    assert found["reference"]["header"]["eval"]["model"] == "none/none"
    assert sample["scores"]["proctor"]["answer"].startswith("diff --git ")


def attribute(span: dict[str, Any], name: str) -> Any:
    found = [one["value"] for one in span["attributes"] if one["key"] == name]
    return next(iter(found[0].values())) if found else None


def check_spans(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema, one root, and names of the conventions only."""
    jsonschema.validate(found, peer_rules.OTLP)
    spans: list[dict[str, Any]] = found["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert {span["traceId"] for span in spans} == {spans[0]["traceId"]}
    assert [span.get("parentSpanId") for span in spans[1:]] == [spans[0]["spanId"]] * (len(spans) - 1)
    for span in spans:
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert span["name"].startswith(attribute(span, "gen_ai.operation.name") + " ")
        names = {one["key"] for one in span["attributes"]}
        assert len(names) == len(span["attributes"])
        assert not {name for name in names - peer_rules.GEN_AI if not name.startswith(("proctor.", "error.type"))}
    return spans


def test_spans_have_calls_and_tools(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    files = exported(proctor_at, "otel", runs, tmp_path / "out")
    found = {name: check_spans(json.loads(files[f"{run}.otlp.json"])) for name, run in runs.items()}
    spans = found["builtin"]
    assert [span["name"] for span in spans] == [
        *("invoke_agent builtin", *["chat one"] * 4, "execute_tool run", *["execute_tool edit"] * 2),
    ]
    chat = spans[2]
    assert attribute(chat, "gen_ai.usage.input_tokens").isdigit()
    message = json.loads(attribute(chat, "gen_ai.input.messages"))[0]
    assert message["role"] == "tool" and "def greet" in message["parts"][0]["response"]
    answer = json.loads(attribute(spans[1], "gen_ai.output.messages"))[0]
    assert [part["type"] for part in answer["parts"]] == ["text", "tool_call"]
    assert attribute(found["reference"][0], "proctor.run.status") == "success"


def test_predictions_have_the_patch_and_the_report_its_verdict(
    proctor_at: Command, runs: dict[str, str], tmp_path: Path
) -> None:
    files = exported(proctor_at, "swebench", runs, tmp_path / "out")
    predictions = [json.loads(line) for name in files if name.endswith(".jsonl") for line in files[name].splitlines()]
    for one in predictions:
        jsonschema.validate(one, peer_rules.SWEBENCH_PREDICTION)
    reports = {name: json.loads(data) for name, data in files.items() if name.endswith(".report.json")}
    for report in reports.values():
        jsonschema.validate(report, peer_rules.SWEBENCH_REPORT)
        assert report["total_instances"] == 1
    assert reports["reference.report.json"]["resolved_ids"] == ["proctor__greeting"]
    assert reports["noop.report.json"]["empty_patch_ids"] == ["proctor__greeting"]
    assert reports["command_sh.report.json"]["unresolved_ids"] == ["proctor__greeting"]
    instance = json.loads(files["builtin+scripted__one/proctor__greeting/report.json"])["proctor__greeting"]
    jsonschema.validate(instance, peer_rules.SWEBENCH_INSTANCE_REPORT)
    assert instance["resolved"] and instance["tests_status"]["FAIL_TO_PASS"]["success"] == ["check::tests"]
    patch = files["builtin+scripted__one/proctor__greeting/patch.diff"]
    assert {one["model_patch"] for one in predictions if "one" in one["model_name_or_path"]} == {patch.decode()}


def test_a_job_has_a_trial_for_each_run(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    files = exported(proctor_at, "harbor", runs, tmp_path / "out")
    job = json.loads(files["proctor/result.json"])
    jsonschema.validate(job, peer_rules.HARBOR_JOB)
    assert (job["n_total_trials"], job["stats"]["n_errored_trials"]) == (len(runs), 1)
    rewards = {}
    for name, run in runs.items():
        trial = json.loads(files[f"proctor/{run}/result.json"])
        jsonschema.validate(trial, peer_rules.HARBOR_TRIAL)
        assert trial["config"] == json.loads(files[f"proctor/{run}/config.json"])
        assert ("verifier_result" in trial) != ("exception_info" in trial)
        check_trajectory(json.loads(files[f"proctor/{run}/agent/trajectory.json"]))
        reward = files.get(f"proctor/{run}/verifier/reward.json", b"null")
        rewards[name] = json.loads(reward)
        assert rewards[name] == trial.get("verifier_result", {}).get("rewards")
    expected = {"noop": 0, "reference": 1, "builtin": 1, "changed": 0}
    assert rewards == {**{name: {"reward": value} for name, value in expected.items()}, "broken": None}


def test_two_runs_of_an_agent_are_in_two_groups(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    again = json.loads(proctor_at("run", "greeting", "--agent", "noop", "--json").stdout)["runs"][0]["run"]
    both = {"first": runs["noop"], "second": again}
    files = exported(proctor_at, "swebench", both, tmp_path / "out")
    assert {"noop.predictions.jsonl", "noop.2.predictions.jsonl"} <= files.keys()


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_earlier_versions_can_be_exported(name: str, tmp_path: Path) -> None:
    directory = RunDirectory(unpack(name, tmp_path / "runs"))
    run = read_run(directory)
    for form in RUN_FORMATS.values():
        files = [file for one in form.export([run]) for file in one.files]
        contents = {file.path: file.content for file in (*files, *form.index([run])) if isinstance(file.content, bytes)}
        for path, content in contents.items():
            if form.name == "atif":
                check_trajectory(json.loads(content))
            elif form.name == "inspect":
                check_archive(content)
            elif form.name == "otel":
                check_spans(json.loads(content))
            elif path.endswith(".report.json"):
                jsonschema.validate(json.loads(content), peer_rules.SWEBENCH_REPORT)


def test_a_changed_run_is_not_exported(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    path = proctor_at("show", runs["changed"], "--json")
    assert path.returncode == 0
    home = next(tmp_path.parent.glob("place*/home/runs"))
    copy = tmp_path / runs["changed"]
    shutil.copytree(home / runs["changed"], copy)
    (copy / "workspace" / "final.patch").write_bytes(b"")
    done = proctor_at("export", "atif", f"{copy}/", "--out", tmp_path / "out")
    assert done.returncode == 4 and "final.patch" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_refused(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = proctor_at("export", "atif", runs["noop"], "--out", tmp_path)
    assert done.returncode == 2 and "this folder is not empty" in done.stderr
    done = proctor_at("export", "atif", runs["noop"], "--out", tmp_path / "notes.txt")
    assert done.returncode == 2 and "this is a file" in done.stderr


def test_the_losses_are_printed(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    done = proctor_at("export", "swebench", runs["builtin"], "--out", tmp_path / "out")
    assert "evidence-chain" in done.stdout and "an exported run cannot be verified" in done.stdout
    assert "contains the hidden tests" not in done.stdout


def test_contracts_and_runs_are_not_mixed(proctor_at: Command, runs: dict[str, str], tmp_path: Path) -> None:
    done = proctor_at("export", "swebench", "greeting", runs["noop"], "--out", tmp_path / "out")
    assert done.returncode == 2 and "cannot be exported together" in done.stderr
    done = proctor_at("export", "swebench", runs["noop"], "--image", "x", "--out", tmp_path / "out")
    assert done.returncode == 2 and "--image is for contracts" in done.stderr
