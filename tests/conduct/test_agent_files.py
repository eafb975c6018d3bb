"""W3: files that are swapped while an agent acts have no effect on it, or make the run invalid."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import PATIENCE_SECONDS, WAIT, release, wait_for_agents

AGENT = """
import subprocess, time
for number in range({loops}):
    subprocess.run(['/usr/bin/python3', '/agent/helper.py'], check=True)
    time.sleep(0.02)
"""
RUN_HELPER = "import subprocess; subprocess.run(['/usr/bin/python3', '/agent/helper.py'])"
WAITING = f"{RUN_HELPER}{WAIT}{RUN_HELPER}"
BUDGET = {"wall_seconds": 600, "memory_bytes": 1 << 30}
HELPER = "open('calc.py', 'w').write('def add(a, b):\\n    return a + b\\n')\n"
EVIL = "open('calc.py', 'w').write('def add(a, b):\\n    return b + a\\n')\n"


def begin(contract: Path, home: Path, files: Path, agent: str) -> subprocess.Popen[str]:
    files.mkdir(exist_ok=True)
    (files / "agent.py").write_text(agent)
    (files / "helper.py").write_text(HELPER)
    words = ("run", str(contract), "--agent", "command:python3 /agent/agent.py", "--agent-files", str(files), "--json")
    return subprocess.Popen(
        [sys.executable, "-m", "proctor", *words],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(child: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    """The report and the patch of the only run; without a run, that it was refused."""
    output, errors = child.communicate(timeout=PATIENCE_SECONDS)
    assert output, errors
    result = json.loads(output)
    if not result["runs"]:
        return {"status": "refused", "errors": result["errors"]}, ""
    place = Path(result["runs"][0]["evidence"])
    patch = place / "workspace/final.patch"
    return json.loads((place / "report.json").read_text()), patch.read_text() if patch.exists() else ""


def layer_of(home: Path) -> Path:
    """The copy of the agent's files, once it is there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = list(home.glob("agents/files-*/layer.json"))
        if found:
            return found[0].parent / "content/agent"
        time.sleep(0.01)
    raise AssertionError("no copy was made")


def swap(path: Path, back: bool) -> None:
    """Put another helper in place, and perhaps the first one back, as quickly as possible."""
    evil = path.with_name("evil.py")
    evil.write_text(EVIL)
    os.rename(path, path.with_name("kept.py"))
    os.rename(evil, path)
    if back:
        time.sleep(0.05)
        os.rename(path.with_name("kept.py"), path)


def test_a_swap_in_the_users_directory_has_no_effect(make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "files"
    child = begin(make_contract(budget=BUDGET), tmp_path / "home", files, WAITING)
    layer_of(tmp_path / "home")
    swap(files / "helper.py", back=False)
    release(child)
    report, patch = ended(child)
    assert report["status"] == "success" and "a + b" in patch


@pytest.mark.parametrize("back", [False, True])
def test_a_swap_in_the_copy_makes_the_run_invalid(make_contract: Any, tmp_path: Path, back: bool) -> None:
    child = begin(make_contract(budget=BUDGET), tmp_path / "home", tmp_path / "files", WAITING)
    place = layer_of(tmp_path / "home")
    wait_for_agents(child)
    swap(place / "helper.py", back=back)
    release(child)
    report, _ = ended(child)
    assert report["status"] == "invalid"
    assert "the agent's files were changed" in json.dumps(report)


@pytest.mark.soak
@pytest.mark.parametrize("target", ["user", "copy"])
def test_swaps_at_random_instants_are_without_effect_or_noticed(
    make_contract: Any, tmp_path: Path, target: str
) -> None:
    draw = random.Random(15)
    contract = make_contract()
    for number in range(25):
        home, files = tmp_path / f"home{number}", tmp_path / f"files{number}"
        child = begin(contract, home, files, AGENT.format(loops=10))
        copy = layer_of(home)
        place = files if target == "user" else copy
        time.sleep(draw.uniform(0, 1.5))
        swap(place / "helper.py", back=draw.random() < 0.5)
        report, patch = ended(child)
        assert report["status"] in ("success", "invalid", "refused")
        assert report["status"] != "success" or "b + a" not in patch, number
        if target == "user":
            assert report["status"] == "success", report
