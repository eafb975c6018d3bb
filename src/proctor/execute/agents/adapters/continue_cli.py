"""continue: the command line ``cn``. It chooses Chat Completions or Responses by the model's name."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

SETTINGS = ".continue/proctor.yaml"


def _launch(order: Order) -> Launch:
    model = {
        "name": order.model.name,
        "provider": "openai",
        "model": order.model.name,
        "apiBase": f"{order.model.address}/v1",
        "apiKey": order.model.key,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    settings = {"name": "proctor", "version": "1.0.0", "schema": "v1", "models": [model]}
    path = f"{order.home}/{SETTINGS}"
    return Launch(
        node_program("@continuedev/cli/dist/cn.js", "-p", "--auto", "--config", path, order.task),
        {"CONTINUE_CLI_ENABLE_TELEMETRY": "0", "CONTINUE_METRICS_ENABLED": "0"},
        {SETTINGS: json.dumps(settings)},
    )


ADAPTER = Adapter(
    name="continue",
    words="the command line of the editor's agent",
    recipe=Recipe("npm", ("@continuedev/cli@1.5.47",)),
    dialects=("chat", "responses"),
    trajectory=(".continue/sessions/*.json", ".continue/logs/*"),
    launch=_launch,
)
