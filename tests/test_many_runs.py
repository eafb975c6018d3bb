"""Many runs leave nothing behind but their evidence, and always say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.author.demo.build import CHEAT_COMMAND, cheating_agent, materialise

TIMES = 40
WANTED = {"noop": "failure", "reference": "success", CHEAT_COMMAND: "failure"}


def proctor(home: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("proctor"), *map(str, arguments)],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=900,
    )


def told(report: dict[str, object]) -> str:
    """What a report says of the run, without what differs from run to run."""
    gates = [(gate["id"], gate["passed"], gate["why"]) for gate in report["gates"]]  # type: ignore[attr-defined]
    return json.dumps([report["status"], report["attribution"], gates, report["deviations"]])


@pytest.mark.soak
def test_many_runs_say_the_same_and_leave_nothing_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    contract = materialise(tmp_path / "contract")
    files = cheating_agent(tmp_path / "agent")
    said: dict[str, set[str]] = {}
    for agent, status in WANTED.items():
        more = ("--agent-files", files) if agent == CHEAT_COMMAND else ()
        done = proctor(home, "run", contract, "--agent", agent, *more, "-n", TIMES, "--jobs", 2, "--json")
        runs = json.loads(done.stdout)["runs"]
        assert [run["status"] for run in runs] == [status] * TIMES, done.stderr
        said[agent] = {told(json.loads(Path(run["evidence"], "report.json").read_text())) for run in runs}
    assert {agent: len(words) for agent, words in said.items()} == dict.fromkeys(WANTED, 1)
    names = sorted(path.name for path in (home / "runs").iterdir())
    assert len(names) == TIMES * len(WANTED)
    assert proctor(home, "verify", *names).returncode == 0
    assert all(proctor(home, "rescore", name).returncode == 0 for name in names[:: TIMES // 2])
    assert list((home / "scratch").iterdir()) == []
    assert proctor(home, "clean").stdout == "clean\n"
