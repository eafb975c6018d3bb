"""The options of an agent, from what a user asks for to the running agent.

Options that an agent does not have are refused. Rules are read as text. Skills are copied by content and shown
read-only. MCP servers must be installed; their layers are shown read-only, and they are started by their full path. The
manifest gets all of it: large things by their digest, and variables by their names and a digest, because their values
may be secrets.

Adapters translate options for their agents. Other programs (``command``, ``endpoint``, ``builtin``) find them in
variables: ``PROCTOR_EFFORT``, ``PROCTOR_TEMPERATURE``, ``PROCTOR_SMALL_MODEL``, ``PROCTOR_RULES`` (a file),
``PROCTOR_SKILLS`` (a directory) and ``PROCTOR_MCP`` (a file).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, distributions
from pathlib import Path

from proctor.base.canonical import digest, sha256
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded
from proctor.execute.agents.adapters.adapter_registry import find_adapter, is_adapted
from proctor.execute.agents.adapters.interface import NODE, PLAIN_NODE, Launch, Recipe
from proctor.execute.agents.command_agent import copy_directory
from proctor.execute.agents.install.agent_store import AgentStore, Installation
from proctor.execute.agents.installed_agent import command_line, wrappers_of
from proctor.execute.agents.interface import (
    FILES_CONTENT,
    Agent,
    AgentContext,
    AgentDescription,
    AgentFiles,
    AgentRequest,
    Ending,
    Provided,
)
from proctor.execute.agents.options import (
    EVERY,
    MCP_PLACE,
    NO_OPTIONS,
    SKILLS_PLACE,
    SPECIAL,
    AgentOptions,
    McpServer,
    McpSource,
    RequestedOptions,
    option_name,
)
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.sandbox.interface import HOME, Command, CommandResult, Mount
from proctor.execute.workspace.layer_store import Layer, held

PYTHON = "python"
PACKAGE_BYTES = 1 << 20


@dataclass(frozen=True)
class ServerPackage:
    """The release that an MCP server comes from, as the store of agents installs it."""

    name: str
    recipe: Recipe


def package_of(source: McpSource) -> ServerPackage:
    """What has to be installed for ``source``; servers of the same release share one installation."""
    package = source.package.rpartition("@" if source.registry == "npm" else "==")[0]
    spelled = re.sub(r"[^a-z0-9._-]", "+", package.removeprefix("@").lower())
    others = f"-{digest(list(source.beside))[7:15]}" if source.beside else ""
    recipe = Recipe(source.registry, (source.package, *source.beside))
    return ServerPackage(f"mcp-{source.registry}-{spelled}{others}", recipe)


def installed_server(store: AgentStore, source: McpSource, hint: str) -> Installation:
    """The verified installation of ``source``; ``hint`` is the command that makes it."""
    package = package_of(source)
    found = store.get(package.name, package.recipe.version)
    if found is None:
        raise UsageFault(f"the MCP server {source.name} ({source.package}) is not installed", hint=hint)
    return store.check(found)


def server_of(source: McpSource, installation: Installation) -> McpServer:
    """The server with its command line inside the sandbox."""
    place = f"{MCP_PLACE}/{source.name}"
    if source.registry == "npm":
        start, own = _node_command(source, installation.content, place), dict(PLAIN_NODE)
    else:
        start, own = _python_command(source, installation.content, place), {}
    return McpServer(source.name, (*start, *source.run[1:]), {**own, **source.environment})


def _python_command(source: McpSource, content: Path, place: str) -> tuple[str, ...]:
    python = f"{place}/bin/python"
    if source.run[:1] == (PYTHON,):
        return (python, "-I")
    points = [point for one in _own(source, content) for point in one.entry_points.select(group="console_scripts")]
    scripts = {point.name: point.value for point in points}
    module, _, function = _chosen(source, scripts, PYTHON).partition(":")
    start = f"import sys; from {module} import {function.partition('.')[0]}; sys.exit({function}())"
    return (python, "-I", "-c", start)


def _own(source: McpSource, content: Path) -> list[Distribution]:
    """The distribution of the server's own package."""
    name = _normal(source.package.partition("==")[0].partition("[")[0])
    sites = [str(path) for path in content.glob("lib/python*/site-packages")]
    return [one for one in distributions(path=sites) if _normal(one.metadata["Name"]) == name]


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _node_command(source: McpSource, content: Path, place: str) -> tuple[str, ...]:
    package = source.package.rpartition("@")[0]
    described = json.loads(read_bounded(content / "node_modules" / package / "package.json", PACKAGE_BYTES))
    given = described.get("bin") or {}
    programs = {package.rpartition("/")[2]: given} if isinstance(given, str) else dict(given)
    path = _chosen(source, programs).removeprefix("./")
    return (NODE, f"{place}/node_modules/{package}/{path}")


