"""Agents that run again on recorded answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Proctor = Callable[..., subprocess.CompletedProcess[str]]

AGENT = """
import json, os, urllib.request
words = open('/agent/words').read()
body = json.dumps({"model": "any", "messages": [{"role": "user", "content": words}]}).encode()
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
request.add_header("content-type", "application/json")
urllib.request.urlopen(request).read()
"""


def test_a_request_that_differs_is_named_by_field_and_words(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "talk.py").write_text(AGENT)
    (files / "words").write_text("good morning")
    script = tmp_path / "turns.yaml"
    script.write_text("schema: 1\nturns:\n  - {say: hello}\n")
    agent = ("--agent", "endpoint:/usr/bin/python3 /agent/talk.py", "--agent-files", files)
    done = proctor("run", make_contract(), *agent, "--model", "scripted/any", "--script", script, "--json")
    (row,) = json.loads(done.stdout)["runs"]

    same = proctor("replay", row["run"], "--model", "--json")
    assert (same.returncode, json.loads(same.stdout)["difference"]) == (0, "")
    again = json.loads(same.stdout)["again"]
    listed = {item["run"]: item["replay_of"] for item in json.loads(proctor("runs", "--json").stdout)["runs"]}
    assert listed == {row["run"]: "", again: row["run"]}
    assert "REPLAY OF" in proctor("runs").stdout
    assert f"replay of    {row['run']}" in proctor("show", again).stdout
    assert proctor("rescore", again).returncode == 0
    assert json.loads(proctor("run", "--resume", "--json").stdout)["earlier"][0]["run"] == row["run"]

    (files / "words").write_text("good evening")
    other = proctor("replay", row["run"], "--model", "--json")
    assert other.returncode == 1
    told = json.loads(other.stdout)
    place = "model call 1, message 1 (user), at /messages/0/content"
    assert told["difference"] == f"{place}: recorded 'good >>>mor<<<ning', now 'good >>>eve<<<ning'"
    divergence = {name: told["divergence"][name] for name in ("before", "recorded", "now", "after", "others")}
    assert divergence == {"before": "good ", "recorded": "mor", "now": "eve", "after": "ning", "others": 0}
    shown = proctor("replay", row["run"], "--model").stdout
    assert f"{place}\n  recorded  'good >>>mor<<<ning'\n  now       'good >>>eve<<<ning'\n" in shown


def test_a_recorded_call_that_is_never_made_is_named(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "talk.py").write_text(
        AGENT + "if os.path.exists('/agent/again'):\n    exec(open('/agent/again').read())\n"
    )
    (files / "words").write_text("good morning")
    again = "body = body.replace(b'morning', b'night')\nrequest.data = body\nurllib.request.urlopen(request).read()\n"
    (files / "again").write_text(again * 2)
    script = tmp_path / "turns.yaml"
    script.write_text("schema: 1\nturns:\n  - {say: hello}\n  - {say: bye}\n  - {say: bye}\n")
    agent = ("--agent", "endpoint:/usr/bin/python3 /agent/talk.py", "--agent-files", files)
    done = proctor("run", make_contract(), *agent, "--model", "scripted/any", "--script", script, "--json")
    (row,) = json.loads(done.stdout)["runs"]
    assert proctor("replay", row["run"], "--model").returncode == 0
    (files / "again").unlink()
    other = proctor("replay", row["run"], "--model", "--json")
    difference = "model call 2 was recorded, and the agent does not make it now, and 1 more"
    assert (other.returncode, json.loads(other.stdout)["difference"]) == (1, difference)
    patch = tmp_path / "home" / "runs" / row["run"] / "workspace" / "final.patch"
    patch.write_bytes(patch.read_bytes() + b"x")
    broken = proctor("replay", row["run"], "--model")
    assert broken.returncode == 4, "nothing is repeated that does not verify"


def test_a_run_without_a_model_cannot_be_run_again_on_one(proctor: Proctor, make_contract: Any) -> None:
    done = proctor("run", make_contract(), "--agent", "noop", "--json")
    (row,) = json.loads(done.stdout)["runs"]
    refused = proctor("replay", row["run"], "--model")
    assert refused.returncode == 2 and "the run had no model" in refused.stderr


def test_a_contract_that_was_moved_is_named_with_an_option(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    script = tmp_path / "turns.yaml"
    script.write_text("schema: 1\nturns:\n  - {say: hello}\n")
    contract = make_contract()
    done = proctor("run", contract, "--agent", "builtin", "--model", "scripted/any", "--script", script, "--json")
    (row,) = json.loads(done.stdout)["runs"]
    moved = contract.rename(tmp_path / "moved")
    for depth in ("--model", "--tools", "--acceptance"):
        refused = proctor("replay", row["run"], depth)
        assert refused.returncode == 2
        assert "--contract" in refused.stderr
        assert proctor("replay", row["run"], depth, "--contract", moved).returncode == 0
