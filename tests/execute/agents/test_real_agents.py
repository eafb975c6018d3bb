"""Real agents from PyPI and npm, installed by Proctor and unchanged, on a real contract with a scripted model.

The model does not know where the mistake is: it has to find the file through the agent, and derives its edit from what
it reads. Each agent is installed into the home of this session, or into the one that ``PROCTOR_AGENTS_HOME`` names,
which then serves the next session as well. The runs must succeed, verify, rescore to the same bytes, and replay from
the recorded calls with the same calls of tools. The options of each agent must arrive in the recorded requests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.agents.adapters.adapter_registry import find_adapter
from proctor.execute.agents.interface import AgentRequest
from proctor.execute.agents.registry import make_agent
from tests.execute.agents.replays import assert_replays
from tests.execute.agents.stage import staged
from tests.execute.sandbox.workplace import shell

pytestmark = pytest.mark.agents

FINDING = {
    "schema": 1,
    "find": {
        "search": r"^ {12}return doc\[part\]$",
        "files": "*.py",
        "edit": r"^( +)try:\n( +)return doc\[part\]$",
        "replacement": "\\1try:\n\\2if isinstance(doc, Mapping) and part not in doc:\n"
        "\\2    raise KeyError(part)\n\\2return doc[part]",
    },
}

CASES = [
    ("gemini-cli", "gemini"),
    ("pi", "chat"),
    ("pi", "anthropic"),
    ("pi", "responses"),
    ("qwen-code", "chat"),
    ("acp:qwen-code", "chat"),
    ("acp:gemini-cli", "gemini"),
    ("continue", "chat"),
    ("continue", "responses"),
    ("codex", "responses"),
    ("opencode", "chat"),
    ("opencode", "anthropic"),
    ("opencode", "responses"),
    ("acp:opencode", "responses"),
    ("cline", "chat"),
    ("mini-swe-agent", "chat"),
    ("mini-swe-agent", "anthropic"),
    ("mini-swe-agent", "responses"),
    ("aider", "chat"),
    ("openhands", "chat"),
    ("goose", "chat"),
    ("goose", "anthropic"),
    ("goose", "responses"),
    ("goose", "gemini"),
    ("acp:goose", "chat"),
    ("kilocode", "chat"),
    ("kilocode", "anthropic"),
    ("kilocode", "responses"),
    ("acp:kilocode", "chat"),
    ("copilot", "chat"),
    ("copilot", "anthropic"),
    ("copilot", "responses"),
    ("acp:copilot", "chat"),
    ("kimi", "chat"),
    ("kimi", "anthropic"),
    ("kimi", "responses"),
    ("kimi", "gemini"),
    ("acp:kimi", "chat"),
    ("vibe", "chat"),
    ("vibe", "anthropic"),
    ("vibe", "responses"),
    ("acp:vibe", "chat"),
    ("gptme", "chat"),
    ("gptme", "anthropic"),
    ("acp:gptme", "chat"),
    ("letta", "chat"),
    ("droid", "chat"),
    ("droid", "anthropic"),
    ("droid", "responses"),
    ("acp:droid", "chat"),
]

MODELS = {("continue", "responses"): "gpt-5"}
"""The name of the model where it decides the dialect."""

WITHOUT_TOOL_CALLS = ("aider", "acp:gptme")
"""Agents whose models write edits and commands into their text."""

MEMORY_BYTES = 4 << 30

RULE = "Every change is explained to the grey heron of Uppsala."
SKILL = "Counts the amber lanterns of a harbour."
TOOL = "get_current_time"
EFFORT = re.compile(r'"(reasoning_effort|effort|thinkingLevel)": ?"low"', re.IGNORECASE)
SIGNS = {
    "rules": re.compile(re.escape(RULE)),
    "skills": re.compile(re.escape(SKILL)),
    "mcp": re.compile(TOOL),
    "effort": EFFORT,
    "temperature": re.compile(r'"temperature": ?0\.3\b'),
}
"""What the recorded requests must hold where an agent has an option."""

OPTION_CASES = [
    ("gemini-cli", "gemini", "gemini-3-pro-preview"),
    ("pi", "responses", "gpt-5"),
    ("pi", "chat", "gpt-5"),
    ("qwen-code", "chat", "gpt-4o"),
    ("continue", "chat", "gpt-4o"),
    ("codex", "responses", "gpt-5"),
    ("opencode", "chat", "gpt-4o"),
    ("opencode", "anthropic", "claude-opus-4-6"),
    ("cline", "chat", "gpt-4o"),
    ("mini-swe-agent", "chat", "gpt-4o"),
    ("mini-swe-agent", "responses", "gpt-4o"),
    ("aider", "chat", "gpt-4o"),
    ("openhands", "chat", "gpt-4o"),
    ("goose", "chat", "gpt-5"),
    ("kilocode", "chat", "gpt-4o"),
    ("copilot", "chat", "gpt-5"),
    ("kimi", "chat", "gpt-5"),
    ("vibe", "chat", "gpt-4o"),
    ("droid", "chat", "gpt-5"),
]

Proctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def agents_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all agents."""
    named = os.environ.get("PROCTOR_AGENTS_HOME")
    return Path(named) if named else tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="session")
def at_home(agents_home: Path) -> Proctor:
    """Runs the command line with the home of all agents."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "proctor", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1200,
            env={**os.environ, "PROCTOR_HOME": str(agents_home)},
        )

    return run


@pytest.fixture(scope="session")
def contract(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contract, with more memory: some agents need more than a gibibyte, and the kernel then ends them."""
    copy = tmp_path_factory.mktemp("contract") / "jsonpointer-missing-key"
    shutil.copytree(project / "examples" / copy.name, copy)
    text = (copy / "contract.yaml").read_text()
    assert "memory_bytes: 1073741824" in text
    (copy / "contract.yaml").write_text(text.replace("memory_bytes: 1073741824", f"memory_bytes: {MEMORY_BYTES}"))
    return copy


