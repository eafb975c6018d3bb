"""W3: files of agents that are swapped while a pilot runs have no effect on a run that counts."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.test_agent_files import AGENT, HELPER, swap
from tests.study.pilot.live import planned, runs_in, write_pilot

SWAPS = 25


def files(folder: Path) -> Path:
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT.format(loops=5))
    (folder / "helper.py").write_text(HELPER)
    return folder


def runs_of_one(home: Path) -> list[dict[str, Any]]:
    """The runs of the method whose files are swapped."""
    return [one for one in runs_in(home) if one["method"] == "one"]


@pytest.mark.soak
@pytest.mark.parametrize("target", ["user", "copy"])
def test_w3_swaps_at_random_instants_of_a_pilot_change_no_run_that_counts(
    proctor: Any, make_contract: Any, tmp_path: Path, target: str
) -> None:
    draw = random.Random(15)
    contracts = [make_contract(f"task-{number}") for number in range(3)]
    own = files(tmp_path / "one")
    method = {"name": "one", "agent": "command:python3 /agent/agent.py", "files": "one"}
    other = {"name": "two", "agent": "command:true"}
    file = write_pilot(tmp_path, contracts, methods=[method, other])
    planned(proctor, file)
    over = threading.Event()
    swaps = 0

    def swap_now_and_then() -> None:
        nonlocal swaps
        while swaps < SWAPS and not over.wait(draw.uniform(0.1, 1.5)):
            copies = tmp_path.glob("home/agents/files-*/content/agent/helper.py")
            for helper in [own / "helper.py"] if target == "user" else list(copies):
                swap(helper, back=draw.random() < 0.5)
                swaps += 1

    thread = threading.Thread(target=swap_now_and_then)
    thread.start()
    try:
        for attempt in range(12):  # what was cut off by a change goes on by the same command
            done = subprocess.run(
                [sys.executable, "-m", "proctor", "pilot", "run", str(file)],
                env={**os.environ, "PROCTOR_HOME": str(tmp_path / "home")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert "Traceback" not in done.stderr
            if attempt >= 2 and runs_of_one(tmp_path / "home"):
                break
            if "remove this layer's directory" in done.stderr:
                for layer in tmp_path.glob("home/agents/files-*"):
                    shutil.rmtree(layer, ignore_errors=True)
    finally:
        over.set()
        thread.join()
    assert swaps > 0
    ours = runs_of_one(tmp_path / "home")
    assert ours
    for one in ours:
        patch = one["path"] / "workspace" / "final.patch"
        changed = patch.exists() and "b + a" in patch.read_text()
        assert not changed or one["report"]["status"] == "invalid", one["run"]
        if target == "user":
            assert one["report"]["status"] == "success", one["report"]