def _chosen(source: McpSource, programs: Mapping[str, str], *others: str) -> str:
    """The program that ``run`` starts with, or the only one if there is no ``run``."""
    if source.run and source.run[0] in programs:
        return programs[source.run[0]]
    if not source.run and len(programs) == 1:
        return next(iter(programs.values()))
    problem = f"it has no program {source.run[0][:100]!r}" if source.run else "run does not say which program"
    known = ", ".join([*sorted(programs), *others]) or "none"
    raise UsageFault(f"the MCP server {source.name}: {problem}", hint=f"programs of {source.package}: {known}")


RULES_BYTES = 48 << 10
"""The most that all rules files may hold together: they are given in one argument, which may have 128 KiB."""

SKILL = "SKILL.md"


def resolve(
    wanted: RequestedOptions,
    installations: Path,
    copied_to: Path | None,
    copies: dict[Path, AgentFiles],
    install_hint: str,
    places: Mapping[str, str] = EMPTY,
) -> tuple[AgentOptions, Provided]:
    """The options of an agent, and what they bring into the sandbox; ``install_hint`` is how to install servers.

    ``places`` says where rules and skills were asked for: an option of the command line, or a place in an agent file.
    """
    mounts: list[Mount] = []
    layers: list[Layer] = []
    rules = _rules(wanted.rules, places.get("rules", ""))
    plain = {"effort": wanted.effort, "temperature": wanted.temperature, "small_model": wanted.small_model}
    settings = {name: text for name, text in plain.items() if text}
    if wanted.arguments:
        settings["arguments"] = shlex.join(wanted.arguments)
    settings |= _variables("environment", wanted.environment)
    if rules:
        settings |= {"rules": sha256(rules.encode()), "rules_bytes": str(len(rules.encode()))}
    skills: tuple[str, ...] = ()
    if wanted.skills:
        where = _where(places.get("skills", ""), wanted.skills)
        if not Path(wanted.skills).is_dir():
            problem = "is not a directory" if Path(wanted.skills).exists() else "does not exist"
            raise UsageFault(f"the directory of skills {problem}", where=where)
        copy = copy_directory(Path(wanted.skills), copied_to, copies)
        content = copy.layer.path / FILES_CONTENT
        skills = _skill_names(content, where)
        mounts.append(Mount(content, SKILLS_PLACE, sealed=copy.layer.seal()))
        layers.append(copy.layer)
        settings |= {"skills": ", ".join(skills), "skills_digest": copy.digest}
    servers: list[McpServer] = []
    store = AgentStore(installations, InputCache(installations.parent / "inputs"))
    for source in wanted.mcp:
        found = installed_server(store, source, install_hint)
        server = server_of(source, found)
        servers.append(server)
        mounts += found.mounts(f"{MCP_PLACE}/{source.name}")
        layers += [layer for layer in (found.layer, found.node) if layer is not None]
        settings |= {f"mcp.{source.name}.{name}": text for name, text in found.settings().items()}
        settings[f"mcp.{source.name}"] = f"{source.registry} {source.package}"
        settings[f"mcp.{source.name}.command"] = shlex.join(server.command)
        settings |= _variables(f"mcp.{source.name}.environment", source.environment)
    options = AgentOptions(
        **plain,
        arguments=wanted.arguments,
        environment=wanted.environment,
        rules=rules,
        skills=skills,
        mcp=tuple(servers),
    )
    return options, Provided(tuple(mounts), tuple(layers), settings)


