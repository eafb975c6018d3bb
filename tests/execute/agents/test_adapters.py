"""Adapters: what each starts, and that one command line holds all of it. Nothing is installed or started here."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.adapter_registry import NAMES, find_adapter
from proctor.execute.agents.adapters.interface import MODULES, Adapter, Launch, Order
from proctor.execute.agents.installed_agent import ARGUMENT_BYTES, command_line, model_of, task_text
from proctor.execute.agents.interface import BRIEFING, DIALECTS, AgentRequest, ModelAccess
from proctor.execute.agents.registry import make_agent

MODEL = ModelAccess("http://127.0.0.1:8080", "the-model", "the-key")
ADAPTERS = [find_adapter(name) for name in NAMES]


def order(adapter: Adapter, dialect: str = "", task: str = "Mend it.") -> Order:
    return Order(task, MODEL, dialect or adapter.dialects[0])


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_every_adapter_is_complete(adapter: Adapter) -> None:
    assert adapter.description and adapter.trajectory
    assert set(adapter.dialects) <= set(DIALECTS)
    separator = {"npm": "@", "pypi": "=="}[adapter.recipe.registry]
    for package in adapter.recipe.packages:
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", package.rpartition(separator)[2]), f"{package} is not pinned"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_every_adapter_leads_to_the_gateway_in_every_dialect(adapter: Adapter) -> None:
    for dialect in adapter.dialects:
        launch = adapter.launch(order(adapter, dialect))
        said = [*launch.arguments, *launch.environment.values(), *launch.files.values(), *sum(launch.first, ())]
        assert any(MODEL.address in text for text in said), dialect
        assert any(MODEL.name in text for text in said), dialect
        assert "Mend it." in launch.arguments
        assert launch.arguments[0].startswith("/opt/")
        assert all(not path.startswith("/") and ".." not in path.split("/") for path in launch.files)


@pytest.mark.parametrize("name", ["opencode", "gemini-cli", "qwen-code"])
def test_a_server_of_the_protocol_is_not_given_the_task(name: str) -> None:
    adapter = find_adapter(name)
    assert adapter.acp is not None
    assert "Mend it." not in adapter.acp(order(adapter)).arguments


def test_settings_are_of_the_form_that_the_agent_reads() -> None:
    codex = tomllib.loads(find_adapter("codex").launch(order(find_adapter("codex"))).files[".codex/config.toml"])
    assert codex["model_providers"]["proctor"]["base_url"] == "http://127.0.0.1:8080/v1"
    assert codex["model_providers"]["proctor"]["wire_api"] == "responses"
    (mini,) = (text for text in find_adapter("mini-swe-agent").launch(order(find_adapter("pi"))).files.values() if text)
    assert yaml.safe_load(mini)["model"]["model_name"] == "openai/the-model"
    pi = json.loads(find_adapter("pi").launch(order(find_adapter("pi"), "anthropic")).files[".pi/agent/models.json"])
    assert pi["providers"]["proctor"]["baseUrl"] == "http://127.0.0.1:8080"
    assert pi["providers"]["proctor"]["api"] == "anthropic-messages"


def test_claude_code_is_started_without_questions_and_without_traffic_of_its_own() -> None:
    launch = find_adapter("claude-code").launch(order(find_adapter("claude-code")))
    assert re.fullmatch(f"{MODULES}/@anthropic-ai/claude-code-linux-(x64|arm64)/claude", launch.arguments[0])
    assert launch.arguments[-2:] == ("-p", "Mend it.")
    assert "--dangerously-skip-permissions" in launch.arguments
    assert launch.environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8080"
    assert launch.environment["ANTHROPIC_API_KEY"] == "the-key"
    assert launch.environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert json.loads(launch.files[".claude/settings.json"])["permissions"]["deny"] == ["WebFetch", "WebSearch"]


def test_one_command_writes_the_settings_and_becomes_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.execute.agents.installed_agent.HOME", str(tmp_path / "home"))
    hostile = 'it\'s "$HOME" `id` \\ %s \n end'
    launch = Launch(
        ("/bin/sh", "-c", 'cat "$1"; printf %s "$2"', "sh", f"{tmp_path}/home/a b/c.txt", hostile),
        files={"a b/c.txt": hostile},
        first=(("/bin/sh", "-c", f"echo before; echo 1 > {tmp_path}/first"),),
    )
    done = subprocess.run(command_line(launch), capture_output=True, text=True, check=True)
    assert done.stdout == hostile + hostile
    assert (tmp_path / "first").read_text() == "1\n"
    assert done.stderr == "before\n"


def test_a_command_beforehand_that_fails_ends_it_all() -> None:
    launch = Launch(("/bin/echo", "started"), first=(("/bin/false",),))
    done = subprocess.run(command_line(launch), capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout == ""


def test_a_task_too_long_for_an_argument_stays_a_file() -> None:
    assert task_text("short") == "short"
    assert BRIEFING in task_text("é" * ARGUMENT_BYTES)


def test_the_first_dialect_that_both_know_is_spoken() -> None:
    pi = find_adapter("pi")
    assert model_of(pi, AgentRequest("pi", model="m", dialects=("responses", "anthropic"))) == ("m", "anthropic")
    with pytest.raises(UsageFault, match="does not speak gemini"):
        model_of(pi, AgentRequest("pi", model="m", dialects=("gemini",)))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (AgentRequest("codex", "argument"), "neither an argument nor files"),
        (AgentRequest("codex", model="m", dialects=DIALECTS), "cannot be used here"),
        (AgentRequest("codex", model="m", dialects=DIALECTS, installations=Path("/nowhere")), "is not installed"),
        (AgentRequest("endpoint", model="m"), "needs a command line"),
        (AgentRequest("endpoint", "true"), "needs a model"),
        (AgentRequest("builtin"), "needs a model"),
        (AgentRequest("builtin", model="m"), "speaks none of the agent's dialects"),
        (AgentRequest("builtin", "x", model="m"), "cannot be given 'x'"),
        (AgentRequest("builtin", "steps=1,steps=2", model="m"), "cannot be given 'steps=2'"),
        (AgentRequest("builtin", "steps=0", model="m"), "steps must be a whole number"),
        (AgentRequest("builtin", "seconds=1.5", model="m"), "seconds must be a whole number"),
        (AgentRequest("builtin", files=Path("/nowhere"), model="m"), "does not take files"),
        (AgentRequest("acp"), "needs a command line"),
        (AgentRequest("acp", "unclosed '"), "cannot be read"),
        (AgentRequest("acp", "codex", model="m", dialects=DIALECTS), "does not speak the Agent Client Protocol"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_message(request_: AgentRequest, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        make_agent(request_)


COLUMNS = ("effort", "temperature", "small_model", "rules", "skills", "mcp")


def test_the_documentation_lists_the_options_of_every_agent(project: Path) -> None:
    text = (project / "docs" / "agents.md").read_text()
    for name in NAMES:
        options = find_adapter(name).options
        cells = " | ".join("yes" if column in options else "" for column in COLUMNS)
        assert f"\n| `{name}` | {cells} |\n" in text, name
