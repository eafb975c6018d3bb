"""mini-swe-agent: a shell and a loop. It ends when a command prints the marker that its own prompt names."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, python_program

SETTINGS = ".config/mini-swe-agent/proctor.yaml"
TRAJECTORY = ".local/share/mini-swe-agent/trajectory.json"

PROVIDERS = {"chat": "openai", "anthropic": "anthropic", "responses": "openai"}


def _launch(order: Order) -> Launch:
    address = order.model.address if order.dialect == "anthropic" else f"{order.model.address}/v1"
    model = {
        "model_name": f"{PROVIDERS[order.dialect]}/{order.model.name}",
        "cost_tracking": "ignore_errors",
        "model_kwargs": {"api_base": address, "api_key": order.model.key},
        **({"model_class": "litellm_response"} if order.dialect == "responses" else {}),
    }
    settings = {"model": model, "environment": {"cwd": order.workspace}}
    path = f"{order.home}/{SETTINGS}"
    notes = f"{order.home}/{TRAJECTORY}"
    return Launch(
        python_program(
            "minisweagent.run.mini",
            *("-y", "--exit-immediately", "-c", "mini.yaml", "-c", path, "-o", notes, "-t", order.task),
        ),
        {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        {SETTINGS: json.dumps(settings), TRAJECTORY: ""},
    )


ADAPTER = Adapter(
    name="mini-swe-agent",
    words="a shell and a loop, by the authors of SWE-bench",
    recipe=Recipe("pypi", ("mini-swe-agent==2.4.6", "mcp==2.3.0")),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(TRAJECTORY,),
    launch=_launch,
)
