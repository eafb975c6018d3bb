"""The agent that a command names: found, checked and described, with its options, files and model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.base.entry_points import PlugIns
from proctor.base.errors import UsageFault
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.conduct.run.control import Interrupted
from proctor.conduct.run.model_connection import ModelPlan
from proctor.conduct.session.agent_selection import asked_agent, kind_of, require_agent, typed_options
from proctor.conduct.session.model_options import dialects_of, plan_model, settings_of_model
from proctor.contract.model import Contract
from proctor.execute.agents.agent_file import parse_agent
from proctor.execute.agents.interface import Agent, AgentContext, AgentDescription, AgentRequest, Ending
from proctor.execute.agents.options import option_name
from proctor.execute.agents.registry import (
    NO_MODEL,
    PLUG_INS,
    WITHOUT_MODEL,
    description_problems,
    ending_problems,
    make_agent,
    table_of,
)
from proctor.execute.agents.resolve_options import WithOptions, refuse_others, resolve
from proctor.execute.prepare import PreparedBase
from proctor.execute.sandbox.interface import Mount


def agent_for(
    agent: str,
    files: str,
    prepared: PreparedBase,
    machine: Machine,
    model: str = "",
    settings: Mapping[str, str] = EMPTY,
) -> Agent:
    """The agent in ``agent``, the value of ``--agent``, for one prepared contract and its model."""

    def reference() -> bytes:
        with machine.scratch("reference") as scratch:
            return reference_patch(prepared, scratch)

    return _made(_request(machine, agent, files, model, settings, reference))


def acts_in_sandbox(agent: str) -> bool:
    """Whether the agent acts in a sandbox, and does not only supply a patch."""
    return kind_of(agent) not in WITHOUT_MODEL


class PlugIn:
    """An agent of another package. Whatever fails in its code makes its own run invalid and ends nothing else.

    The package and its version are part of the settings in its description.
    """

    def __init__(self, agent: Agent, kind: str, table: PlugIns[Any]) -> None:
        self.needs_sandbox = agent.needs_sandbox
        self._agent = agent
        self._kind, self._table = kind, table
        self._package = table.package(kind) if table is PLUG_INS else None

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the options set for the agent and for what it starts."""
        return self._agent.variables if isinstance(self._agent, WithOptions) else EMPTY

    def describe(self) -> AgentDescription:
        with self._table.blamed(self._kind):
            described = self._agent.describe()
        if self._package is None or any(description_problems(described)):
            return described
        own = {"agent_package": self._package.name, "agent_version": self._package.version}
        return replace(described, settings={**described.settings, **own})

    def mounts(self) -> tuple[Mount, ...]:
        with self._table.blamed(self._kind):
            return self._agent.mounts()

    def act(self, scene: AgentContext) -> Ending:
        """Let the agent act; :class:`InfrastructureFault` for an error in its code."""
        with self._table.at_work(self._kind, Interrupted):
            ending = self._agent.act(scene)
        problem = next(ending_problems(ending, self.needs_sandbox), "")
        if problem:
            raise self._table.failed(self._kind, f"act() returns {problem}")
        return ending


def _made(request: AgentRequest) -> Agent:
    """The agent of ``request``. An exception in the code of another package is reported as an error of that package."""
    kind = request.argument.partition("@")[0] if request.kind == "acp" else request.kind
    table = table_of(kind)
    if table is None:
        return make_agent(request)
    with table.blamed(kind):
        return PlugIn(make_agent(request), kind, table)


def planned_model(agent: str, model: str, settings: Mapping[str, str]) -> ModelPlan | None:
    """The model of a run of ``agent``, by the settings of its batch; nothing if none was requested."""
    if not model:
        return None
    return plan_model(model, settings_of_model(model, settings, asked_agent(agent, settings)))


def _request(
    machine: Machine,
    agent: str,
    files: str,
    model: str,
    settings: Mapping[str, str],
    reference: Callable[[], bytes],
) -> AgentRequest:
    asked = asked_agent(agent, settings)
    kind, version, argument = parse_agent(asked.agent)
    require_agent(kind)
    typed = typed_options(settings)
    refuse_others(kind, argument, asked.wanted, typed, str(asked.path or ""))
    dialects: tuple[str, ...] = ()
    if model:
        dialects = dialects_of(model, settings_of_model(model, settings, asked))
    brings = bool(files or asked.wanted.skills)
    copied_to = machine.place_of_copies(kept=not settings.get("redact_secrets")) if brings else None
    hint = f"proctor agents install {asked.path}"
    places = {**asked.places, **{name: option_name(name) for name in typed}}
    options, provided = resolve(asked.wanted, machine.home.agents, copied_to, machine.copies, hint, places)
    return AgentRequest(
        kind=kind,
        argument=argument,
        files=Path(files) if files else None,
        reference=reference,
        model=model.partition("/")[2],
        dialects=dialects,
        installations=machine.home.agents,
        copies=machine.copies,
        copied_to=copied_to,
        version=version,
        name=asked.name,
        options=options,
        provided=provided,
    )


def described_agent(
    machine: Machine, agent: str, files: str, model: str, settings: Mapping[str, str]
) -> AgentDescription:
    """What identifies the agent that is asked for; an agent that does not exist is reported before a missing key."""
    require_agent(kind_of(agent))
    planned_model(agent, model, settings)
    return identified_agent(machine, agent, files, model, settings)


def identified_agent(
    machine: Machine, agent: str, files: str, model: str, settings: Mapping[str, str]
) -> AgentDescription:
    """The same where no key is needed yet, because nothing is run."""
    kind = kind_of(agent)
    if model and kind in NO_MODEL:
        program = ", or as 'endpoint:PROGRAM ARGUMENTS'" if kind == "command" else ""
        hint = f"run it without --model{program}"
        raise UsageFault(f"the agent {kind} uses no model", where=f"--model {model}", hint=hint)
    return _made(_request(machine, agent, files, model, settings, bytes)).describe()


def refuse_secrets_in_files(
    machine: Machine, contract: Contract, agent: str, files: str, settings: Mapping[str, str]
) -> None:
    """An agent must not be handed the contract or Proctor's home: they hold hidden files and the reference.

    This is about its files, its rules and its skills.
    """
    wanted = asked_agent(agent, settings).wanted
    for path in filter(None, (files, *wanted.rules, wanted.skills)):
        shown = Path(path).resolve()
        for held, what in (
            (contract.directory.resolve(), "the contract"),
            (machine.home.path.resolve(), "Proctor's home"),
        ):
            if held.is_relative_to(shown) or shown.is_relative_to(held):
                raise UsageFault(f"the agent's files and {what} overlap", where=path)
