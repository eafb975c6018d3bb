"""From ``kind:argument`` to an agent. Kinds of other packages come in through the entry point group ``proctor.agents``.

An entry point names a callable that takes an :class:`AgentRequest` and returns an agent. Built-in kinds cannot be
replaced.
"""

from __future__ import annotations

from collections.abc import Callable

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.table import NAMES as ADAPTED
from proctor.execute.agents.command import CommandAgent
from proctor.execute.agents.interface import Agent, AgentRequest
from proctor.execute.agents.noop import NoopAgent
from proctor.execute.agents.patch import PatchAgent

GROUP = "proctor.agents"

BUILT_IN: dict[str, Callable[[AgentRequest], Agent]] = {
    "noop": NoopAgent.from_request,
    "reference": PatchAgent.reference,
    "patch": PatchAgent.from_request,
    "command": CommandAgent.from_request,
}

WORDS = {
    "noop": "changes nothing; every contract must fail it",
    "reference": "hands over the contract's reference solution",
    "patch": "hands over a patch file: patch:FILE",
    "command": "runs any program in the sandbox: 'command:PROGRAM ARGUMENTS'",
}


def make_agent(request: AgentRequest) -> Agent:
    """The agent that was asked for."""
    maker = BUILT_IN.get(request.kind) or _adapted(request.kind) or plug_ins().get(request.kind)
    if maker is None:
        known = ", ".join([*BUILT_IN, *ADAPTED, *plug_ins()])
        raise UsageFault(f"there is no agent {request.kind!r}", hint=f"known agents: {known}")
    return maker(request)


def _adapted(kind: str) -> Callable[[AgentRequest], Agent] | None:
    """The maker of an agent that is installed through an adapter."""
    if kind not in ADAPTED:
        return None
    from proctor.execute.agents.adapted import AdaptedAgent

    return AdaptedAgent.from_request


def plug_ins() -> dict[str, Callable[[AgentRequest], Agent]]:
    """The kinds that installed packages add; they are imported only when they are used."""
    from importlib.metadata import entry_points

    found: dict[str, Callable[[AgentRequest], Agent]] = {}
    for point in entry_points(group=GROUP):
        if point.name not in BUILT_IN and point.name not in ADAPTED:
            found[point.name] = _loader(point.load)
    return found


def _loader(load: Callable[[], Callable[[AgentRequest], Agent]]) -> Callable[[AgentRequest], Agent]:
    def make(request: AgentRequest) -> Agent:
        try:
            return load()(request)
        except ImportError as error:
            raise UsageFault(f"the plug-in for agent {request.kind!r} cannot be loaded: {error}") from None

    return make
