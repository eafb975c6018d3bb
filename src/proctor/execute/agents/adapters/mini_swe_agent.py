"""mini-swe-agent: a shell and a loop. It ends when a command prints the marker that its own prompt names."""

from __future__ import annotations

import json
from typing import Any

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, python_program

SETTINGS = ".config/mini-swe-agent/proctor.yaml"
TRAJECTORY = ".local/share/mini-swe-agent/trajectory.json"
SYSTEM = "You are a helpful assistant that can interact with a computer."
"""Its own system prompt, which rules are added to."""

PROVIDERS = {"chat": "openai", "anthropic": "anthropic", "responses": "openai"}


def _model(order: Order) -> dict[str, Any]:
    address = order.model.address if order.dialect == "anthropic" else f"{order.model.address}/v1"
    given: dict[str, Any] = {"api_base": address, "api_key": order.model.key}
    if order.options.temperature:
        given["temperature"] = float(order.options.temperature)
    if order.options.effort and order.dialect == "responses":
        given["extra_body"] = {"reasoning": {"effort": order.options.effort}}
    elif order.options.effort:
        # Without the second line it is dropped for models that the client library does not know.
        given |= {"reasoning_effort": order.options.effort, "allowed_openai_params": ["reasoning_effort"]}
    return {
        "model_name": f"{PROVIDERS[order.dialect]}/{order.model.name}",
        "cost_tracking": "ignore_errors",
        "model_kwargs": given,
        **({"model_class": "litellm_response"} if order.dialect == "responses" else {}),
    }


def _literal(text: str) -> str:
    """Text in a template of Jinja, as it is, whatever braces it has."""
    escaped = text.encode("unicode_escape").decode().replace('"', '\\"')
    return f'{{{{ "{escaped}" }}}}'


def _launch(order: Order) -> Launch:
    settings: dict[str, Any] = {"model": _model(order), "environment": {"cwd": order.workspace}}
    if order.options.rules:
        settings["agent"] = {"system_template": f"{SYSTEM}\n\n{_literal(order.options.rules)}\n"}
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
        extra=2,
    )


ADAPTER = Adapter(
    name="mini-swe-agent",
    description="a shell and a loop, by the authors of SWE-bench",
    recipe=Recipe("pypi", ("mini-swe-agent==2.4.6", "mcp==2.3.0")),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(TRAJECTORY,),
    launch=_launch,
    options=frozenset({"effort", "temperature", "rules"}),
)