def mcp_servers_json(servers: tuple[McpServer, ...]) -> str:
    """The usual form of a file of MCP servers, which many clients read."""
    entries = {
        one.name: {"command": one.command[0], "args": list(one.command[1:]), "env": dict(one.environment)}
        for one in servers
    }
    return json.dumps({"mcpServers": entries}, sort_keys=True)


def _rules(paths: tuple[str, ...], place: str) -> str:
    """The text of all rules files, in their order, with an empty line between them."""
    texts = []
    for path in paths:
        where = _where(place, path)
        if Path(path).is_dir():
            raise UsageFault("the rules file is a directory", where=where, hint="name the file in it")
        try:
            texts.append(read_bounded(Path(os.path.realpath(path)), RULES_BYTES).decode())
        except InfrastructureFault as fault:
            if Path(path).is_file():
                raise _too_long(where) from None
            raise UsageFault(f"the rules file is {fault.message}", where=where) from None
        except OSError as error:
            raise UsageFault(f"the rules file cannot be read: {error.strerror}", where=where) from None
        except UnicodeDecodeError:
            raise UsageFault("the rules file is not text in UTF-8", where=where) from None
        if not texts[-1].strip() or "\0" in texts[-1]:
            raise UsageFault("the rules file is empty or not text", where=where)
    whole = "\n\n".join(text.strip("\n") for text in texts) + "\n" if texts else ""
    if len(whole.encode()) > RULES_BYTES:
        raise _too_long(_where(place, paths[-1]))
    return whole


def _where(place: str, path: str) -> str:
    """Where a path was asked for, and the path."""
    return f"{place} {path}" if place.startswith("--") else f"{place}: {path}" if place else path


def _too_long(where: str) -> UsageFault:
    return UsageFault(f"rules files may hold {RULES_BYTES >> 10} KiB together", where=where, hint="shorten them")


def _skill_names(content: Path, where: str) -> tuple[str, ...]:
    files = [path for path in content.glob(f"*/{SKILL}") if path.is_file()]
    found = tuple(sorted(path.parent.name for path in files))
    strange = [name for name in found if not name.isprintable()]
    if strange:
        raise UsageFault(f"not a name for a skill: {strange[0][:100]!a}", where=where, hint="rename its directory")
    outside = [path.parent.name for path in files if not path.resolve().is_relative_to(content.resolve())]
    if outside:
        raise UsageFault(
            f"the skill {outside[0][:100]} is a link to a place outside of this directory, which no sandbox shows",
            where=where,
            hint="copy the skill into the directory",
        )
    if not found:
        raise UsageFault(
            "there is no skill in this directory", where=where, hint=f"a skill is a directory in it with a {SKILL}"
        )
    return found


def _variables(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Variables as a manifest may hold them."""
    if not values:
        return {}
    return {name: ", ".join(sorted(values)), f"{name}_digest": digest(dict(values))}


RULES_FILE = ".proctor/rules.md"
MCP_FILE = ".proctor/mcp.json"

BY_VARIABLES = {"command": SPECIAL, "endpoint": SPECIAL, "builtin": ("effort", "temperature", "rules")}
"""The kinds of agents that find their options in variables, with the special options that they have."""


def require_options(request: AgentRequest) -> None:
    """Refuse options that the agent of ``request`` does not have."""
    refuse_others(request.kind, request.argument, request.options)


def refuse_others(
    kind: str, argument: str, options: AgentOptions | RequestedOptions, typed: Container[str] = (), where: str = ""
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

    def act(self, scene: AgentContext) -> Ending:
        with held(*self._provided.layers):
            return self._agent.act(self._with_variables(scene) if self._by_variables else scene)

    def _with_variables(self, scene: AgentContext) -> AgentContext:
        def run(command: Command, ends: tuple[int, int] | None = None) -> CommandResult:
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
