"""Whole runs with scripted agents, and what came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Proctor = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE_SECONDS = 120


class Seen:
    """What came of a run: its report and its events."""

    def __init__(self, directory: Path) -> None:
        self.run = directory.name
        self.report = json.loads((directory / "report.json").read_bytes())
        self.events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
        patch = directory / "workspace" / "final.patch"
        self.patch = patch.read_text() if patch.exists() else ""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of the events of one type."""
        return [event["payload"] for event in self.events if event["type"] == kind]

    @property
    def output(self) -> str:
        """What the agent printed."""
        (invocation,) = self.of("tool.invocation")
        return str(invocation["stdout"]["prefix"]).replace("\\x0a", "\n")


def watch(proctor: Proctor, contract: Path, script: str) -> Seen:
    """Run a shell script as the agent; the evidence must verify and the breakers decide the same again."""
    done = proctor("run", contract, "--agent", f"command:sh -c '{script}'", "--json")
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    check(proctor, row["run"])
    return Seen(Path(row["evidence"]))


def check(proctor: Proctor, run: str) -> None:
    """The evidence of a run verifies, gives the same report, and the breakers decide the same again."""
    for command in (("verify",), ("rescore",), ("replay", "--breakers")):
        again = proctor(*command, run)
        assert again.returncode == 0, again.stdout + again.stderr


def asked(contract: Path, home: Path, script: str) -> tuple[subprocess.Popen[str], Path]:
    """A run whose agent does what a human is asked about, and its directory, once it asks."""
    child = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(contract), "--agent", f"command:sh -c '{script}'", "--json"],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        for path in (home / "runs").glob("*/events.jsonl"):
            if "operator.asked" in path.read_text():
                return child, path.parent
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.02)


def ended(child: subprocess.Popen[str], directory: Path) -> Seen:
    """Wait for a run that was asked about, and see what came of it."""
    _, errors = child.communicate(timeout=PATIENCE_SECONDS)
    assert (directory / "report.json").exists(), errors
    return Seen(directory)
