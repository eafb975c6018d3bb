"""Whole runs with scripted agents, and what came of them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.record_schemas import require_valid

Proctor = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE_SECONDS = 300
WAITS = "tmp/waits"
"""The file, in the sandbox, for whose removal an agent waits. It grows while the agent waits."""
WAIT = f"""
import os, time
with open("/{WAITS}", "wb", 0) as file:
    while os.fstat(file.fileno()).st_nlink:
        file.write(b".")
        time.sleep(0.05)
"""
"""Python that waits until the test calls ``release``, however busy the machine is. No breaker counts its steps."""
UNTIL_RELEASED = f"/usr/bin/python3 -c {shlex.quote(WAIT)}"
"""The same for a shell script."""


class Seen:
    """What came of a run: its report and its events."""

    def __init__(self, directory: Path) -> None:
        require_valid(directory)
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
    done = proctor("run", contract, "--agent", f"command:sh -c {shlex.quote(script)}", "--json")
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    check(proctor, row["run"])
    return Seen(Path(row["evidence"]))


def check(proctor: Proctor, run: str) -> None:
    """The evidence of a run verifies, gives the same report, and the breakers decide the same again."""
    for command in (("verify",), ("rescore",), ("replay", "--breakers")):
        again = proctor(*command, run)
        assert again.returncode == 0, again.stdout + again.stderr


def assert_own_time(seen: Seen, paused_seconds: float) -> None:
    """At least ``paused_seconds`` between the agent's first and last event are not its time."""
    (start,) = [int(event["t"]) for event in seen.events if event["type"] == "agent.started"]
    (end,) = [int(event["t"]) for event in seen.events if event["type"] == "agent.rested"]
    own = float(seen.report["durations"]["agent_seconds"])
    assert 0 < own <= (end - start) / 1e9 - paused_seconds + 0.001, "but for rounding"
    assert float(seen.of("agent.rested")[0]["wall_seconds"]) == own


def start(contract: Path, home: Path, script: str, *more: str) -> subprocess.Popen[str]:
    """Start a run whose agent does ``script``."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "proctor",
            "run",
            str(contract),
            "--agent",
            f"command:sh -c {shlex.quote(script)}",
            "--json",
            *more,
        ],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def asked(contract: Path, home: Path, script: str) -> tuple[subprocess.Popen[str], Path]:
    """A run whose agent does what a human is asked about, and its directory, once it asks."""
    child = start(contract, home, script)
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


def sandbox_processes(child: subprocess.Popen[str]) -> list[int]:
    """The processes that ``child`` or its children have started in pid namespaces of their own."""
    own = os.readlink("/proc/self/ns/pid")
    parents: dict[int, int] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    found = []
    for pid in parents:
        with suppress(OSError):
            if child.pid in _ancestors(pid, parents) and os.readlink(f"/proc/{pid}/ns/pid") != own:
                found.append(pid)
    return sorted(found)


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found


def wait_for_agents(child: subprocess.Popen[str], count: int = 1) -> list[Path]:
    """Wait until ``count`` agents of ``child`` wait for their release; the files that they wait for."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found: dict[str, Path] = {}
        for pid in sandbox_processes(child):
            path = Path(f"/proc/{pid}/root/{WAITS}")
            with suppress(OSError):
                if path.exists():
                    found[os.readlink(f"/proc/{pid}/ns/pid")] = path
        if len(found) == count:
            return list(found.values())
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.02)


def release(child: subprocess.Popen[str]) -> None:
    """Let the one agent of ``child`` that waits go on."""
    (path,) = wait_for_agents(child)
    path.unlink()
