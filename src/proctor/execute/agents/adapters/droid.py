"""droid: the command line of Factory's agent, without an account and with a model of one's own."""

from __future__ import annotations

import json
from typing import Any

from proctor.execute.agents.adapters.interface import (
    EFFORTS,
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    mcp_servers,
    processor,
    rules_file,
    skill_links,
)

SETTINGS = ".factory/settings.json"
SERVERS = ".factory/mcp.json"
SKILLS = ".factory/skills"
RULES = ".factory/AGENTS.md"
MODEL = "custom:proctor-0"
PROVIDERS = {"chat": "generic-chat-completion-api", "responses": "openai", "anthropic": "anthropic"}


def _settings(order: Order) -> dict[str, Any]:
    model = order.model
    custom: dict[str, Any] = {
        "id": MODEL,
        "index": 0,
        "displayName": model.name,
        "model": model.name,
        "provider": PROVIDERS[order.dialect],
        "baseUrl": model.address if order.dialect == "anthropic" else f"{model.address}/v1",
        "apiKey": model.key,
    }
    if order.options.temperature:
        custom["extraArgs"] = {"temperature": float(order.options.temperature)}
    own = {"cloudSessionSync": False, "includeCoAuthoredByDroid": False}
    waits = {"blockOnMcpLoad": True} if order.options.mcp else {}  # else the first requests go without their tools
    return {"customModels": [custom], **own, **waits}


def _started(order: Order, *arguments: str, extra: int = 0) -> Launch:
    options = order.options
    effort = checked_effort("droid", options, EFFORTS)
    servers = {name: {"type": "stdio", **one} for name, one in mcp_servers(options).items()}
    own = ("--model", MODEL, *(("--reasoning-effort", effort) if effort else ()))
    return Launch(
        (f"{MODULES}/@factory/cli-linux-{processor()}/bin/droid", "exec", *own, *arguments),
        {
            "FACTORY_AIRGAP_ENABLED": "true",
            "FACTORY_DISABLE_KEYRING": "true",
            "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
            "FACTORY_OTEL_ENABLED": "false",
        },
        {
            SETTINGS: json.dumps(_settings(order)),
            **rules_file(options, RULES),
            **({SERVERS: json.dumps({"mcpServers": servers})} if servers else {}),
        },
        links=skill_links(options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    return _started(order, "--skip-permissions-unsafe", "--output-format", "stream-json", order.task, extra=1)


def _acp(order: Order) -> Launch:
    return _started(order, "--output-format", "acp")


ADAPTER = Adapter(
    name="droid",
    description="the command line of Factory's coding agent",
    recipe=Recipe("npm", ("droid@0.215.0",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".factory/sessions/*/*.jsonl",),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "temperature", "rules", "skills", "mcp"}),
)
