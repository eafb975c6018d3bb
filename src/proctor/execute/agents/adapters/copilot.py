"""copilot: the command line of GitHub's agent, offline and with a model of one's own. It needs no account then."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    mcp_servers,
    processor,
    rules_file,
    skill_links,
)

SERVERS = ".copilot/mcp-config.json"
SKILLS = ".copilot/skills"
RULES = ".copilot/copilot-instructions.md"


def _started(order: Order, *arguments: str, extra: int = 0) -> Launch:
    model, options = order.model, order.options
    effort = ("--reasoning-effort", options.effort) if options.effort else ()
    quiet = ("--no-auto-update", "--no-remote", "--disable-builtin-mcps", "--no-color", "--log-level", "debug")
    servers = {name: {"type": "local", "tools": ["*"], **one} for name, one in mcp_servers(options).items()}
    return Launch(
        (f"{MODULES}/@github/copilot-linux-{processor()}/copilot", *quiet, *effort, *arguments),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": model.name,
            "COPILOT_PROVIDER_TYPE": "anthropic" if order.dialect == "anthropic" else "openai",
            "COPILOT_PROVIDER_WIRE_API": "responses" if order.dialect == "responses" else "completions",
            "COPILOT_PROVIDER_BASE_URL": model.address if order.dialect == "anthropic" else f"{model.address}/v1",
            "COPILOT_PROVIDER_API_KEY": model.key,
        },
        {
            **rules_file(options, RULES),
            **({SERVERS: json.dumps({"mcpServers": servers})} if servers else {}),
        },
        links=skill_links(options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    flags = ("--allow-all", "--no-ask-user", "--output-format", "json")
    return _started(order, *flags, "-p", order.task, extra=2)


def _acp(order: Order) -> Launch:
    return _started(order, "--acp")


ADAPTER = Adapter(
    name="copilot",
    description="the command line of GitHub's coding agent",
    recipe=Recipe("npm", ("@github/copilot@1.0.102",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".copilot/session-state/*", ".copilot/logs/*"),
    launch=_launch,
    acp=_acp,
    options=frozenset({"effort", "rules", "skills", "mcp"}),
)
