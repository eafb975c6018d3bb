"""kimi: the command line of Moonshot's agent. It speaks all four dialects."""

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

PLACE = ".kimi-code"
SETTINGS = f"{PLACE}/config.toml"
SERVERS = f"{PLACE}/mcp.json"
SKILLS = f"{PLACE}/skills"
RULES = f"{PLACE}/AGENTS.md"
PROVIDERS = {"chat": "openai", "anthropic": "anthropic", "responses": "openai_responses", "gemini": "google-genai"}


def _settings(order: Order) -> str:
    """TOML, whose basic strings are spelled as JSON's."""
    address = order.model.address if order.dialect in ("anthropic", "gemini") else f"{order.model.address}/v1"
    thinking = f'\n[thinking]\nenabled = true\neffort = "{order.options.effort}"\n' if order.options.effort else ""
    return f"""\
default_model = "proctor"
default_permission_mode = "manual"
telemetry = false

[providers.proctor]
type = "{PROVIDERS[order.dialect]}"
base_url = {json.dumps(address)}
api_key = {json.dumps(order.model.key)}

[models.proctor]
provider = "proctor"
model = {json.dumps(order.model.name)}
max_context_size = 200000
capabilities = ["tool_use"{', "thinking"' if thinking else ""}]
{thinking}"""


def _started(order: Order, *arguments: str, extra: int = 0) -> Launch:
    servers = mcp_servers(order.options)
    return Launch(
        node_program("@moonshot-ai/kimi-code/dist/main.mjs", *arguments),
        {"KIMI_DISABLE_TELEMETRY": "1", "KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_CRON": "1"},
        {
            SETTINGS: _settings(order),
            **({SERVERS: json.dumps({"mcpServers": servers})} if servers else {}),
            **rules_file(order.options, RULES),
        },
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    return _started(order, "--output-format", "stream-json", "-p", order.task, extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, "acp")


ADAPTER = Adapter(
    name="kimi",
    description="the command line of Moonshot's coding agent",
    recipe=Recipe("npm", ("@moonshot-ai/kimi-code@2.1.0",)),
    dialects=("chat", "anthropic", "responses", "gemini"),
    trajectory=(f"{PLACE}/sessions/*/*", f"{PLACE}/logs/*"),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "rules", "skills", "mcp"}),
)
