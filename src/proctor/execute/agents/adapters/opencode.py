"""opencode: speaks three dialects. Its program comes as a package for each platform."""

from __future__ import annotations

import json
from typing import Any

from proctor.execute.agents.adapters.interface import (
    ALL,
    EFFORTS,
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    processor,
    rules_file,
    skill_links,
)

SETTINGS = ".config/opencode/opencode.json"
RULES = ".config/opencode/AGENTS.md"
SKILLS = ".config/opencode/skills"
PROVIDERS = {"chat": "@ai-sdk/openai-compatible", "anthropic": "@ai-sdk/anthropic", "responses": "@ai-sdk/openai"}
PACKAGES = {"x64": "opencode-linux-x64-baseline", "arm64": "opencode-linux-arm64"}


def settings(order: Order, permission: dict[str, str], agent: str = "build") -> dict[str, Any]:
    """The settings of opencode and of agents built on it; ``agent`` is the name of the main agent."""
    options = order.options
    model: dict[str, Any] = {"tool_call": True}
    if options.effort:
        anthropic = order.dialect == "anthropic"
        effort = checked_effort("the dialect anthropic", options, EFFORTS) if anthropic else options.effort
        model |= {"reasoning": True, "options": {"effort" if anthropic else "reasoningEffort": effort}}
    if options.temperature:
        model["temperature"] = True
    small = options.small_model or order.model.name
    provider = {
        "npm": PROVIDERS[order.dialect],
        "options": {"baseURL": f"{order.model.address}/v1", "apiKey": order.model.key},
        "models": {small: {"tool_call": True}, order.model.name: model},
    }
    servers = {
        server.name: {
            "type": "local",
            "command": list(server.command),
            "environment": dict(server.environment),
            "enabled": True,
        }
        for server in options.mcp
    }
    return {
        "provider": {"proctor": provider},
        "model": f"proctor/{order.model.name}",
        "small_model": f"proctor/{small}",
        "permission": permission,
        "share": "disabled",
        "autoupdate": False,
        **({"agent": {agent: {"temperature": float(options.temperature)}}} if options.temperature else {}),
        **({"mcp": servers} if servers else {}),
    }


def _started(order: Order, permission: dict[str, str], *arguments: str, extra: int = 0) -> Launch:
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return Launch(
        (f"{MODULES}/{PACKAGES[processor()]}/bin/opencode", *arguments),
        {"OPENCODE_CONFIG": f"{order.home}/{SETTINGS}", **{f"OPENCODE_DISABLE_{name}": "1" for name in off}},
        {SETTINGS: json.dumps(settings(order, permission)), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    permission = {"edit": "allow", "bash": "allow", "webfetch": "deny"}
    model = f"proctor/{order.model.name}"
    return _started(order, permission, "run", "--format", "json", "-m", model, order.task, extra=1)


def _acp(order: Order) -> Launch:
    return _started(order, {"edit": "ask", "bash": "ask", "webfetch": "deny"}, "acp")


ADAPTER = Adapter(
    name="opencode",
    description="an open agent for the terminal",
    recipe=Recipe("npm", ("opencode-ai@1.18.33",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".local/share/opencode/opencode.db*", ".local/share/opencode/log/*"),
    launch=_launch,
    acp=_acp,
    options=ALL,
)
