"""The options that a user sets for an agent in addition to its model: effort, rules, skills, servers and others.

Options come from an agent file or from the command line. All of them are part of the agent's digest, and manifests and
reports show them. An adapter says which ones its agent has; the others are refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SKILLS_PLACE = "/opt/skills"
"""Where the directory of skills is shown read-only; each directory in it that holds a SKILL.md is one skill."""

MCP_PLACE = "/opt/mcp"
"""Where the installations of MCP servers are shown read-only, each in a directory with the name of the server."""

EFFORTS = ("minimal", "low", "medium", "high")


@dataclass(frozen=True)
class McpServer:
    """A server of the Model Context Protocol that the agent starts and talks to over standard streams.

    ``command`` is its command line inside the sandbox, with full paths.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentOptions:
    """The options of one agent; empty values are options that were not set.

    ``rules`` is the text of the rules files. ``skills`` are the names of the directories at :data:`SKILLS_PLACE`.
    ``temperature`` is a decimal text, so that it is recorded as it was written.
    """

    effort: str = ""
    temperature: str = ""
    small_model: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    rules: str = ""
    skills: tuple[str, ...] = ()
    mcp: tuple[McpServer, ...] = ()


NO_OPTIONS = AgentOptions()


@dataclass(frozen=True)
class McpSource:
    """Where an MCP server comes from: a release of ``registry`` (pypi or npm), and which of its programs to run.

    ``beside`` are more releases that it needs in these versions.
    """

    name: str
    registry: str
    package: str
    run: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class RequestedOptions:
    """The options that a user asks for. Rules and skills are paths, and MCP servers are releases of a registry.

    ``agents/resolve.py`` reads the files and finds the servers, which gives :class:`AgentOptions`.
    """

    effort: str = ""
    temperature: str = ""
    small_model: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    skills: str = ""
    mcp: tuple[McpSource, ...] = ()


NO_REQUESTED_OPTIONS = RequestedOptions()

_SHOWN = ("effort", "temperature", "small_model", "arguments", "environment", "rules", "skills")


def option_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of an agent that describe its options, as a manifest holds them."""
    names = {*_SHOWN, "environment_digest", "rules_bytes", "skills_digest"}
    return {name: text for name, text in settings.items() if name in names or name.startswith("mcp.")}


def shown_options(settings: Mapping[str, str]) -> list[str]:
    """One line for each option in the settings of an agent, for people."""
    lines = [f"{name} {settings[name]}" for name in _SHOWN if settings.get(name)]
    servers = [name for name in settings if name.startswith("mcp.") and name.count(".") == 1]
    return [*lines, *(f"mcp server {name.removeprefix('mcp.')}: {settings[name]}" for name in sorted(servers))]


SPECIAL = ("effort", "temperature", "small_model", "rules", "skills", "mcp")
"""The options that only some agents have."""

EVERY = ("arguments", "environment")
"""The options of all agents that are programs; the reference agent takes no arguments."""


def option_name(field: str) -> str:
    """What the field of an agent file is called on the command line."""
    return {"arguments": "--agent-arg", "environment": "--agent-env"}.get(field, f"--{field.replace('_', '-')}")
