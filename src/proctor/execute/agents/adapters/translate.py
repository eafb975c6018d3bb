"""Options in the forms that several agents share. Pure."""

from __future__ import annotations

from typing import Any

from proctor.base.errors import UsageFault
from proctor.execute.agents.options import SKILLS_PLACE, AgentOptions

ALL = frozenset({"effort", "temperature", "small_model", "rules", "skills", "mcp"})

EFFORTS = ("low", "medium", "high")
"""The efforts of agents and of providers that do not have ``minimal``."""


def mcp_servers(options: AgentOptions) -> dict[str, dict[str, Any]]:
    """The servers as ``mcpServers`` has them in most settings."""
    return {
        server.name: {
            "command": server.command[0],
            "args": list(server.command[1:]),
            **({"env": dict(server.environment)} if server.environment else {}),
        }
        for server in options.mcp
    }


def skill_links(options: AgentOptions, place: str) -> dict[str, str]:
    """Links to the skills, one for each, in a directory of the home."""
    return {f"{place}/{name}": f"{SKILLS_PLACE}/{name}" for name in options.skills}


def skills_link(options: AgentOptions, place: str) -> dict[str, str]:
    """One link to the directory of all skills, for agents that do not follow links inside of their own."""
    return {place: SKILLS_PLACE} if options.skills else {}


def checked_effort(agent: str, options: AgentOptions, known: tuple[str, ...]) -> str:
    """The effort; refused where the agent does not have this one."""
    if options.effort and options.effort not in known:
        raise UsageFault(f"{agent} has no effort {options.effort!r}", hint=f"it has {', '.join(known)}")
    return options.effort


def rules_file(options: AgentOptions, path: str) -> dict[str, str]:
    """The rules as a file of the home, if there are any."""
    return {path: options.rules} if options.rules else {}
