"""cline: its model has to be configured by a command before it is started. Speaks Chat Completions."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    EFFORTS,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    mcp_servers,
    node_program,
    rules_file,
)

PROGRAM = "cline/bin/cline"
PROVIDER = "openai-compatible"
SERVERS = ".cline/data/settings/cline_mcp_settings.json"
RULES = ".cline/rules/rules.md"
SERVER_SECONDS = 60
"""How long a server may take for an answer; cline's own default of three seconds is too short for its start."""


def _launch(order: Order) -> Launch:
    options = order.options
    effort = checked_effort("cline", options, EFFORTS)
    model = ("-m", order.model.name, "-k", order.model.key)
    login = ("-p", PROVIDER, *model, "-b", f"{order.model.address}/v1")
    thinking = ("--thinking", effort) if effort else ()
    mcp = {name: {**one, "timeout": SERVER_SECONDS} for name, one in mcp_servers(options).items()}
    servers = {SERVERS: json.dumps({"mcpServers": mcp})} if mcp else {}
    return Launch(
        node_program(PROGRAM, "-P", PROVIDER, *model, *thinking, "--json", order.task),
        {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "CLINE_NO_AUTO_UPDATE": "1"},
        {**servers, **rules_file(options, RULES)},
        first=(node_program(PROGRAM, "auth", *login),),
        extra=1,
    )


ADAPTER = Adapter(
    name="cline",
    description="the command line of an agent for code editors",
    recipe=Recipe("npm", ("cline@3.0.65",)),
    dialects=("chat",),
    trajectory=(".cline/data/sessions/*/*.messages.json",),
    launch=_launch,
    options=frozenset({"effort", "rules", "mcp"}),
)
