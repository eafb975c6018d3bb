"""A home with run directories that say what a test wants, sealed as finished runs are; made in milliseconds."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.base.json_records import to_json
from proctor.execute.proctor_home import Home
from proctor.record.report_model import ContractScore, PilotScore, Scores, Termination
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import write_seal
from proctor.record.trace.writer import TraceWriter
from tests.sample_reports import DIGEST, SAMPLE, sample_gate, sample_report, sample_score

COST = {
    "method": "sha256:prices",
    "usd": "1.50",
    "units": None,
    "observed_usd": "1.25",
    "phases": {
        "setup": {"model": "0.00", "execution": "0.10", "human": "0.00", "overhead": "0.01"},
        "agent": {"model": "1.00", "execution": "0.20", "human": "0.05", "overhead": "0.02"},
        "acceptance": {"model": "0.00", "execution": "0.08", "human": "0.00", "overhead": "0.04"},
    },
    "evidence": "events.jsonl#3",
}
PRICES = {"id": "sha256:prices", "currency": "usd", "rows": [["human_review", "hour", "60", "", ""]]}


class SteppingClock:
    """A clock on which every look takes a microsecond."""

    def __init__(self) -> None:
        self.now = 1_772_884_800_000_000_000

    def wall_ns(self) -> int:
        self.now += 1000
        return self.now

    def steady_ns(self) -> int:
        return self.wall_ns()


class Runs:
    """Makes run directories below one home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._count = 0

    def name(self, number: int) -> str:
        return f"20260307T12{number // 60:02d}{number % 60:02d}-{number:010x}"

    def make(self, *, seal: bool = True, name: str = "", **changes: Any) -> RunDirectory:
        """A run that succeeded; ``changes`` replace parts of its report, and those of ``configuration``, ``strata``
        and ``programs`` parts of its manifest, its contract and its trace."""
        self._count += 1
        run = RunDirectory(self.home.runs / (name or self.name(self._count))).create()
        run.write_json(run.manifest, _manifest(self.name(self._count), changes.pop("configuration", {})))
        run.write_json(run.contract, {"name": "adding", "strata": changes.pop("strata", {"language": "python"})})
        trace = TraceWriter.create(run.events, SteppingClock(), random.Random(self._count).randbytes)
        trace.append("agent.started", {"name": "ada", "kind": "command", "command": ["/bin/sh"]})
        for pid, argv in enumerate(changes.pop("programs", ()), 10):
            parent = 10 if pid > 10 else 1
            program = {"pid": pid, "parent": parent, "origin": parent, "path": argv[0], "argv": argv, "cwd": "/"}
            trace.append("guard.exec", {**program, "allowed": True})
        trace.append("agent.finished", {"reason": "finished", "exit_code": 0, "wall_seconds": "2.500"})
        run.write_json(run.report, _merged(_report(self.name(self._count)), changes))
        if seal:
            write_seal(run, trace)
        else:
            trace.close()
        return run


def _manifest(name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "proctor.manifest",
        "run": name,
        "contract": {"id": "sha256:c", "name": "adding", "version": "c"},
        "agent": {"name": "ada", "kind": "command"},
        "started": {"text": "2026-03-07T12:00:00Z", "wall_ns": "1772884800000000000"},
        "configuration": {
            "batch": "b1",
            "repeat": 2,
            "model": "",
            "watch": {"call_depth": 1, "test_commands": [], "prices": PRICES},
            **configuration,
        },
    }


def _report(name: str) -> dict[str, Any]:
    scores = Scores(
        rubric=DIGEST,
        contract=ContractScore(value="1.000000", parts={}, validity={}, violations=0),
        pilot=PilotScore(value=None, parts={}, unused={}),
    )
    made = sample_report(
        run=name,
        gates=tuple(sample_gate(f"G{number}") for number in range(1, 5)),
        termination=Termination(reason="finished", exit_code=0, code=None),
        score=sample_score("0.900000", "0.900000"),
        scores=scores,
        comparability=replace(SAMPLE.comparability, group="sha256:k"),
        durations=replace(SAMPLE.durations, agent_seconds="2.500", check_seconds="0.750"),
        patch=replace(SAMPLE.patch, files=2),
    )
    report = to_json(made)
    report["usage"] |= {"tool_calls": 1, "cost": COST}
    for name in ("agent_calls", "test_cycles", "programs"):
        del report["usage"][name]
    return report


def _merged(report: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The report with other parts; of a part that is an object, the named fields are replaced."""
    found = dict(report)
    for name, value in changes.items():
        both = isinstance(value, dict) and isinstance(report.get(name), dict)
        found[name] = {**report[name], **value} if both else value
    return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Makes runs in an empty home."""
    return Runs(Home(tmp_path / "home"))
