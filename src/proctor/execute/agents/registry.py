"""From ``kind:argument`` to an agent. Kinds of other packages come in through the entry point group ``proctor.agents``.

An entry point names a callable that takes an :class:`AgentRequest` and returns an agent. Each agent is checked before
it acts (see ``description``). Built-in kinds cannot be replaced, nor can agents that have an adapter. What most runs do
not need is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.plugins import package_named
from proctor.execute.agents.adapters.table import NAMES as ADAPTED
from proctor.execute.agents.adapters.table import adapter_names, is_adapted
from proctor.execute.agents.command import CommandAgent
from proctor.execute.agents.description import check_agent
from proctor.execute.agents.interface import Agent, AgentRequest
from proctor.execute.agents.noop import NoopAgent
from proctor.execute.agents.options import NO_OPTIONS
from proctor.execute.agents.patch import PatchAgent
from proctor.execute.agents.with_options import WithOptions, require_options

GROUP = "proctor.agents"

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
    "builtin": _later("builtin.agent", "BuiltinAgent"),
    "endpoint": _later("endpoint", "EndpointAgent"),
    "acp": _later("acp.agent", "AcpAgent"),
}

WITHOUT_MODEL = frozenset({"noop", "reference", "patch"})
"""Agents that have nothing to ask a model, and need no sandbox."""

NO_MODEL = WITHOUT_MODEL | {"command"}
"""Agents that cannot be given a model."""

WITHOUT_FILES = WITHOUT_MODEL | {"builtin", *ADAPTED}
"""Agents that cannot be given files."""

WORDS = {
    "noop": "changes nothing; every contract must fail it",
    "reference": "hands over the contract's reference solution",
    "patch": "hands over a patch file: patch:FILE",
    "command": "runs any program in the sandbox, without a model: 'command:PROGRAM ARGUMENTS'",
    "builtin": "the reference agent: read, search, edit, run, job, stage (chat, responses, anthropic, gemini)",
    "endpoint": "runs any program that can be given a model's address: 'endpoint:PROGRAM ARGUMENTS'",
    "acp": "talks to an agent by the Agent Client Protocol: acp:AGENT or 'acp:PROGRAM ARGUMENTS'",
}


def make_agent(request: AgentRequest) -> Agent:
    """The agent that was asked for."""
    adapted = _later("adapted", "AdaptedAgent") if request.kind not in BUILT_IN and is_adapted(request.kind) else None
    maker = BUILT_IN.get(request.kind) or adapted or plug_ins().get(request.kind)
    if maker is None:
        known = ", ".join([*BUILT_IN, *adapter_names(), *plug_ins()])
        raise UsageFault(f"there is no agent {request.kind!r}", hint=f"known agents: {known}")
    if request.version and adapted is None:
        raise UsageFault(f"the agent {request.kind} has no versions", where=f"{request.kind}@{request.version}"[:200])
    require_options(request)
    agent = maker(request)
    return WithOptions(agent, request) if request.name or request.options != NO_OPTIONS else agent


def plug_ins() -> dict[str, Maker]:
    """The kinds that installed packages add; they are imported only when they are used."""
    found: dict[str, Maker] = {}
    adapted = adapter_names()
    for point in entry_points(group=GROUP):
        if point.name not in BUILT_IN and point.name not in adapted:
            found[point.name] = _loader(point)
    return found


def _loader(point: EntryPoint) -> Maker:
    """The function that makes the agents of an entry point; each agent is checked before it is returned."""

    def make(request: AgentRequest) -> Agent:
        return check_agent(point.load()(request), request.kind, _package(point))

    return make


def package_of(kind: str) -> str:
    """The installed package that provides the agent ``kind``; empty if no plug-in provides it."""
    if kind in BUILT_IN or kind in ADAPTED:
        return ""
    if is_adapted(kind):
        return package_named(kind)
    return next((_package(point) for point in entry_points(group=GROUP, name=kind)), "")


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
