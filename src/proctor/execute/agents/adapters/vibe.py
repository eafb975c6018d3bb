"""vibe: the command line of Mistral's agent. Needs Python 3.12. A program of its own starts the Python part."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    EFFORTS,
    PLACE,
    PYTHON,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    python_program,
    rules_file,
    skill_links,
)

PROGRAM = f"{PLACE}/lib/python3.12/site-packages/vibe/_bin/vibe-rs"
SETTINGS = ".vibe/config.toml"
SKILLS = ".vibe/skills"
RULES = ".vibe/AGENTS.md"
SERVER = ".vibe/server.py"
"""The Python part is a function of a module that cannot be started as a program."""
KEY = "PROCTOR_MODEL_KEY"
STYLES = {"chat": "openai", "anthropic": "anthropic", "responses": "openai-responses"}


def _settings(order: Order) -> str:
    """TOML, whose basic strings are spelled as JSON's."""
    address = order.model.address if order.dialect == "anthropic" else f"{order.model.address}/v1"
    name = json.dumps(order.model.name)
    effort = checked_effort("vibe", order.options, EFFORTS)
    thinking = f'thinking = "{effort}"\n' if effort else ""
    temperature = f"temperature = {float(order.options.temperature)}\n" if order.options.temperature else ""
    return f"""\
active_model = {name}
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
enable_notifications = false

[[providers]]
name = "proctor"
api_base = {json.dumps(address)}
api_key_env_var = "{KEY}"
api_style = "{STYLES[order.dialect]}"
backend = "generic"

[[models]]
name = {name}
provider = "proctor"
alias = {name}
{thinking}{temperature}"""


def _started(order: Order, arguments: tuple[str, ...], extra: int = 0) -> Launch:
    return Launch(
        arguments,
        {
            KEY: order.model.key,
            "VIBE_HOME": f"{order.home}/.vibe",
            "VIBE_APP_SERVER_CMD": f"{PYTHON} -I {order.home}/{SERVER}",
            "LD_LIBRARY_PATH": f"{PLACE}/python/lib",
        },
        {
            SETTINGS: _settings(order),
            SERVER: "from vibe.app_server.stdio import main\n\nmain()\n",
            **rules_file(order.options, RULES),
        },
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    flags = ("--trust", "--auto-approve", "--output", "streaming")
    return _started(order, (PROGRAM, *flags, "-p", order.task), extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, python_program("vibe.acp.entrypoint"))


ADAPTER = Adapter(
    name="vibe",
    description="the command line of Mistral's coding agent",
    recipe=Recipe("pypi", ("mistral-vibe==3.0.2",), python="3.12"),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".vibe/logs/*",),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "temperature", "rules", "skills"}),
)
