"""gemini-cli: speaks Gemini. It exits with a code of its own making, whatever the model said."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

SETTINGS = ".gemini/settings.json"


def _started(order: Order, *arguments: str) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    }
    return Launch(
        node_program("@google/gemini-cli/bundle/gemini.js", "-m", order.model.name, *arguments),
        {
            "GOOGLE_GEMINI_BASE_URL": order.model.address,
            "GEMINI_API_KEY": order.model.key,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        {SETTINGS: json.dumps(settings)},
    )


def _launch(order: Order) -> Launch:
    return _started(order, "--yolo", "--output-format", "json", "-p", order.task)


def _acp(order: Order) -> Launch:
    return _started(order, "--acp")


ADAPTER = Adapter(
    name="gemini-cli",
    words="the command line of Google's coding agent",
    recipe=Recipe("npm", ("@google/gemini-cli@0.61.0",)),
    dialects=("gemini",),
    trajectory=(".gemini/tmp/*/chats/*",),
    launch=_launch,
    acp=_acp,
)
