"""pi: a small agent that speaks three dialects, chosen by its list of models."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

SETTINGS = ".pi/agent/models.json"
INTERFACES = {"chat": "openai-completions", "anthropic": "anthropic-messages", "responses": "openai-responses"}


def _launch(order: Order) -> Launch:
    address = order.model.address if order.dialect == "anthropic" else f"{order.model.address}/v1"
    provider = {
        "baseUrl": address,
        "api": INTERFACES[order.dialect],
        "apiKey": order.model.key,
        "models": [{"id": order.model.name, "contextWindow": 200_000, "maxTokens": 8192}],
    }
    arguments = ("--provider", "proctor", "--model", order.model.name, "--mode", "json", "-p", order.task)
    return Launch(
        node_program("@mariozechner/pi-coding-agent/dist/cli.js", *arguments),
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
        {SETTINGS: json.dumps({"providers": {"proctor": provider}})},
    )


ADAPTER = Adapter(
    name="pi",
    words="a minimal agent for the terminal",
    recipe=Recipe("npm", ("@mariozechner/pi-coding-agent@0.73.1",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".pi/agent/sessions/*/*.jsonl",),
    launch=_launch,
)
