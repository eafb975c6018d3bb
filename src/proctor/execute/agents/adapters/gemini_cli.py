"""gemini-cli: speaks Gemini. Its exit code does not depend on the model's answers."""

from __future__ import annotations

import json
from typing import Any

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import (
    Adapter,
    Launch,
    Order,
    Recipe,
    mcp_servers,
    node_program,
    rules_file,
    skill_links,
)
from proctor.execute.agents.options import AgentOptions

SETTINGS = ".gemini/settings.json"
RULES = ".gemini/GEMINI.md"
SKILLS = ".gemini/skills"
OLD = ("gemini-1", "gemini-2")
"""Models that have a budget for thinking and no level of it."""


def _started(order: Order, *arguments: str, extra: int = 0) -> Launch:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
        **_chosen(order.model.name, order.options),
    }
    if order.options.mcp:
        settings["mcpServers"] = mcp_servers(order.options)
    return Launch(
        node_program("@google/gemini-cli/bundle/gemini.js", "-m", order.model.name, *arguments),
        {
            "GOOGLE_GEMINI_BASE_URL": order.model.address,
            "GEMINI_API_KEY": order.model.key,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        {SETTINGS: json.dumps(settings), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _chosen(model: str, options: AgentOptions) -> dict[str, Any]:
    """Effort and temperature: settings of the model, for the agent's own requests and not those of its sub-agents."""
    chosen: dict[str, Any] = {"temperature": float(options.temperature)} if options.temperature else {}
    if options.effort and model.startswith(OLD):
        raise UsageFault(f"{model} has no effort", hint="models have one from Gemini 3 on; leave out --effort")
    if options.effort:
        chosen["thinkingConfig"] = {"thinkingLevel": options.effort.upper()}
    if not chosen:
        return {}
    return {
        "modelConfigs": {
            "customOverrides": [{"match": {"overrideScope": "core"}, "modelConfig": {"generateContentConfig": chosen}}]
        }
    }


def _launch(order: Order) -> Launch:
    return _started(order, "--yolo", "--output-format", "json", "-p", order.task, extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, "--acp")


ADAPTER = Adapter(
    name="gemini-cli",
    description="the command line of Google's coding agent",
    recipe=Recipe("npm", ("@google/gemini-cli@0.61.0",)),
    dialects=("gemini",),
    trajectory=(".gemini/tmp/*/chats/*",),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "temperature", "rules", "skills", "mcp"}),
)
