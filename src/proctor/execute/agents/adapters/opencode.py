"""opencode: speaks three dialects. Its program comes as a package for each platform."""

from __future__ import annotations

import json
from typing import Any

from proctor.execute.agents.adapters.interface import MODULES, Adapter, Launch, Order, Recipe, processor

SETTINGS = ".config/opencode/opencode.json"
PROVIDERS = {"chat": "@ai-sdk/openai-compatible", "anthropic": "@ai-sdk/anthropic", "responses": "@ai-sdk/openai"}
PACKAGES = {"x64": "opencode-linux-x64-baseline", "arm64": "opencode-linux-arm64"}


def _settings(order: Order, permission: dict[str, str]) -> dict[str, Any]:
    provider = {
        "npm": PROVIDERS[order.dialect],
        "options": {"baseURL": f"{order.model.address}/v1", "apiKey": order.model.key},
        "models": {order.model.name: {"tool_call": True}},
    }
    return {
        "provider": {"proctor": provider},
        "model": f"proctor/{order.model.name}",
        "small_model": f"proctor/{order.model.name}",
        "permission": permission,
        "share": "disabled",
        "autoupdate": False,
    }


def _started(order: Order, permission: dict[str, str], *arguments: str) -> Launch:
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return Launch(
        (f"{MODULES}/{PACKAGES[processor()]}/bin/opencode", *arguments),
        {"OPENCODE_CONFIG": f"{order.home}/{SETTINGS}", **{f"OPENCODE_DISABLE_{name}": "1" for name in off}},
        {SETTINGS: json.dumps(_settings(order, permission))},
    )


def _launch(order: Order) -> Launch:
    permission = {"edit": "allow", "bash": "allow", "webfetch": "deny"}
    model = f"proctor/{order.model.name}"
    return _started(order, permission, "run", "--format", "json", "-m", model, order.task)


def _acp(order: Order) -> Launch:
    return _started(order, {"edit": "ask", "bash": "ask", "webfetch": "deny"}, "acp")


ADAPTER = Adapter(
    name="opencode",
    words="an open agent for the terminal",
    recipe=Recipe("npm", ("opencode-ai@1.18.33",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".local/share/opencode/opencode.db*", ".local/share/opencode/log/*"),
    launch=_launch,
    acp=_acp,
)
