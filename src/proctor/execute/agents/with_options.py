"""An agent with options: its name, its mounts and its identity include them.

Adapters translate options for their agents, and the protocol hands over MCP servers. Other programs (``command``,
``endpoint``, ``builtin``) find options in variables: ``PROCTOR_EFFORT``, ``PROCTOR_TEMPERATURE``,
``PROCTOR_SMALL_MODEL``, ``PROCTOR_RULES`` (a file), ``PROCTOR_SKILLS`` (a directory) and ``PROCTOR_MCP`` (a file).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.execute.agents.adapted import command_line, wrappers_of
from proctor.execute.agents.adapters.interface import Launch
from proctor.execute.agents.adapters.table import find_adapter, is_adapted
from proctor.execute.agents.interface import Agent, AgentDescription, AgentRequest, Ending, Scene
from proctor.execute.agents.options import EVERY, NO_OPTIONS, SKILLS_PLACE, SPECIAL, AgentOptions, Wanted, option_name
from proctor.execute.agents.resolve import mcp_servers_json
from proctor.execute.sandbox.interface import HOME, Command, Finished, Mount
from proctor.execute.workspace.store import held

RULES_FILE = ".proctor/rules.md"
MCP_FILE = ".proctor/mcp.json"

BY_VARIABLES = {"command": SPECIAL, "endpoint": SPECIAL, "builtin": ("effort", "temperature", "rules")}
"""The kinds of agents that find their options in variables, with the special options that they have."""


def require_options(request: AgentRequest) -> None:
    """Refuse options that the agent of ``request`` does not have."""
    refuse_others(request.kind, request.argument, request.options)


def refuse_others(
    kind: str, argument: str, options: AgentOptions | Wanted, typed: Container[str] = (), where: str = ""
) -> None:
    """Refuse options that the agent does not have; ``typed`` are those of the command line, ``where`` has the rest."""
    has = options_of(kind, argument)
    for name in (*SPECIAL, *EVERY):
        if getattr(options, name) and name not in has:
            given = name in typed
            shown = ", ".join(option_name(one) if given else one for one in has if not given or one != "mcp")
            raise UsageFault(
                f"the agent {kind} does not have the option {option_name(name) if given else name}",
                where="" if given else where,
                hint=f"options of this agent: {shown or 'none'}",
            )


def options_of(kind: str, argument: str = "") -> tuple[str, ...]:
    """The options that an agent has."""
    if kind != "acp" and is_adapted(kind):
        return (*(name for name in SPECIAL if name in find_adapter(kind).options), *EVERY)
    if kind == "acp":
        program = argument.partition("@")[0]
        own = find_adapter(program).options | {"mcp"} if is_adapted(program) else SPECIAL
        return (*(name for name in SPECIAL if name in own), *EVERY)
    if kind == "builtin":
        return (*BY_VARIABLES["builtin"], "environment")
    return (*BY_VARIABLES[kind], *EVERY) if kind in BY_VARIABLES else ()


class WithOptions:
    """Another agent, with the name and the options of its request."""

    def __init__(self, agent: Agent, request: AgentRequest) -> None:
        self.needs_sandbox = agent.needs_sandbox
        self._agent = agent
        self._name = request.name
        self._options = request.options
        self._provided = request.provided
        self._by_variables = request.kind in BY_VARIABLES and request.options != NO_OPTIONS

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the options set for the agent and for what it starts."""
        return option_launch((), self._options).environment if self._by_variables else self._options.environment

    def describe(self) -> AgentDescription:
        own = self._agent.describe()
        settings = dict(self._provided.settings)
        return replace(
            own,
            name=self._name or own.name,
            command=(*own.command, *self._options.arguments) if self._by_variables else own.command,
            digest=digest({"agent": own.digest, "options": settings}) if settings else own.digest,
            settings={**own.settings, **settings},
        )

    def mounts(self) -> tuple[Mount, ...]:
        found = {mount.target: mount for mount in self._agent.mounts()}
        for mount in self._provided.mounts:
            if found.setdefault(mount.target, mount).source != mount.source:
                raise UsageFault(
                    f"the agent and its MCP servers need different installations at {mount.target}",
                    hint="install the agent and the servers again",
                )
        return tuple(found.values())

    def act(self, scene: Scene) -> Ending:
        with held(*self._provided.layers):
            return self._agent.act(self._with_variables(scene) if self._by_variables else scene)

    def _with_variables(self, scene: Scene) -> Scene:
        def run(command: Command, ends: tuple[int, int] | None = None) -> Finished:
            launch = option_launch(command.arguments, self._options)
            variables = {**command.environment, **launch.environment}
            line, wrappers = command_line(launch), wrappers_of(launch)
            return scene.run(replace(command, arguments=line, environment=variables, wrappers=wrappers), ends)

        return replace(scene, run=run)


def option_launch(arguments: tuple[str, ...], options: AgentOptions) -> Launch:
    """How a program is started that finds its options in variables."""
    files = {RULES_FILE: options.rules} if options.rules else {}
    if options.mcp:
        files[MCP_FILE] = mcp_servers_json(options.mcp)
    variables = {
        "PROCTOR_EFFORT": options.effort,
        "PROCTOR_TEMPERATURE": options.temperature,
        "PROCTOR_SMALL_MODEL": options.small_model,
        "PROCTOR_RULES": f"{HOME}/{RULES_FILE}" if options.rules else "",
        "PROCTOR_SKILLS": SKILLS_PLACE if options.skills else "",
        "PROCTOR_MCP": f"{HOME}/{MCP_FILE}" if options.mcp else "",
    }
    given = {name: text for name, text in variables.items() if text}
    return Launch((*arguments, *options.arguments), {**options.environment, **given}, files)