def calls_of_tools(proctor: Proctor, run: str) -> list[Any]:
    """The tool calls of a run, with their arguments."""
    events = [json.loads(line) for line in proctor("trace", run, "--json", "--type", "tool.call").stdout.splitlines()]
    return [(event["payload"]["name"], event["payload"]["arguments"]["sha256"]) for event in events]


def dialects_of(proctor: Proctor, run: str) -> set[str]:
    """The dialects of a run's requests."""
    events = proctor("trace", run, "--json", "--type", "model.request").stdout.splitlines()
    return {json.loads(line)["payload"]["dialect"] for line in events}


def attempted(
    proctor: Proctor, contract: Path, agent: str | Path, dialect: str, *how: str | Path, model: str = "gpt-4o"
) -> str:
    """The id of a successful run."""
    named = ("--model", f"scripted/{model}", "--dialect", dialect)
    done = proctor("run", contract, "--agent", agent, *named, "--json", *how)
    assert done.returncode == 0, done.stdout + done.stderr
    run: str = json.loads(done.stdout)["runs"][0]["run"]
    return run


def installed(proctor: Proctor, agent: str | Path) -> None:
    done = proctor("agents", "install", agent)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "find.yaml"
    path.write_text(json.dumps(FINDING))
    return path


@pytest.mark.parametrize(("agent", "dialect"), CASES, ids=[f"{agent}-{way}" for agent, way in CASES])
def test_a_real_agent_solves_a_real_contract(
    at_home: Proctor, contract: Path, script: Path, agent: str, dialect: str
) -> None:
    installed(at_home, agent.removeprefix("acp:"))
    model = MODELS.get((agent, dialect), "gpt-4o")
    run = attempted(at_home, contract, agent, dialect, "--script", script, model=model)
    assert dialects_of(at_home, run) == {dialect}
    assert at_home("verify", run).returncode == 0
    assert at_home("rescore", run).returncode == 0
    calls = calls_of_tools(at_home, run)
    assert calls or agent in WITHOUT_TOOL_CALLS
    assert_replays(at_home, run)


def requests_of(proctor: Proctor, home: Path, run: str) -> str:
    """All requests of a run as the agent sent them."""
    events = proctor("trace", run, "--json", "--type", "model.request").stdout.splitlines()
    found = []
    for event in events:
        body = json.loads(event)["payload"]["original"]
        blob = next((home / "runs" / run / "blobs").rglob(f"*{body['sha256'][2:]}"), None)
        found.append(blob.read_text() if blob is not None else body["text"])
    return "\n".join(found)


def agent_file(directory: Path, agent: str) -> Path:
    """An agent file with every option that the agent has."""
    (directory / "AGENTS.md").write_text(f"# Rules\n\n{RULE}\n")
    (directory / "skills" / "lanterns").mkdir(parents=True)
    (directory / "skills" / "lanterns" / "SKILL.md").write_text(
        f"---\nname: lanterns\ndescription: {SKILL}\n---\n\nCount them.\n"
    )
    values: dict[str, Any] = {
        "effort": "low",
        "temperature": 0.3,
        "small_model": "gpt-4o-mini",
        "rules": "AGENTS.md",
        "skills": "skills",
        "mcp": {"time": {"pypi": "mcp-server-time==2026.10.19"}},
    }
    options = {name: value for name, value in values.items() if name in find_adapter(agent).options}
    path = directory / "agent.yaml"
    path.write_text(json.dumps({"schema": 1, "agent": agent, "name": f"{agent}-options", **options}))
    return path


@pytest.mark.parametrize(
    ("agent", "dialect", "model"), OPTION_CASES, ids=[f"options-{agent}-{way}" for agent, way, _ in OPTION_CASES]
)
def test_the_options_of_an_agent_reach_its_model(
    at_home: Proctor,
    agents_home: Path,
    contract: Path,
    tmp_path: Path,
    script: Path,
    agent: str,
    dialect: str,
    model: str,
) -> None:
    file = agent_file(tmp_path, agent)
    installed(at_home, file)
    run = attempted(at_home, contract, file, dialect, "--script", script, model=model)
    requests = requests_of(at_home, agents_home, run)
    missing = [
        name for name, sign in SIGNS.items() if name in find_adapter(agent).options and not sign.search(requests)
    ]
    assert not missing


def test_aider_finds_a_file_that_nothing_names(
    at_home: Proctor, agents_home: Path, tmp_path: Path, contract: Path
) -> None:
    """The task does not name the file, so aider's model has only the map of the repository to find it by."""
    installed(at_home, "aider")
    request = AgentRequest("aider", model="gpt-4o", dialects=("chat",), installations=agents_home / "agents")
    agent = make_agent(request)
    finding = {
        "schema": 1,
        "find": {"search": "return a - b", "edit": r"return a - b", "replacement": "return a + b"},
    }
    with staged(tmp_path, contract, agent, finding) as (stage, events):
        ending = agent.act(stage.scene("The sum of two numbers is wrong. Mend it."))
        assert ending.reason == "finished"
        assert stage.read("calc.py") == "def add(a, b):\n    return a + b\n"
        listed = shell(stage.box, "ls -A").stdout.prefix.decode().split()
    assert sorted(listed) == [".git", "calc.py", "docs"]
    assert sum(1 for type_, _ in events if type_ == "model.request") == 2
