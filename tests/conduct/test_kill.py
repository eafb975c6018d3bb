"""The harness is killed at random instants: what was finished stays, nothing is made up, nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory
from proctor.record.trace.reader import read_finished_events
from proctor.record.verify import verify

Proctor = Callable[..., subprocess.CompletedProcess[str]]
LONGEST_SECONDS = 1.2
"""About as long as the killed command takes, so that every part of it is hit."""


def command_lines() -> list[bytes]:
    """The command lines of all processes on this machine."""
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines.append((entry / "cmdline").read_bytes())
            except OSError:
                continue
    return lines


def recorded_groups(sessions: Path) -> set[Path]:
    """The cgroups that live sandboxes wrote down."""
    found: set[Path] = set()
    for path in sessions.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            found |= {Path(match) for match in re.findall(r"/sys/fs/cgroup[^\"\s,\\]+", text)}
    return found


def check_nothing_is_left(home: Path, marker: str, groups: set[Path]) -> None:
    """No process, mount, cgroup or scratch of the killed harness is there."""
    assert not [line for line in command_lines() if marker.encode() in line]
    assert str(home) not in Path("/proc/self/mountinfo").read_text()
    assert not [group for group in groups if group.exists()]
    assert not list((home / "scratch").iterdir())


def check_the_evidence(home: Path) -> None:
    """Every run is sealed and whole, or plainly cut off with all its finished events readable."""
    for path in sorted((home / "runs").iterdir()):
        run = RunDirectory(path)
        if run.seal.exists():
            assert verify(run).status == "intact", path
            continue
        if run.events.exists():
            events, _ = read_finished_events(run.events)
            assert [event.seq for event in events] == list(range(len(events)))


def kill_once(home: Path, contract: Path, instant: float, marker: str, proctor: Proctor, *, jobs: int = 1) -> None:
    """Start a batch, kill the harness after ``instant`` seconds, look, and complete it."""
    agent = f"command:sh -c 'sleep 0.1; : {marker}'"
    arguments = ["run", str(contract), "--agent", agent, "-n", "2", "--jobs", str(jobs)]
    child = subprocess.Popen(
        [sys.executable, "-m", "proctor", *arguments],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(instant)
    child.send_signal(signal.SIGKILL)
    child.wait()
    groups = recorded_groups(home / "sessions")
    cleaned = proctor("clean", PROCTOR_HOME=str(home))
    assert cleaned.returncode == 0, cleaned.stderr
    check_nothing_is_left(home, marker, groups)
    check_the_evidence(home)
    listed = json.loads(proctor("runs", "--json", PROCTOR_HOME=str(home)).stdout)["runs"]
    for row in listed:
        sealed = (Path(row["path"]) / "seal.json").exists()
        assert row["state"] == ("finished" if sealed else "cut")
    if not list((home / "batches").iterdir()):
        return
    done = proctor("run", "--resume", "--json", PROCTOR_HOME=str(home))
    assert done.returncode in (0, 1), done.stderr
    check_the_evidence(home)
    batch = json.loads(done.stdout)["batch"]
    places = []
    for path in (home / "runs").iterdir():
        if (path / "seal.json").exists():
            configuration = json.loads((path / "manifest.json").read_bytes())["configuration"]
            if configuration["batch"] == batch:
                places.append(configuration["repeat"])
    assert sorted(places) == [1, 2]


def kill_often(times: int, seed: int, contract: Path, tmp_path: Path, proctor: Proctor) -> None:
    chance = random.Random(seed)
    home = tmp_path / "home"
    for number in range(times):
        kill_once(
            home,
            contract,
            chance.uniform(0, LONGEST_SECONDS),
            f"marker-{os.getpid()}-{seed}-{number}",
            proctor,
            jobs=chance.choice((1, 1, 2)),
        )


def test_a_killed_harness_leaves_whole_evidence_and_nothing_else(
    make_contract: Any, tmp_path: Path, proctor: Proctor
) -> None:
    kill_often(8, 1, make_contract(), tmp_path, proctor)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [11, 12])
def test_fifty_kills(seed: int, make_contract: Any, tmp_path: Path, proctor: Proctor) -> None:
    contract = make_contract(setup=[{"run": "mkdir /setup/made"}])
    kill_often(50, seed, contract, tmp_path, proctor)
