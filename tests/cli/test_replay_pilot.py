"""Runs of a pilot repeated from their evidence: each with the files and the settings of its own method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot

FIX = "from pathlib import Path\nold = Path('calc.py').read_text()\nPath('calc.py').write_text(old.replace('-', '+'))\n"
TALK = """
import json, os, subprocess, urllib.request
subprocess.run(["cat", "/agent/work.py"])
body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "good morning"}]}).encode()
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
request.add_header("content-type", "application/json")
urllib.request.urlopen(request).read()
"""


class Pilot:
    """A pilot of a program with files and of one that talks to a model, run through."""

    def __init__(self, proctor: Proctor, contract: Path, folder: Path) -> None:
        self.proctor, self.home = proctor, folder / "home"
        for name, text in (("fixer", FIX), ("talker", TALK)):
            (folder / name).mkdir()
            (folder / name / "work.py").write_text(text)
        (folder / "turns.yaml").write_text("schema: 1\nturns:\n  - {say: hello}\n")
        self.file = write_pilot(
            folder,
            [contract],
            methods=[
                {"name": "fixer", "agent": "command:python3 /agent/work.py", "files": "fixer"},
                {
                    "name": "talker",
                    "agent": "endpoint:python3 /agent/work.py",
                    "files": "talker",
                    "model": "scripted/any",
                    "script": "turns.yaml",
                },
            ],
            runs_per_task=1,
        )
        planned(proctor, self.file)
        run(proctor, self.file)
        self.runs = {one["method"]: one["run"] for one in runs_in(self.home)}

    def again(self, method: str, depth: str) -> tuple[int, Any, str]:
        done = self.proctor("replay", self.runs[method], depth, "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.fixture
def pilot(proctor: Proctor, make_contract: Any, tmp_path: Path) -> Pilot:
    return Pilot(proctor, make_contract(), tmp_path)


def test_each_method_is_repeated_with_its_own_files(pilot: Pilot) -> None:
    for method, depth in (
        ("fixer", "--tools"),
        ("talker", "--tools"),
        ("talker", "--model"),
        ("fixer", "--acceptance"),
    ):
        code, told, errors = pilot.again(method, depth)
        assert (code, told.get("same"), told.get("base", [])) == (0, True, []), (method, depth, told, errors)
    listed = [json.loads((path / "manifest.json").read_bytes()) for path in (pilot.home / "runs").iterdir()]
    (repeated,) = [one["configuration"] for one in listed if one["configuration"].get("replay_of")]
    assert "pilot" not in repeated and "stage" not in repeated, "a repetition is no run of the pilot"
    assert len(runs_in(pilot.home)) == len(listed) - 1


def test_files_that_are_gone_or_changed_are_no_divergence(pilot: Pilot, tmp_path: Path) -> None:
    cases = (("fixer", "--tools"), ("talker", "--tools"), ("talker", "--model"))
    for name in ("fixer", "talker"):
        (tmp_path / name / "more.txt").write_text("more")
    for method, depth in cases:
        code, told, errors = pilot.again(method, depth)
        assert (code, told) == (2, {}), (method, depth)
        assert "the agent's files have changed" in errors and str(tmp_path / method) in errors
    for name in ("fixer", "talker"):
        (tmp_path / name).rename(tmp_path / f"{name}-moved")
    for method, depth in cases:
        code, _, errors = pilot.again(method, depth)
        assert code == 2 and "the agent's files are missing" in errors, (method, depth, errors)
    assert pilot.again("fixer", "--acceptance")[0] == 0, "the patch is judged without the agent"


def test_a_batch_that_does_not_say_where_the_files_are(pilot: Pilot) -> None:
    for path in (pilot.home / "batches").glob("*.json"):
        batch = json.loads(path.read_bytes())
        batch.pop("methods", None)
        path.write_text(json.dumps(batch))
    code, told, errors = pilot.again("fixer", "--tools")
    assert (code, told) == (2, {}) and "the agent's files are missing" in errors
