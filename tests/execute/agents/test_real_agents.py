"""Real agents from PyPI and npm, installed by Proctor and unchanged, on a real contract with a scripted model.

Each is installed into the home of this session, or into the one that ``PROCTOR_AGENTS_HOME`` names, which then serves
the next session as well. The runs must succeed, verify, rescore to the same bytes, and replay from the recorded calls
with the same calls of tools.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.agents

FIX = (
    "sed -i 's/^            return doc\\[part\\]$/            if isinstance(doc, Mapping) and part not in doc:\\n"
    "                raise KeyError(part)\\n            return doc[part]/' jsonpointer.py"
)
BLOCK = """\
jsonpointer.py
```python
<<<<<<< SEARCH
            return doc[part]
=======
            if isinstance(doc, Mapping) and part not in doc:
                raise KeyError(part)
            return doc[part]
>>>>>>> REPLACE
```
"""
SHELL_TURNS = [{"when": {"tools": False}, "say": "Report missing keys"}, {"shell": FIX}, {"say": "Done."}]
ENDING_TURNS = [{"shell": FIX}, {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}, {"say": "Done."}]
BLOCK_TURNS = [{"when": {"tools": False}, "say": BLOCK}, {"say": "Done."}]

CASES = [
    ("gemini-cli", "gemini", SHELL_TURNS),
    ("pi", "anthropic", SHELL_TURNS),
    ("pi", "responses", SHELL_TURNS),
    ("qwen-code", "chat", SHELL_TURNS),
    ("acp:qwen-code", "chat", SHELL_TURNS),
    ("acp:gemini-cli", "gemini", SHELL_TURNS),
    ("continue", "chat", SHELL_TURNS),
    ("codex", "responses", SHELL_TURNS),
    ("opencode", "chat", SHELL_TURNS),
    ("opencode", "anthropic", SHELL_TURNS),
    ("acp:opencode", "responses", SHELL_TURNS),
    ("cline", "chat", SHELL_TURNS),
    ("mini-swe-agent", "chat", ENDING_TURNS),
    ("mini-swe-agent", "anthropic", ENDING_TURNS),
    ("aider", "chat", BLOCK_TURNS),
    ("openhands", "chat", SHELL_TURNS),
]

Proctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Proctor:
    """Runs the command line with one home for all agents."""
    named = os.environ.get("PROCTOR_AGENTS_HOME")
    home = Path(named) if named else tmp_path_factory.mktemp("agents")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "proctor", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1200,
            env={**os.environ, "PROCTOR_HOME": str(home)},
        )

    return run


def calls_of_tools(proctor: Proctor, run: str) -> list[Any]:
    """The tool calls of a run, with their arguments."""
    events = [json.loads(line) for line in proctor("trace", run, "--json", "--type", "tool.call").stdout.splitlines()]
    return [(event["payload"]["name"], event["payload"]["arguments"]["sha256"]) for event in events]


def attempted(proctor: Proctor, contract: Path, agent: str, dialect: str, *how: str | Path) -> str:
    """The id of a successful run."""
    model = ("--model", "scripted/gpt-4o", "--dialect", dialect)
    done = proctor("run", contract, "--agent", agent, *model, "--json", *how)
    assert done.returncode == 0, done.stdout + done.stderr
    run: str = json.loads(done.stdout)["runs"][0]["run"]
    return run


@pytest.mark.parametrize(("agent", "dialect", "turns"), CASES, ids=[f"{agent}-{way}" for agent, way, _ in CASES])
def test_a_real_agent_solves_a_real_contract(
    at_home: Proctor, project: Path, tmp_path: Path, agent: str, dialect: str, turns: list[dict[str, Any]]
) -> None:
    installed = at_home("agents", "install", agent.removeprefix("acp:"))
    assert installed.returncode == 0, installed.stderr
    script = tmp_path / "turns.yaml"
    script.write_text(json.dumps({"schema": 1, "turns": turns}))
    contract = project / "examples" / "jsonpointer-missing-key"
    run = attempted(at_home, contract, agent, dialect, "--script", script)
    assert at_home("verify", run).returncode == 0
    assert at_home("rescore", run).returncode == 0
    calls = calls_of_tools(at_home, run)
    assert calls or turns is BLOCK_TURNS
    again = attempted(at_home, contract, agent, dialect, "--cassette", run)
    assert calls_of_tools(at_home, again) == calls
