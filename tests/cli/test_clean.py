"""``proctor clean`` beside a living run."""

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


def test_what_a_living_batch_uses_is_kept(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    """Asked while the second contract runs, when nothing but the batch itself needs the first one's layer."""
    contracts = [make_contract("quick", files={"quick": ""}), make_contract("slow")]
    files = tmp_path / "agent"
    files.mkdir()
    agent = "command:sh -c 'test -e quick || until test -e /agent/go; do sleep 0.05; done'"
    child = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", *contracts, "-n", "2", "--agent", agent, "--agent-files", files],
        env={**os.environ, "PROCTOR_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 120
    runs = tmp_path / "home" / "runs"
    while sum("guard.exec" in path.read_text() for path in runs.glob("*/events.jsonl")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    beside = json.loads(proctor("clean", "--layers", "--inputs", "--json").stdout)
    (files / "go").write_text("")
    said, _ = child.communicate(timeout=120)
    assert beside["removed"] == []
    assert [what.split()[0] for what in beside["kept"]] == ["layer", "layer", "the"]
    assert [row["status"] for row in json.loads(proctor("runs", "--json").stdout)["runs"]] == ["failure"] * 4, said
    after = json.loads(proctor("clean", "--layers", "--inputs", "--json").stdout)
    assert after["kept"] == []
    assert {what.split()[0] for what in after["removed"]} == {"layer", "input"}
    assert list((tmp_path / "home" / "inputs").iterdir()) == []
