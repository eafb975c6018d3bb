"""From ``kind:argument`` to an agent. Kinds of other packages come in through the entry point group ``proctor.agents``.

An entry point names a callable that takes an :class:`AgentRequest` and returns an agent. Each agent is checked before
it acts (see ``description``). Built-in kinds cannot be replaced, nor can agents that have an adapter. What most runs do
not need is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from proctor.base.canonical import NotCanonical, canonical
from proctor.base.entry_points import AGENTS, Package, PlugIns, lacks_methods, not_callable
from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.adapter_registry import NAMES as ADAPTED
from proctor.execute.agents.adapters.adapter_registry import PLUG_INS as ADAPTER_PLUG_INS
from proctor.execute.agents.adapters.adapter_registry import adapter_names, is_adapted
from proctor.execute.agents.adapters.interface import Adapter
from proctor.execute.agents.command_agent import CommandAgent
from proctor.execute.agents.interface import REASONS, Agent, AgentDescription, AgentRequest, Ending
from proctor.execute.agents.options import NO_OPTIONS
from proctor.execute.agents.patch_agent import NoopAgent, PatchAgent
from proctor.execute.agents.resolve_options import WithOptions, require_options
from proctor.execute.sandbox.interface import Mount, Output, check_target


def check_agent(agent: Any, kind: str) -> Agent:
    """Return ``agent`` of a package if it has every part of the interface and a complete description."""
    parts = [*lacks_methods(agent, "describe", "mounts", "act")]
    if not isinstance(getattr(agent, "needs_sandbox", None), bool):
        parts.append("needs_sandbox is not true or false")
    if parts:
        raise PLUG_INS.at_fault(kind, "; ".join(parts))
    problems = [*description_problems(agent.describe()), *_mount_problems(agent.mounts())]
    if problems:
        raise PLUG_INS.at_fault(kind, "; ".join(problems))
    checked: Agent = agent
    return checked


def description_problems(description: Any) -> Iterator[str]:
    """Every field of a description that does not fit into a manifest, with the problem."""
    if not isinstance(description, AgentDescription):
        yield f"describe() returns a {type(description).__name__}, not an AgentDescription"
        return
    for name in ("name", "kind", "digest"):
        value = getattr(description, name)
        if not isinstance(value, str):
            yield f"describe().{name} is not a string"
        elif not value.strip():
            yield f"describe().{name} is empty"
        elif not _is_canonical(value):
            yield f"describe().{name} is not valid Unicode"
        elif not value.isprintable():
            yield f"describe().{name} has control characters"
    command = description.command
    if not isinstance(command, tuple | list) or not all(isinstance(one, str) for one in command):
        yield "describe().command is not a tuple of strings"
    elif not _is_canonical(list(command)):
        yield "describe().command is not valid Unicode"
    settings = description.settings
    if not isinstance(settings, Mapping) or not all(isinstance(one, str) for pair in settings.items() for one in pair):
        yield "describe().settings does not map strings to strings"
    elif not _is_canonical(dict(settings)):
        yield "describe().settings has a name that is not ASCII or a value that is not valid Unicode"


def ending_problems(ending: Any, needs_sandbox: bool) -> Iterator[str]:
    """What keeps the ending that an agent returns from being recorded."""
    if not isinstance(ending, Ending):
        yield f"a {type(ending).__name__}, not an Ending"
        return
    if ending.reason not in REASONS:
        yield f"an Ending whose reason is not one of {', '.join(REASONS)}"
    code: Any = ending.exit_code
    if code is not None and not (type(code) is int and abs(code) < 1 << 31):
        yield "an Ending whose exit_code is neither a whole number nor None"
    patch: Any = ending.patch
    problem: Any = ending.problem
    trajectory: Any = ending.trajectory
    if patch is not None and not isinstance(patch, bytes):
        yield "an Ending whose patch is neither bytes nor None"
    elif patch is not None and needs_sandbox:
        yield "an Ending with a patch, but the patch of an agent in a sandbox is what it leaves in /workspace"
    if not isinstance(problem, str) or not _is_canonical(problem):
        yield "an Ending whose problem is not text"
    if not isinstance(trajectory, Output | None):
        yield "an Ending whose trajectory is neither an Output nor None"


def _mount_problems(mounts: Any) -> Iterator[str]:
    if not isinstance(mounts, tuple | list) or not all(isinstance(mount, Mount) for mount in mounts):
        yield "mounts() does not return a tuple of Mount"
        return
    for mount in mounts:
        if not isinstance(mount.source, Path) or not isinstance(mount.target, str):
            yield "mounts() has a source that is not a Path or a target that is not a string"
            continue
        if not mount.source.exists():
            yield f"mounts() names {mount.source}, which does not exist"
        if mount.writable:
            yield f"mounts() makes {mount.source} writable"
        try:
            check_target(mount.target)
        except UsageFault as fault:
            yield f"mounts(): {fault}"


def _is_canonical(value: Any) -> bool:
    try:
        canonical(value)
    except NotCanonical:
        return False
    return True


Maker = Callable[[AgentRequest], Agent]


def _later(module: str, name: str) -> Maker:
    """The maker of an agent whose module is imported when one is made."""

    def make(request: AgentRequest) -> Agent:
        agent: Agent = getattr(import_module(f"{__package__}.{module}"), name).from_request(request)
        return agent

    return make


BUILT_IN: dict[str, Maker] = {
    "noop": NoopAgent.from_request,
    "reference": PatchAgent.reference,
    "patch": PatchAgent.from_request,
    "command": CommandAgent.from_request,
    "builtin": _later("builtin.builtin_agent", "BuiltinAgent"),
    "endpoint": _later("command_agent", "EndpointAgent"),
    "acp": _later("acp.acp_agent", "AcpAgent"),
}

WITHOUT_MODEL = frozenset({"noop", "reference", "patch"})
"""Agents that have nothing to ask a model, and need no sandbox."""

NO_MODEL = WITHOUT_MODEL | {"command"}
"""Agents that cannot be given a model."""

WITHOUT_FILES = WITHOUT_MODEL | {"builtin", *ADAPTED}
"""Agents that cannot be given files."""

DESCRIPTIONS = {
    "noop": "changes nothing; every contract must fail it",
    "reference": "submits the contract's reference solution",
    "patch": "submits a patch file: patch:FILE",
    "command": "runs any program in the sandbox, without a model: 'command:PROGRAM ARGUMENTS'",
    "builtin": "the reference agent: read, search, edit, run, job, stage (chat, responses, anthropic, gemini)",
    "endpoint": "runs any program that can be given a model's address: 'endpoint:PROGRAM ARGUMENTS'",
    "acp": "talks to an agent by the Agent Client Protocol: acp:AGENT or 'acp:PROGRAM ARGUMENTS'",
}


PLUG_INS: PlugIns[Maker] = PlugIns(AGENTS, "agent", (*BUILT_IN, *ADAPTED), not_callable)


def make_agent(request: AgentRequest) -> Agent:
    """The agent that was asked for; one of a package is checked before it is returned."""
    kind = request.kind
    has_adapter = kind not in BUILT_IN and is_adapted(kind)
    adapted = _later("installed_agent", "AdaptedAgent") if has_adapter else None
    maker = BUILT_IN.get(kind) or adapted or PLUG_INS.load(kind)
    if maker is None:
        known = ", ".join([*BUILT_IN, *adapter_names(), *plug_in_names()])
        raise UsageFault(f"there is no agent {kind!r}", hint=f"known agents: {known}")
    if request.version and adapted is None:
        raise UsageFault(f"the agent {kind} has no versions", where=f"{kind}@{request.version}"[:200])
    require_options(request)
    agent = maker(request) if kind in BUILT_IN or adapted else check_agent(maker(request), kind)
    return WithOptions(agent, request) if request.name or request.options != NO_OPTIONS else agent


def plug_in_names() -> tuple[str, ...]:
    """The kinds of agents that installed packages add; an adapter of the same name is used instead."""
    return tuple(name for name in PLUG_INS.names() if not is_adapted(name))


def table_of(kind: str) -> PlugIns[Maker] | PlugIns[Adapter] | None:
    """The table of plug-ins that the agent ``kind`` comes from; nothing if it is built in or unknown."""
    if kind in BUILT_IN or kind in ADAPTED:
        return None
    if is_adapted(kind):
        return ADAPTER_PLUG_INS
    return PLUG_INS if kind in PLUG_INS.names() else None


def package_of(kind: str) -> Package | None:
    """The installed package that provides the agent ``kind``; nothing if it is built in or unknown."""
    table = table_of(kind)
    return table.package(kind) if table is not None else None
