"""The description of an external agent: how to install it, start it, and point it at a model.

An adapter is data and one function. The function gets an order (the task, the model, where home and workspace are) and
returns what to start: arguments, variables, files for the home directory. Nothing in it talks to the agent, and no
decision relies on what the agent says; its own notes are copied from the paths in ``trajectory`` and stored unchanged.

Installations are shown at ``/opt/agent``, Node at ``/opt/node``. Neither is on the ``PATH``, so that what an agent
brings along does not change the programs of the task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.errors import UsageFault
from proctor.execute.agents.interface import ModelAccess
from proctor.execute.agents.options import NO_OPTIONS, SKILLS_PLACE, AgentOptions
from proctor.execute.sandbox.interface import HOME, WORKSPACE

PLACE = "/opt/agent"
NODE_PLACE = "/opt/node"
NODE = f"{NODE_PLACE}/bin/node"
PYTHON = f"{PLACE}/bin/python"
MODULES = f"{PLACE}/node_modules"

NODE_VERSION = "24.19.0"


@dataclass(frozen=True)
class Recipe:
    """What an installation is made from: releases of one registry, the agent's own first, all pinned.

    ``registry`` is ``npm`` or ``pypi``. ``python`` is the version that an agent from PyPI needs where the sandbox's own
    will not do; then an interpreter of this machine is copied into the installation.
    ``plain`` are pure Python releases among its dependencies that have no wheel and can be taken as they are.
    """

    registry: str
    packages: tuple[str, ...]
    python: str = ""
    plain: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of the agent itself."""
        return self.packages[0].rpartition("@" if self.registry == "npm" else "==")[2]


@dataclass(frozen=True)
class Order:
    """What an adapter is asked to start.

    The adapter translates the special options that it has; the arguments and variables of ``options`` are added to
    those of its launch by the caller.
    """

    task: str
    model: ModelAccess
    dialect: str
    options: AgentOptions = NO_OPTIONS
    home: str = HOME
    workspace: str = WORKSPACE


@dataclass(frozen=True)
class Launch:
    """What to start: ``files`` are texts for the home directory by path, ``first`` are commands to run beforehand.

    ``links`` are symbolic links to make in the home directory, by path, with their targets. ``extra`` is the number of
    arguments, counted from the end, before which extra arguments of the user go: 1 where the task is the last one.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    first: tuple[tuple[str, ...], ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    extra: int = 0


PLAIN_NODE = {"UV_USE_IO_URING": "0"}
"""Node tries io_uring first, which sandboxes refuse and record; this switches it off."""


@dataclass(frozen=True)
class Adapter:
    """One agent. ``dialects`` are those it speaks, its own choice first; ``trajectory`` are patterns below the home.

    ``acp`` says how to start it as a server of the Agent Client Protocol, where it is one. ``options`` are the special
    options (see ``agents/options.py``) that it translates. ``package`` is the package that provides the adapter, with
    its version; it is set when an adapter of another package is loaded.
    """

    name: str
    description: str
    recipe: Recipe
    dialects: tuple[str, ...]
    trajectory: tuple[str, ...]
    launch: Callable[[Order], Launch]
    acp: Callable[[Order], Launch] | None = None
    options: frozenset[str] = frozenset()
    package: str = ""


def variables(adapter: Adapter, launch: Launch) -> dict[str, str]:
    """The variables that ``launch`` asks for, with those that its interpreter needs."""
    return {**(PLAIN_NODE if adapter.recipe.registry == "npm" else {}), **launch.environment}


def node_program(path: str, *arguments: str) -> tuple[str, ...]:
    """The command line of a program of an npm package, by its path below ``node_modules``."""
    return (NODE, f"{MODULES}/{path}", *arguments)


def python_program(module: str, *arguments: str) -> tuple[str, ...]:
    """The command line of a module of an installation from PyPI; it sees nothing but the installation."""
    return (PYTHON, "-I", "-m", module, *arguments)


def processor() -> str:
    """The name that npm's packages for one platform give this machine's processor."""
    machine = os.uname().machine
    names = {"x86_64": "x64", "aarch64": "arm64"}
    if machine not in names:
        raise UsageFault(f"this agent has no program for the processor {machine}")
    return names[machine]


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
