"""continue: the command line ``cn``. It chooses Chat Completions or Responses by the model's name."""

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
    skills_link,
)

SETTINGS = ".continue/proctor.yaml"
SKILLS = ".continue/skills"


def _launch(order: Order) -> Launch:
    options = order.options
    model: dict[str, Any] = {
        "name": order.model.name,
        "provider": "openai",
        "model": order.model.name,
        "apiBase": f"{order.model.address}/v1",
        "apiKey": order.model.key,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    if options.temperature:
        model["defaultCompletionOptions"] = {"temperature": float(options.temperature)}
    settings: dict[str, Any] = {"name": "proctor", "version": "1.0.0", "schema": "v1", "models": [model]}
    if options.rules:
        settings["rules"] = [options.rules]
    if options.mcp:
        settings["mcpServers"] = [{"name": name, **server} for name, server in mcp_servers(options).items()]
    path = f"{order.home}/{SETTINGS}"
    return Launch(
        node_program("@continuedev/cli/dist/cn.js", "-p", "--auto", "--config", path, order.task),
        {"CONTINUE_CLI_ENABLE_TELEMETRY": "0", "CONTINUE_METRICS_ENABLED": "0"},
        {SETTINGS: json.dumps(settings)},
        links=skills_link(options, SKILLS),
        extra=1,
    )


ADAPTER = Adapter(
    name="continue",
    description="the command line of an agent for code editors",
    recipe=Recipe("npm", ("@continuedev/cli@1.5.47",)),
    dialects=("chat", "responses"),
    trajectory=(".continue/sessions/*.json", ".continue/logs/*"),
    launch=_launch,
    options=frozenset({"temperature", "rules", "skills", "mcp"}),
)
