"""Runs that earlier versions sealed: every command that reads runs reads them, and says what they are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.judge.run_report import rules_digest
from tests.corpus_runs import NAMES, unpack

Proctor = Callable[..., subprocess.CompletedProcess[str]]

SCHEMAS = {"report-1": 1, "report-2": 2, "report-3": 3}


@pytest.mark.parametrize("name", NAMES)
def test_i4_earlier_runs_verify_and_rescore(proctor: Proctor, tmp_path: Path, name: str) -> None:
    run = unpack(name, tmp_path / "home" / "runs")
    report = json.loads((run / "report.json").read_bytes())
    assert report["schema"] == SCHEMAS[name[:8]]
    verified = proctor("verify", run.name, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert json.loads(verified.stdout)["status"] == "intact"
    scored = proctor("rescore", run.name, "--json")
    said = json.loads(scored.stdout)
    assert scored.returncode == 0 and said["same"] is True and said["different"] == []
    if report.get("rules") == rules_digest():
        assert said["other_rules"] == [], "the code scores by other rules now: raise REVISION in judge/run_report.py"
    if name in ("report-1d", "report-1e", "report-2", "report-2-success"):
        assert set(said["other_rules"]) <= {"gates.why", "deviations", "replayable", *RULE_FILES}
    shown = proctor("rescore", run.name)
    for note, words in (("without", "written by an earlier version"), ("other_rules", "scored by other rules")):
        assert bool(said[note]) == (words in shown.stdout)


RULE_FILES = ("tags", "taxonomy", "indicators", "interpretation", "scores", "comparability")


@pytest.mark.parametrize("name", NAMES)
def test_i4_earlier_runs_are_shown(proctor: Proctor, tmp_path: Path, name: str) -> None:
    run = unpack(name, tmp_path / "home" / "runs")
    status = json.loads((run / "report.json").read_bytes())["status"]
    shown = proctor("show", run.name)
    assert shown.returncode == 0 and f"status       {status}" in shown.stdout
    for options in (("--why",), ("--output",), ("--json",)):
        assert proctor("show", run.name, *options).returncode == 0
    traced = proctor("trace", run.name)
    assert traced.returncode == 0 and "run.finished" in traced.stdout
    (listed,) = json.loads(proctor("runs", "--json").stdout)["runs"]
    assert (listed["run"], listed["state"], listed["status"]) == (run.name, "finished", status)


@pytest.mark.parametrize("name", NAMES)
def test_i4_earlier_runs_are_compared_costed_replayed_and_queried(proctor: Proctor, tmp_path: Path, name: str) -> None:
    run = unpack(name, tmp_path / "home" / "runs")
    other = unpack("report-2-success", tmp_path / "others")
    compared = proctor("compare", str(run), str(other))
    assert compared.returncode in (0, 1), compared.stderr
    queried = proctor("query", "--sql", "select run, status from runs", "--json")
    assert queried.returncode == 0 and run.name in queried.stdout, queried.stderr
    for command in (("cost", run.name), ("replay", run.name, "--breakers")):
        done = proctor(*command)
        if name == "report-1a":  # recorded before costs and breakers were
            assert done.returncode == 2 and "before" in done.stderr, done.stderr
        else:
            assert done.returncode == 0, done.stderr
