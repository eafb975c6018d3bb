"""qwen-code: speaks Chat Completions. It exits with 0 even when the model refuses it."""

from __future__ import annotations

import json
from typing import Any

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

SETTINGS = ".qwen/settings.json"
RULES = ".qwen/QWEN.md"
SKILLS = ".qwen/skills"
QUIET = {
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
}


def _settings(order: Order) -> dict[str, Any]:
    options = order.options
    sampling: dict[str, Any] = {"reasoning_effort": options.effort} if options.effort else {}
    if options.temperature:
        sampling["temperature"] = float(options.temperature)
    return {
        **QUIET,
        **({"model": {"generationConfig": {"samplingParams": sampling}}} if sampling else {}),
        **({"fastModel": options.small_model} if options.small_model else {}),
        **({"mcpServers": mcp_servers(options)} if options.mcp else {}),
    }


def _started(order: Order, *arguments: str, extra: int = 0) -> Launch:
    return Launch(
        node_program("@qwen-code/qwen-code/cli-entry.js", "--auth-type", "openai", *arguments),
        {
            "OPENAI_BASE_URL": f"{order.model.address}/v1",
            "OPENAI_API_KEY": order.model.key,
            "OPENAI_MODEL": order.model.name,
        },
        {SETTINGS: json.dumps(_settings(order)), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    return _started(order, "--yolo", "--output-format", "json", "-p", order.task, extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, "--acp")


ADAPTER = Adapter(
    name="qwen-code",
    description="the command line of Qwen's coding agent",
    recipe=Recipe("npm", ("@qwen-code/qwen-code@0.24.4",)),
    dialects=("chat",),
    trajectory=(".qwen/projects/*/chats/*.jsonl",),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "temperature", "small_model", "rules", "skills", "mcp"}),
)
