"""codex: speaks Responses only. Its own sandbox and its questions are switched off, because it runs in a sandbox."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    Adapter,
    Launch,
    Order,
    Recipe,
    mcp_servers,
    node_program,
    rules_file,
    skill_links,
)

SETTINGS = ".codex/config.toml"
RULES = ".codex/AGENTS.md"
SKILLS = ".codex/skills"
KEY = "PROCTOR_MODEL_KEY"


def _settings(order: Order) -> str:
    """TOML, whose basic strings are spelled as JSON's."""
    effort = f"model_reasoning_effort = {json.dumps(order.options.effort)}\n" if order.options.effort else ""
    return f"""\
model = {json.dumps(order.model.name)}
model_provider = "proctor"
{effort}approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.proctor]
name = "proctor"
base_url = {json.dumps(order.model.address + "/v1")}
env_key = "{KEY}"
wire_api = "responses"

[analytics]
enabled = false
{_servers(order)}"""


def _servers(order: Order) -> str:
    tables = []
    for name, server in mcp_servers(order.options).items():
        lines = [f"\n[mcp_servers.{json.dumps(name)}]", f"command = {json.dumps(server['command'])}"]
        lines.append(f"args = {json.dumps(server['args'])}")
        if "env" in server:
            pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in server["env"].items())
            lines.append(f"env = {{ {', '.join(pairs)} }}")
        tables.append("\n".join(lines) + "\n")
    return "".join(tables)


def _launch(order: Order) -> Launch:
    flags = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(
        node_program("@openai/codex/bin/codex.js", "exec", *flags, order.task),
        {"CODEX_HOME": f"{order.home}/.codex", KEY: order.model.key},
        {SETTINGS: _settings(order), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=1,
    )


ADAPTER = Adapter(
    name="codex",
    description="the command line of OpenAI's coding agent",
    recipe=Recipe("npm", ("@openai/codex@0.166.0",)),
    dialects=("responses",),
    trajectory=(".codex/sessions/*/*/*/rollout-*.jsonl",),
    launch=_launch,
    options=frozenset({"effort", "rules", "skills", "mcp"}),
)
