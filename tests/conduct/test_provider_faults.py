"""M6: a provider or a set-up that fails is never the failure of an agent. Real agents, real runs, every fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.execute.gateway.faults import FAULTS
from tests.execute.gateway.faulty import FIRST, LAST, THIRD, faulty_provider, name_of

FIX = "sed 's/+ name$/+ (name.strip() or \"world\")/' greeting.py > /tmp/new && cat /tmp/new > greeting.py"
TURNS = [
    {"when": {"tools": False}, "say": "A title of a few words"},
    {"say": "I look first, and say a few words so that the answer has several events.", "shell": "ls"},
    {"say": "I read the file next, and again I say a few words.", "shell": "cat greeting.py"},
    {"say": "I change it now, and say a few words while I do so.", "shell": FIX},
    {"say": "Done: a name of nothing but spaces is greeted as world."},
]
STEPS = (FIRST, THIRD, LAST)
WAITING = ("silent", "silent-stream", "trickle")
"""Faults that are noticed only after a time that follows from the budget."""
AGENTS = [
    ("pi", "chat"),
    ("pi", "responses"),
    ("pi", "anthropic"),
    ("gemini-cli", "gemini"),
    ("qwen-code", "chat"),
    ("continue", "chat"),
    ("continue", "responses"),
]


def proctor(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """One command, with ``home`` as Proctor's."""
    return subprocess.run(
        [sys.executable, "-m", "proctor", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3600,
        env={**os.environ, "PROCTOR_HOME": str(home)},
    )


def greeting(directory: Path, home: Path, wall_seconds: int) -> Path:
    """The contract that `proctor init` writes, with less time."""
    assert proctor(home, "init", directory).returncode == 0
    file = directory / "contract.yaml"
    file.write_text(file.read_text().replace("wall_seconds: 600", f"wall_seconds: {wall_seconds}"))
    return directory


def table_of(
    directory: Path, home: Path, agent: str, dialect: str, faults: list[str], *, jobs: int, wall_seconds: int
) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Run ``agent`` with each fault, at the first, the third or the last step; the fault, the step and the report."""
    contract = greeting(directory / "greeting", home, wall_seconds)
    base = "gpt-5" if (agent, dialect) == ("continue", "responses") else "gpt-4o"
    steps = {fault: FIRST if FAULTS[fault].begins else STEPS[place % 3] for place, fault in enumerate(faults)}
    names = {name_of(fault, step, base): fault for fault, step in steps.items()}
    models = [word for name in names for word in ("--model", f"faulty/{name}")]
    with faulty_provider(json.dumps({"schema": 1, "turns": TURNS}).encode()) as (url, provider):
        how = ("--endpoint", url, "--dialect", dialect, "--jobs", str(jobs))
        done = proctor(home, "run", contract, "--agent", agent, *models, *how, "--json")
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["runs"]
    assert len(rows) == len(faults), done.stderr
    for row in rows:
        report = json.loads((Path(row["evidence"]) / "report.json").read_bytes())
        (model,) = report["conversation"]["models"]
        step = int(model.rpartition("--")[2])
        assert step in provider.steps[model], f"{model} was never asked at that step: {provider.steps[model]}"
        yield names[model], step, report


def wrong(name: str, report: Mapping[str, Any]) -> str:
    """What is wrong with the report of a run that met a fault; empty when nothing is."""
    fault, said = FAULTS[name], report["conversation"]
    if report["status"] == "success" and said["outage"] is None:
        has_met = not fault.code or fault.code in said["errors"]
        return "" if has_met else f"success, and the errors are {said['errors']}"
    if fault.passes or (report["status"], report["attribution"]) != ("invalid", "harness"):
        return f"{report['status']}, attributed to {report['attribution']}: {report['problems'] or said['errors']}"
    outage = said.get("outage_class")
    return "" if outage == fault.code and report["problems"] else f"the outage is {outage}: {said['outage']}"


def differing(rows: Iterator[tuple[str, int, Mapping[str, Any]]]) -> list[str]:
    """One line for each cell of the table that is not as expected."""
    return [f"{name} at step {step}: {said}" for name, step, report in rows if (said := wrong(name, report))]


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param("chat", marks=pytest.mark.soak),
        *(pytest.param(dialect, marks=pytest.mark.agents) for dialect in ("responses", "anthropic", "gemini")),
    ],
)
def test_m6_no_fault_is_the_failure_of_the_builtin_agent(tmp_path: Path, dialect: str) -> None:
    faults = [name for name in FAULTS if name not in WAITING]
    rows = table_of(tmp_path, tmp_path / "home", "builtin", dialect, faults, jobs=12, wall_seconds=120)
    assert not (found := differing(rows)), "\n".join(found)


def test_m6_no_silence_is_the_failure_of_the_builtin_agent(tmp_path: Path) -> None:
    rows = table_of(tmp_path, tmp_path / "home", "builtin", "chat", list(WAITING), jobs=3, wall_seconds=10)
    assert not (found := differing(rows)), "\n".join(found)


@pytest.fixture(scope="session")
def agents_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all agents; ``PROCTOR_AGENTS_HOME`` names one that lasts."""
    named = os.environ.get("PROCTOR_AGENTS_HOME")
    return Path(named) if named else tmp_path_factory.mktemp("agents")


@pytest.mark.agents
@pytest.mark.parametrize(("agent", "dialect"), AGENTS, ids=[f"{agent}-{dialect}" for agent, dialect in AGENTS])
def test_m6_no_fault_is_the_failure_of_a_real_agent(
    agents_home: Path, tmp_path: Path, agent: str, dialect: str
) -> None:
    installed = proctor(agents_home, "agents", "install", agent)
    assert installed.returncode == 0, installed.stderr
    rows = table_of(tmp_path, agents_home, agent, dialect, list(FAULTS), jobs=4, wall_seconds=60)
    assert not (found := differing(rows)), "\n".join(found)
