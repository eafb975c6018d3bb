"""OpenHands: needs Python 3.12. Speaks Chat Completions. It always exits with 0."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    PLACE,
    Adapter,
    Launch,
    Order,
    Recipe,
    mcp_servers,
    python_program,
    rules_file,
    skill_links,
)

SERVERS = ".openhands/mcp.json"
SKILLS = ".openhands/skills"
RULES = f"{SKILLS}/rules.md"
"""A file of skills without trigger words is always in the prompt."""


def _launch(order: Order) -> Launch:
    options = order.options
    flags = ("--headless", "--json", "--always-approve", "--override-with-envs", "--exit-without-confirmation")
    servers = {SERVERS: json.dumps({"mcpServers": mcp_servers(options)})} if options.mcp else {}
    return Launch(
        python_program("openhands_cli.entrypoint", *flags, "-t", order.task),
        {
            "LLM_MODEL": f"openai/{order.model.name}",
            "LLM_BASE_URL": f"{order.model.address}/v1",
            "LLM_API_KEY": order.model.key,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LD_LIBRARY_PATH": f"{PLACE}/python/lib",
        },
        {**servers, **rules_file(options, RULES)},
        links=skill_links(options, SKILLS),
        extra=2,
    )


ADAPTER = Adapter(
    name="openhands",
    description="an open platform of agents, without its server",
    recipe=Recipe("pypi", ("openhands==1.16.0",), python="3.12", plain=("func-timeout==4.3.5",)),
    dialects=("chat",),
    trajectory=(".openhands/conversations/*/events/*.json",),
    launch=_launch,
    options=frozenset({"rules", "skills", "mcp"}),
)
