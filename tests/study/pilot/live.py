"""Real pilots for tests: small ones on contracts that take a moment, run by the command line and killed at will."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Proctor = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE_SECONDS = 300
FIXER = {"name": "fixer", "agent": "command:sed -i 's/a - b/a + b/' calc.py"}
IDLER = {"name": "idler", "agent": "command:true"}


def write_pilot(folder: Path, contracts: Sequence[Path], **parts: Any) -> Path:
    """A pilot of two agents and both baselines on ``contracts``, with little to do and little to ask for.

    Stage three is reached with three tasks or more: with fewer no pattern of signs is rarer than alpha.
    """
    whole: dict[str, Any] = {
        "schema": 1,
        "pilot": {"name": "trial", "title": "A trial", "question": "Does it work?"},
        "methods": [FIXER, IDLER],
        "tasks": [{"contract": os.path.relpath(path, folder)} for path in contracts],
        "runs_per_task": 2,
        "budgets": {"pilot_usd": "100.00"},
        "minimum_effect": "0.8",
        "power": "0.05",
        "alpha": "0.4",
        "assumed": {"rate": "0.1", "icc": ["0.2"]},
        "flakes": {"runs": 2},
        "stages": {"one": {"tasks": 1}},
        **parts,
    }
    file = folder / "pilot.yaml"
    file.write_text(json.dumps({key: value for key, value in whole.items() if value is not None}, indent=1))
    return file


def planned(proctor: Proctor, file: Path) -> Path:
    """The folder of the plan of a pilot."""
    done = proctor("pilot", "plan", file, "--json")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["folder"])


def run(proctor: Proctor, file: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """What ``pilot run`` says."""
    done = proctor("pilot", "run", file, "--json", *more)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def runs_in(home: Path, *, sealed: bool = True) -> list[dict[str, Any]]:
    """The configuration of every run of a pilot, with its name, path and what its report says."""
    found = []
    for path in sorted((home / "runs").glob("*")):
        if (path / "seal.json").exists() == sealed and (path / "manifest.json").exists():
            bound = json.loads((path / "manifest.json").read_bytes())["configuration"]
            report = json.loads((path / "report.json").read_bytes()) if sealed else {}
            if bound.get("pilot"):
                found.append({**bound, "run": path.name, "path": path, "report": report})
    return found


def places_in(home: Path) -> Counter[tuple[str, int, str]]:
    """How many sealed runs each place has."""
    return Counter((one["contract"], one["repeat"], one["method"]) for one in runs_in(home) if one["stage"] != "checks")


def kill_in(stage: str, file: Path, home: Path, after: int = 1, patience: int = PATIENCE_SECONDS) -> None:
    """Run a pilot and kill the harness when ``after`` runs of a stage are sealed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "proctor", "pilot", "run", str(file)],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + patience
    try:
        while sum(one["stage"] == stage for one in runs_in(home)) < after and child.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        child.send_signal(signal.SIGKILL)
        _, errors = child.communicate()
    assert child.returncode == -signal.SIGKILL, errors.decode()


def check_places(home: Path, plan: Path) -> None:
    """Every place of a plan was filled exactly once, by as many runs of one method as of any other."""
    rows = (plan / "randomisation.csv").read_text().splitlines()
    head = rows[0].split(",")
    wanted = []
    for row in rows[1:]:
        cells = dict(zip(head, row.split(","), strict=True))
        wanted.append((cells["contract"], int(cells["repeat"]), cells["method"]))
    found = places_in(home)
    assert sorted(found) == sorted(wanted)
    assert set(found.values()) == {1}
    counts = Counter(method for _, _, method in found)
    assert len(set(counts.values())) == 1, counts


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a report's folder; Parquet aside, whose bytes are the library's."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.suffix != ".parquet"}
