"""Bombs as agents of whole runs: each ends within its limits while other runs go on, and nothing is left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.test_kill import check_nothing_is_left, recorded_groups

MIB = 1 << 20
WAIT_SECONDS = 300
STEADY = "command:sh -c 'for i in 1 2 3 4 5; do echo $i > f$i; cat f$i; rm f$i; done; sed -i s/-/+/ calc.py'"


@dataclass(frozen=True)
class Bomb:
    """A program, the limits that it runs against, and what has to be told of it.

    ``ended`` is the code with which the run is ended early; a bomb without one comes to an end of its own, and then
    ``told`` is among the codes of alerts and attempts.
    """

    name: str
    program: str
    budget: dict[str, int]
    ended: str | None = None
    told: str = ""


FORKS = """
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        time.sleep(0.01)
"""
ZOMBIES = """
import os, time
for _ in range(2000):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError:
        time.sleep(0.01)
time.sleep(1000)
"""
MEMORY = """
import subprocess, sys
while True:
    subprocess.run([sys.executable, "-c", "b = []\\nwhile True: b.append(bytes([1]) * (1 << 20))"])
"""
DISK = """
import itertools, time
for number in itertools.count():
    with open(f"big{number}", "wb") as file:
        file.write(bytes(4 << 20))
    time.sleep(0.2)
"""
INODES = """
import itertools, os, time
for number in itertools.count():
    os.mkdir(f"d{number}")
    time.sleep(0.001)
"""
SPARSE = """
import os
for number in range(100):
    handle = os.open(f"s{number}", os.O_CREAT | os.O_RDWR)
    try:
        os.ftruncate(handle, 1 << 50)
    except OSError as error:
        print(error)
"""
TMP = """
import time
for number in range(40):
    try:
        with open(f"/tmp/f{number}", "wb") as file:
            file.write(bytes(1 << 20))
    except OSError as error:
        print(error)
time.sleep(10)
"""

QUICK = (
    Bomb("forks", FORKS, {"processes": 40}, "process-cap"),
    Bomb("memory", MEMORY, {"memory_bytes": 192 * MIB}, "out-of-memory"),
    Bomb("disk", DISK, {"disk_bytes": 32 * MIB}, "disk-cap"),
    Bomb("sparse", SPARSE, {"file_bytes": 8 * MIB}, None, "syscall-space"),
)
LONG = (
    Bomb("zombies", ZOMBIES, {"processes": 40}, "process-cap"),
    Bomb("inodes", INODES, {"inodes": 500}, "inodes-cap"),
    Bomb("tmpfs", TMP, {"tmp_bytes": 16 * MIB}, None, "tmpfs-full"),
)


def start(home: Path, contract: Path, agent: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(contract), "--agent", agent, *options, "--json"],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(child: subprocess.Popen[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report and the events of a run."""
    out, errors = child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode in (0, 1, 3), out + errors
    (row,) = json.loads(out)["runs"]
    place = Path(row["evidence"])
    events = [json.loads(line) for line in (place / "events.jsonl").read_bytes().splitlines()]
    return json.loads((place / "report.json").read_bytes()), events


def began(home: Path, child: subprocess.Popen[str]) -> set[Path]:
    """Wait until the agent of the run in ``home`` acts; the control groups of its sandbox."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not any('"guard.exec"' in path.read_text() for path in home.glob("runs/*/events.jsonl")):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return recorded_groups(home / "sessions")


def explode(bomb: Bomb, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / f"{bomb.name}.py").write_text(bomb.program)
    mark = f"bomb-{os.getpid()}-{bomb.name}"
    budget = {"wall_seconds": 120, "memory_bytes": 512 * MIB, **bomb.budget}
    agent = f"command:/usr/bin/python3 /agent/{bomb.name}.py {mark}"
    child = start(tmp_path / "home", make_contract("bomb", budget=budget), agent, "--agent-files", str(files))
    groups = began(tmp_path / "home", child)
    steady = make_contract("steady")
    beside = [finished(start(tmp_path / "beside", steady, STEADY))]
    while child.poll() is None:
        beside.append(finished(start(tmp_path / "beside", steady, STEADY)))
    report, events = finished(child)
    assert report["termination"]["code"] == bomb.ended
    assert report["status"] == "failure", "what a bomb leaves is judged like anything else"
    codes = {event["payload"]["code"] for event in events if event["type"] in ("guard.attempt", "monitor.alert")}
    assert (bomb.ended or bomb.told) in codes
    for other, _ in beside:
        assert (other["status"], other["termination"]["code"]) == ("success", None)
        assert other["interventions"] == [] and other["alerts"] == {}
    check_nothing_is_left(tmp_path / "home", mark, groups)
    check_nothing_is_left(tmp_path / "beside", mark, set())


@pytest.mark.parametrize("bomb", QUICK, ids=lambda bomb: bomb.name)
def test_a_bomb_beside_other_runs(bomb: Bomb, make_contract: Any, tmp_path: Path) -> None:
    explode(bomb, make_contract, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("bomb", LONG, ids=lambda bomb: bomb.name)
def test_another_bomb_beside_other_runs(bomb: Bomb, make_contract: Any, tmp_path: Path) -> None:
    explode(bomb, make_contract, tmp_path)
