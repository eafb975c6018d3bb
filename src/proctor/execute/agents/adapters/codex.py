"""codex: speaks Responses only. Its own sandbox and its questions are switched off; it is in a sandbox already."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

SETTINGS = ".codex/config.toml"
KEY = "PROCTOR_MODEL_KEY"


def _settings(order: Order) -> str:
    """TOML, whose basic strings are spelled as JSON's."""
    return f"""\
model = {json.dumps(order.model.name)}
model_provider = "proctor"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.proctor]
name = "proctor"
base_url = {json.dumps(order.model.address + "/v1")}
env_key = "{KEY}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""


def _launch(order: Order) -> Launch:
    flags = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(
        node_program("@openai/codex/bin/codex.js", "exec", *flags, order.task),
        {"CODEX_HOME": f"{order.home}/.codex", KEY: order.model.key},
        {SETTINGS: _settings(order)},
    )


ADAPTER = Adapter(
    name="codex",
    words="the command line of OpenAI's coding agent",
    recipe=Recipe("npm", ("@openai/codex@0.166.0",)),
    dialects=("responses",),
    trajectory=(".codex/sessions/*/*/*/rollout-*.jsonl",),
    launch=_launch,
)
