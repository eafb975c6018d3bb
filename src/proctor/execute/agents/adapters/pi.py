"""pi: a small agent that speaks three dialects, chosen by its list of models."""

from __future__ import annotations

import json
from typing import Any

from proctor.execute.agents.adapters.interface import (
    Adapter,
    Launch,
    Order,
    Recipe,
    node_program,
    rules_file,
    skill_links,
)

SETTINGS = ".pi/agent/models.json"
RULES = ".pi/agent/AGENTS.md"
SKILLS = ".pi/agent/skills"
INTERFACES = {"chat": "openai-completions", "anthropic": "anthropic-messages", "responses": "openai-responses"}


def _launch(order: Order) -> Launch:
    address = order.model.address if order.dialect == "anthropic" else f"{order.model.address}/v1"
    effort = order.options.effort
    model: dict[str, Any] = {"id": order.model.name, **({"reasoning": True} if effort else {})}
    provider = {
        "baseUrl": address,
        "api": INTERFACES[order.dialect],
        "apiKey": order.model.key,
        "models": [model],
    }
    thinking = ("--thinking", effort) if effort else ()
    arguments = ("--provider", "proctor", "--model", order.model.name, *thinking, "--mode", "json", "-p", order.task)
    return Launch(
        node_program("@earendil-works/pi-coding-agent/dist/bundle/cli.js", *arguments),
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
        {SETTINGS: json.dumps({"providers": {"proctor": provider}}), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=1,
    )


ADAPTER = Adapter(
    name="pi",
    description="a minimal agent for the terminal",
    recipe=Recipe("npm", ("@earendil-works/pi-coding-agent@0.87.1",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".pi/agent/sessions/*/*.jsonl",),
    launch=_launch,
    options=frozenset({"effort", "rules", "skills"}),
)
