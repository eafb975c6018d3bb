"""Options of agents in the settings, flags and variables that each adapter makes of them. Nothing is started here."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.adapter_registry import NAMES, find_adapter
from proctor.execute.agents.adapters.interface import Adapter, Launch, Order
from proctor.execute.agents.interface import ModelAccess
from proctor.execute.agents.options import SPECIAL, AgentOptions, McpServer

MODEL = ModelAccess("http://127.0.0.1:8080", "the-model", "the-key")
RULES = 'Say "hello" to {{ nobody }}.\n{% endraw %} \\ é 🦉'
SERVER = McpServer("clock", ("/opt/mcp/clock/bin/python", "-m", "clock", "--zone=UTC"), {"CLOCK": "a b"})
VALUES: dict[str, Any] = {
    "effort": "high",
    "temperature": "0.3",
    "small_model": "the-small-model",
    "rules": RULES,
    "skills": ("lanterns", "bridges"),
    "mcp": (SERVER,),
}
SIGNS = {
    "effort": ("high", "HIGH"),
    "temperature": ("0.3",),
    "small_model": ("the-small-model",),
    "rules": ("nobody",),
    "skills": ("/opt/skills",),
    "mcp": ("/opt/mcp/clock/bin/python",),
}
"""A part of what an option must put into a launch."""

ADAPTERS = [find_adapter(name) for name in NAMES]


def launched(adapter: Adapter, options: AgentOptions, dialect: str = "") -> Launch:
    return adapter.launch(Order("Mend it.", MODEL, dialect or adapter.dialects[0], options))


def said(launch: Launch) -> str:
    parts = [*launch.arguments, *launch.environment.values(), *launch.files.values(), *launch.links.values()]
    return "\n".join(parts)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_every_option_that_an_adapter_has_reaches_its_launch_and_no_other_does(adapter: Adapter) -> None:
    assert adapter.options <= set(SPECIAL)
    for dialect in adapter.dialects:
        plain = said(launched(adapter, AgentOptions(), dialect))
        for name in SPECIAL:
            text = said(launched(adapter, AgentOptions(**{name: VALUES[name]}), dialect))
            assert not any(sign in plain for sign in SIGNS[name])
            assert any(sign in text for sign in SIGNS[name]) == (name in adapter.options), name


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_arguments_of_the_user_do_not_come_between_a_flag_and_the_task(adapter: Adapter) -> None:
    launch = launched(adapter, AgentOptions())
    rest = launch.arguments[len(launch.arguments) - launch.extra :]
    assert rest[-1:] == ("Mend it.",)
    assert len(rest) == 1 or rest[0].startswith("-")
    for acp in [adapter.acp] if adapter.acp else []:
        assert acp(Order("", MODEL, adapter.dialects[0])).extra == 0


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_settings_stay_of_the_form_that_the_agent_reads(adapter: Adapter) -> None:
    values = {name: VALUES[name] for name in adapter.options}
    launch = launched(adapter, AgentOptions(**values))
    for path, text in launch.files.items():
        if path.endswith(".json") and text:
            json.loads(text)
        elif path.endswith(".toml"):
            tomllib.loads(text)
        elif path.endswith(".yaml"):
            yaml.safe_load(text)
    assert all(not path.startswith("/") for path in launch.links)


def test_a_server_keeps_its_arguments_and_variables() -> None:
    only = AgentOptions(mcp=(SERVER,))
    codex = tomllib.loads(launched(find_adapter("codex"), only).files[".codex/config.toml"])
    assert codex["mcp_servers"]["clock"] == {
        "command": SERVER.command[0],
        "args": list(SERVER.command[1:]),
        "env": {"CLOCK": "a b"},
    }
    opencode = json.loads(launched(find_adapter("opencode"), only).files[".config/opencode/opencode.json"])
    assert opencode["mcp"]["clock"]["command"] == list(SERVER.command)
    assert opencode["mcp"]["clock"]["environment"] == {"CLOCK": "a b"}


@pytest.mark.parametrize(
    ("agent", "dialect", "model", "effort"),
    [
        ("cline", "chat", "m", "minimal"),
        ("claude-code", "anthropic", "m", "minimal"),
        ("goose", "chat", "m", "minimal"),
        ("vibe", "chat", "m", "minimal"),
        ("opencode", "anthropic", "m", "minimal"),
        ("kilocode", "anthropic", "m", "minimal"),
        ("gemini-cli", "gemini", "gemini-2.5-pro", "low"),
    ],
)
def test_an_effort_that_an_agent_does_not_have_is_refused(agent: str, dialect: str, model: str, effort: str) -> None:
    adapter = find_adapter(agent)
    order = Order("Mend it.", ModelAccess("", model), dialect, AgentOptions(effort=effort))
    with pytest.raises(UsageFault, match="has no effort"):
        adapter.launch(order)


def test_codex_keeps_its_own_retries() -> None:
    text = launched(find_adapter("codex"), AgentOptions()).files[".codex/config.toml"]
    assert "retries" not in text


def test_pi_keeps_its_own_limits() -> None:
    text = launched(find_adapter("pi"), AgentOptions()).files[".pi/agent/models.json"]
    assert "maxTokens" not in text and "contextWindow" not in text
