"""goose: speaks all four dialects. Its program comes as a package for each platform; its questions are switched off."""

from __future__ import annotations

import json
import os
from typing import Any

from proctor.execute.agents.adapters.interface import (
    EFFORTS,
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    rules_file,
    skill_links,
)

SETTINGS = ".config/goose/config.yaml"
RULES = ".config/goose/.goosehints"
SKILLS = ".config/goose/skills"
PACKAGE = f"@aaif/goose-binary-linux-{ {'aarch64': 'arm64'}.get(os.uname().machine, 'x64') }"
PROVIDERS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "google"}


def _variables(order: Order) -> dict[str, str]:
    address, key = order.model.address, order.model.key
    effort = checked_effort("goose", order.options, EFFORTS)
    return {
        "OPENAI_HOST": address,
        "OPENAI_BASE_PATH": "v1/responses" if order.dialect == "responses" else "v1/chat/completions",
        "OPENAI_API_KEY": key,
        "ANTHROPIC_HOST": address,
        "ANTHROPIC_API_KEY": key,
        "GOOGLE_HOST": address,
        "GOOGLE_API_KEY": key,
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "GOOSE_TELEMETRY_OFF": "1",
        **({"GOOSE_THINKING_EFFORT": effort} if effort else {}),
    }


def _started(order: Order, mode: str, *arguments: str, extra: int = 0) -> Launch:
    servers: dict[str, Any] = {
        server.name: {
            "enabled": True,
            "type": "stdio",
            "name": server.name,
            "description": server.name,
            "cmd": server.command[0],
            "args": list(server.command[1:]),
            "envs": dict(server.environment),
            "timeout": 300,
        }
        for server in order.options.mcp
    }
    developer = {"enabled": True, "type": "platform", "name": "developer", "description": "files and commands"}
    settings = {
        "GOOSE_PROVIDER": PROVIDERS[order.dialect],
        "GOOSE_MODEL": order.model.name,
        "GOOSE_MODE": mode,
        "extensions": {"developer": developer, **servers},
    }
    return Launch(
        (f"{MODULES}/{PACKAGE}/bin/goose", *arguments),
        _variables(order),
        {SETTINGS: json.dumps(settings), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    return _started(order, "auto", "run", "--output-format", "stream-json", "-t", order.task, extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, "approve", "acp")


ADAPTER = Adapter(
    name="goose",
    description="an open agent of the Agentic AI Foundation",
    recipe=Recipe("npm", (f"{PACKAGE}@1.52.0",)),
    dialects=("chat", "anthropic", "responses", "gemini"),
    trajectory=(".local/share/goose/sessions/*", ".local/state/goose/logs/*/*/*"),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "rules", "skills", "mcp"}),
)
