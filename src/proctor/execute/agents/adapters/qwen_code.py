"""qwen-code: speaks Chat Completions. It exits with 0 even when the model refuses it."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

SETTINGS = ".qwen/settings.json"
QUIET = {
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
}


def _started(order: Order, *arguments: str) -> Launch:
    return Launch(
        node_program("@qwen-code/qwen-code/cli-entry.js", "--auth-type", "openai", *arguments),
        {
            "OPENAI_BASE_URL": f"{order.model.address}/v1",
            "OPENAI_API_KEY": order.model.key,
            "OPENAI_MODEL": order.model.name,
        },
        {SETTINGS: json.dumps(QUIET)},
    )


def _launch(order: Order) -> Launch:
    return _started(order, "--yolo", "--output-format", "json", "-p", order.task)


def _acp(order: Order) -> Launch:
    return _started(order, "--acp")


ADAPTER = Adapter(
    name="qwen-code",
    words="the command line of Qwen's coding agent",
    recipe=Recipe("npm", ("@qwen-code/qwen-code@0.24.4",)),
    dialects=("chat",),
    trajectory=(".qwen/projects/*/chats/*.jsonl",),
    launch=_launch,
    acp=_acp,
)
