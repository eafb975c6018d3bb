"""Runs to export: no change, the reference, an agent with a scripted model, and a run without a verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TURNS = """
schema: 1
turns:
  - {say: "I look first.", call: {tool: run, arguments: {command: "cat greeting.py; echo é"}}}
  - {call: {tool: edit, arguments: {path: greeting.py, old: "+ nothing", new: ""}}}
  - {call: {tool: edit, arguments: {path: greeting.py, old: "+ name", new: '+ (name.strip() or "world")'}}}
  - {say: "Blank names are greeted as the world."}
"""
AGENTS = ("noop", "reference", "builtin", "command:/bin/sh -c 'echo x > new.txt'", "command:/no/such/program")
NAMES = {"command:/bin/sh -c 'echo x > new.txt'": "changed", "command:/no/such/program": "broken"}

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def proctor_at(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command line in one directory with one home, for the tests of a module."""
    place = tmp_path_factory.mktemp("place")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "proctor", *map(str, arguments)],
            cwd=place,
            env={**os.environ, "PROCTOR_HOME": str(place / "home")},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture(scope="module")
def runs(proctor_at: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A run of each agent by its name: the id."""
    script = tmp_path_factory.mktemp("script") / "turns.yaml"
    script.write_text(TURNS)
    assert proctor_at("init", "greeting").returncode == 0
    found = {}
    for agent in AGENTS:
        model = ("--model", "scripted/one", "--script", script) if agent == "builtin" else ()
        done = proctor_at("run", "greeting", "--agent", agent, *model, "--json")
        rows = json.loads(done.stdout)["runs"] if done.stdout else []
        if rows:
            found[NAMES.get(agent, agent)] = rows[0]["run"]
    assert [*found] == [NAMES.get(agent, agent) for agent in AGENTS]
    return found
