"""A pilot on real releases: two agents and both baselines on every example, through all stages, killed in each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.record.run_directory import RunDirectory
from proctor.record.verify import verify
from tests.study.pilot.live import Proctor, check_places, contents, kill_in, planned, run, runs_in, write_pilot

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted(path.parent for path in PROJECT.glob("examples/*/contract.yaml"))
PATIENCE_SECONDS = 3000
KILLS = (("checks", 3), ("one", 2), ("two", 5), ("three", 5))
PROGRAM = """\
for patch in /agent/*.patch; do
    patch -p1 -s -N --dry-run < $patch > /dev/null 2>&1 && patch -p1 -s -N < $patch
done
exit 0
"""


def patiently(home: Path) -> Proctor:
    """Runs the command line as the fixture does, and waits as long as real releases take on a busy machine."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "proctor", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env={**os.environ, "PROCTOR_HOME": str(home)},
        )

    return run


def solutions(proctor: Proctor) -> Iterator[tuple[str, bytes]]:
    """What the known solution of every example changes, as a patch."""
    done = proctor("run", *EXAMPLES, "--agent", "reference", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    for row in json.loads(done.stdout)["runs"]:
        yield row["contract"], (Path(row["evidence"]) / "workspace" / "final.patch").read_bytes()


@pytest.mark.soak
def test_a_pilot_on_real_releases_survives_a_kill_in_every_stage(tmp_path: Path) -> None:
    home = tmp_path / "home"
    proctor = patiently(home)
    known = dict(solutions(proctor))
    shutil.rmtree(home / "runs")
    (home / "runs").mkdir()
    for name, share in (("most", 4), ("some", 2)):
        files = tmp_path / name
        files.mkdir()
        (files / "solve.sh").write_text(PROGRAM)
        for number, (contract, patch) in enumerate(sorted(known.items())):
            if number % share != share - 1:
                (files / f"{contract}.patch").write_bytes(patch)
    methods = [{"name": name, "agent": "command:sh /agent/solve.sh", "files": name} for name in ("most", "some")]
    file = write_pilot(
        tmp_path,
        EXAMPLES,
        methods=methods,
        comparison={"candidate": "most", "against": "some"},
        alpha="0.05",
        strata=["language"],
        budgets={"pilot_usd": "400.00", "task_usd": "60.00"},
        stages={"one": {"tasks": 3}},
    )
    plan = planned(proctor, file)
    for stage, after in KILLS:
        kill_in(stage, file, home, after, PATIENCE_SECONDS)
    code, answer = run(proctor, file, "--jobs", "2")
    assert code == 0, json.dumps(answer["stages"][-1]["exit"], indent=1)
    assert [stage["verdict"] for stage in answer["stages"]] == ["over"] * 3
    assert len(EXAMPLES) >= 8
    check_places(home, plan)
    runs = runs_in(home)
    assert all(verify(RunDirectory(one["path"])).status == "intact" for one in runs)
    solved = [one for one in runs if one["report"]["endpoint"]["success"]]
    wins = {
        name: {one["report"]["contract"]["name"] for one in solved if one["method"] == name}
        for name in ("most", "some", "noop", "reference")
    }
    for number, contract in enumerate(sorted(known)):
        assert (contract in wins["most"]) == (number % 4 != 3), contract
        assert (contract in wins["some"]) == (number % 2 != 1), contract
    assert wins["noop"] == set()
    assert wins["reference"] == set(known)
    status = json.loads(proctor("pilot", "status", file, "--json").stdout)
    assert status["complete"] is True
    assert [one["left"] for one in status["methods"]] == [0] * 4
    assert len({one["done"] for one in status["methods"]}) == 1
    assert any(one["code"] == "runs-cut-off" for one in status["deviations"])
    for folder in ("report", "again"):
        done = proctor("pilot", "report", file, "--out", tmp_path / folder)
        assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "report") == contents(tmp_path / "again")
    assert "report.html" in contents(tmp_path / "report")
