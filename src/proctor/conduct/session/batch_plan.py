"""Batches of runs: contracts and agents become a batch, and its runs are made or resumed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ContractError, Mistake, UsageFault
from proctor.conduct.batch.batch_record import (
    RETRIES,
    Batch,
    Place,
    RedactedTexts,
    RunAttempt,
    batch_lock,
    finished_places,
    load_batch,
    new_batch,
    newest_batch,
    save_batch,
    tries_left,
)
from proctor.conduct.batch.batch_runs import BatchResult, BatchWatcher, run_places
from proctor.conduct.inverted_pools import ensure_pool
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.model_connection import ModelPlan
from proctor.conduct.session.agent_selection import asked_agent, kind_of
from proctor.conduct.session.agent_setup import (
    acts_in_sandbox,
    agent_for,
    described_agent,
    planned_model,
    refuse_secrets_in_files,
)
from proctor.conduct.session.model_options import read_prices, require_prices
from proctor.contract.digest import content_id
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.agents.agent_file import is_agent_file
from proctor.execute.agents.interface import Agent
from proctor.execute.agents.registry import WITHOUT_FILES
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.layer_store import hold
from proctor.record.report_model import read_report
from proctor.record.run_directory import RunDirectory


@dataclass(frozen=True)
class Plan:
    """A batch, its contracts, the places that are still to be filled, and the results of the others.

    ``held`` is the lock on the batch, from before its places are read until they are filled.
    """

    batch: Batch
    contracts: dict[str, Contract]
    places: tuple[Place | RunAttempt, ...]
    held: ExitStack
    earlier: tuple[Mapping[str, str], ...] = ()

    @property
    def jobs(self) -> int:
        """How many parallel runs the batch began with."""
        return int(self.batch.settings.get("jobs", "1"))


def begin_batch(
    machine: Machine,
    paths: Iterable[Path],
    agents: Sequence[str],
    agent_files: str = "",
    repeats: int = 1,
    jobs: int = 1,
    models: Sequence[str] = (),
    settings: Mapping[str, str] = EMPTY,
) -> Plan:
    """A new batch. Every contract is loaded first, so that all mistakes are reported before anything runs.

    ``settings`` are kept with the batch: the price table, envelopes, and the options of the models.
    """
    agents = [absolute_agent(agent) for agent in agents]
    _require_once("--agent", agents)
    _require_once("--model", models)
    _require_names(agents, settings)
    contracts = _load_all(paths, machine, settings)
    files = str(Path(agent_files).absolute()) if agent_files else ""
    if files:
        _require_takes_files(agents)
    pairs = [(agent, model) for agent in agents for model in models_of(agent, models)]
    kept = {"jobs": str(jobs), **settings}
    if kept.get("prices"):
        kept["prices"] = str(Path(kept["prices"]).absolute())
    digests = {(texts, model): described_agent(machine, texts, files, model, kept).digest for texts, model in pairs}
    for contract in contracts.values():
        for agent in agents:
            refuse_secrets_in_files(machine, contract, agent, files, kept)
    _require_prices(kept, pairs)
    machine.require(contracts.values(), acting=any(acts_in_sandbox(texts) for texts, _ in pairs), model=any(models))
    machine.require_no_answers_in_images(contracts.values())
    named = [(path, content_id(contract)) for path, contract in contracts.items()]
    batch = new_batch(machine.clock, machine.entropy, digests, files, named, repeats, kept)
    with ExitStack() as held:
        held.enter_context(batch_lock(machine.home, batch.id))
        save_batch(machine.home, batch)
        return Plan(batch, contracts, batch.places, held.pop_all())


def _require_prices(settings: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse a price table that does not price every model that the agents of ``pairs`` may ask for."""
    path = settings.get("prices", "")
    plans = [plan for agent, model in pairs if (plan := planned_model(agent, model, settings)) is not None]
    require_prices(read_prices(path), path, [name for plan in plans for name in plan.models])


def _require_once(option: str, values: Sequence[str]) -> None:
    """Refuse a value that is given twice, because it would count once."""
    for value in values:
        if values.count(value) > 1:
            hint = "give it once; -n 2 makes two runs of each contract"
            raise UsageFault("given more than once", where=f"{option} {value[:200]}", hint=hint)


def _require_names(agents: Sequence[str], settings: Mapping[str, str]) -> None:
    """Refuse one name for several agents: reports could not distinguish them."""
    seen: dict[str, str] = {}
    for agent in agents:
        name = asked_agent(agent, settings).name
        if name and seen.setdefault(name, agent) != agent:
            hint = "give each agent file a name of its own" if is_agent_file(agent) else "use --name with one agent"
            raise UsageFault(f"two agents have the name {name}", where=f"--agent {agent[:200]}", hint=hint)


def models_of(agent: str, models: Sequence[str]) -> tuple[str, ...]:
    """The models that ``agent`` is run with: the one of its agent file, or those of the command line."""
    own = asked_agent(agent).model
    return (own,) if own else tuple(models) or ("",)


def matrix_of(agents: Sequence[str], models: Sequence[str], notify: Callable[[str], None]) -> list[str]:
    """All models of a command, each once; a message names agents whose file sets another model.

    A model of the command line that no agent uses is refused.
    """
    matrix = list(dict.fromkeys(model for agent in agents for model in models_of(agent, models) if model))
    idle = [model for model in models if model not in matrix]
    own = {agent[:200]: model for agent in agents if (model := asked_agent(agent).model)} if models else {}
    for agent, model in own.items():
        if idle:
            raise UsageFault(
                f"no agent uses it: {agent} has the model {model}",
                where=f"--model {idle[0][:100]}",
                hint=f"leave out --model {idle[0][:100]}, or remove 'model' from {agent}",
            )
        if model not in models:
            notify(f"{agent} is run with its own model {model}; --model is for the other agents")
    return matrix


def _require_takes_files(agents: Sequence[str]) -> None:
    """Refuse files for agents of which some cannot use any: all agents of a batch get the same."""
    without = [agent for agent in agents if kind_of(agent) in WITHOUT_FILES]
    if without:
        mixed = len(without) < len(agents)
        hint = "run these agents without --agent-files, in a batch of their own" if mixed else "leave out --agent-files"
        raise UsageFault(f"cannot be used by {', '.join(without)}", where="--agent-files", hint=hint)


def reopen_batch(machine: Machine, batch_id: str, agents: Sequence[str] = (), retries: int | None = None) -> Plan:
    """The rest of an earlier batch; its contracts and agents must still be what they were.

    ``agents`` are the values of --agent that contained a secret: the batch itself does not store them. ``retries`` says
    how often invalid runs are repeated from now on.
    """
    batch = load_batch(machine.home, batch_id) if batch_id else newest_batch(machine.home)
    if batch.settings.get("pilot"):
        raise UsageFault(f"batch {batch.id} belongs to a pilot", hint="continue it with: proctor pilot run PILOT")
    with ExitStack() as held:
        held.enter_context(batch_lock(machine.home, batch.id))
        if retries is not None:
            batch = replace(batch, settings={**batch.settings, RETRIES: str(retries)})
            save_batch(machine.home, batch)
        left = tries_left(machine.home, batch)
        places = tuple(one.place for one in left)
        done = {place: run for place, run in finished_places(machine.home, batch).items() if place not in places}
        texts = RedactedTexts(machine.home, batch.settings)
        _require_shown(texts, batch, places)
        _require_known(texts, batch, agents)
        asked = texts.again(list(dict.fromkeys(place.agent for place in places)), agents)
        paths = dict.fromkeys(place.contract for place in places)
        contracts = _load_all((Path(path) for path in paths), machine, batch.settings)
        for contract in contracts.values():
            for agent in asked.values():
                refuse_secrets_in_files(machine, contract, agent, batch.agent_files, batch.settings)
        for place in places:
            if content_id(contracts[place.contract]) != place.content_id:
                raise _changed("contract", place.contract)
        for pair in dict.fromkeys((place.agent, place.model) for place in places):
            agent, model = asked[pair[0]], pair[1]
            now = described_agent(machine, agent, batch.agent_files, model, batch.settings).digest
            now = texts.digest(agent, now)
            if now != batch.digests.get(pair, now):
                raise _changed("agent", pair[0])
        _require_prices(batch.settings, dict.fromkeys((asked[place.agent], place.model) for place in places))
        machine.require(
            contracts.values(),
            acting=any(acts_in_sandbox(place.agent) for place in places),
            model=any(place.model for place in places),
        )
        machine.require_no_answers_in_images(contracts.values())
        tries = tuple(replace(one, place=replace(one.place, agent=asked[one.place.agent])) for one in left)
        earlier = tuple(_finished(RunDirectory(path)) for path in done.values())
        return Plan(batch, contracts, tries, held.pop_all(), earlier)


def _require_shown(texts: RedactedTexts, batch: Batch, places: Iterable[Place]) -> None:
    """Refuse a batch if other parts than the values of --agent contained secrets."""
    rest = [("--agent-files", batch.agent_files)]
    rest += [(f"--{name.replace('_', '-')}", text) for name, text in batch.settings.items()]
    rest += [(name, text) for one in places for name, text in (("CONTRACT", one.contract), ("--model", one.model))]
    for name, text in rest:
        if texts.hidden(text):
            raise UsageFault(
                f"{name} contained a secret, which the batch does not store",
                where=text[:200],
                hint="start a new batch: proctor run CONTRACT... --agent AGENT --redact-secrets",
            )


def _require_known(texts: RedactedTexts, batch: Batch, agents: Iterable[str]) -> None:
    known = {place.agent for place in batch.places}
    for agent in agents:
        if texts.shown(agent) not in known:
            raise UsageFault(
                f"batch {batch.id} was started without this agent",
                where=f"--agent {texts.shown(agent)[:200]}",
                hint="with --resume, --agent is only for values that contained a secret",
            )


def _changed(what: str, where: str) -> UsageFault:
    return UsageFault(
        f"the {what} has changed since the batch began",
        where=where,
        hint="start a new batch: runs of different versions are not counted together",
    )


def resume_command(batch: Batch) -> str:
    """What runs the rest of ``batch``; nothing for those that other commands make for themselves."""
    return "" if batch.settings.get("command") else f"proctor run --resume --batch {batch.id}"


def _finished(run: RunDirectory) -> Mapping[str, str]:
    """What decides the exit code of a batch, of a run that was made before."""
    report = read_report(run)
    return {"run": run.path.name, "status": report.status, "attribution": report.attribution}


def fill(machine: Machine, plan: Plan, jobs: int, watcher: BatchWatcher) -> BatchResult:
    """Run what is left of a plan. What its contracts were made of stays in the caches until the last run has ended."""
    ready: dict[str, PreparedBase] = {}
    confirmable: set[str] = set()
    building = threading.Lock()

    def prepared(place: Place) -> PreparedBase:
        with building:
            if place.contract not in ready:
                made = machine.prepare(plan.contracts[place.contract])
                for layer in made.layers:
                    held.callback(os.close, hold(layer))
                ready[place.contract] = made
            made = ready[place.contract]
            if place.contract not in confirmable and place.agent != "noop":  # a no-op has nothing to confirm
                ensure_pool(machine, made, watcher.note)
                confirmable.add(place.contract)
            return made

    def attempt(place: Place, prepared: PreparedBase) -> tuple[Agent, ModelPlan | None]:
        settings = plan.batch.settings
        agent = agent_for(place.agent, plan.batch.agent_files, prepared, machine, place.model, settings)
        return agent, planned_model(place.agent, place.model, settings)

    prices = read_prices(plan.batch.settings.get("prices", ""))
    with plan.held, ExitStack() as held, machine.inputs.in_use():
        held.callback(machine.discard_copies)
        return run_places(machine, plan.batch, plan.places, prepared, attempt, watcher, jobs, prices)


def _load_all(paths: Iterable[Path], machine: Machine, settings: Mapping[str, str]) -> dict[str, Contract]:
    """The contracts at ``paths``, remembered for the next time unless secrets are to be taken out of the records."""
    memory = None if settings.get("redact_secrets") else machine.home.parsed
    contracts: dict[str, Contract] = {}
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            contracts[str(path.absolute())] = load_contract(path, memory=memory)
        except ContractError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ContractError(mistakes)
    return contracts


def absolute_agent(agent: str) -> str:
    """An agent file or a patch is remembered by its full path, so that the batch can be resumed from anywhere."""
    if is_agent_file(agent):
        return str(Path(agent).absolute())
    kind, _, argument = agent.partition(":")
    return f"patch:{Path(argument).absolute()}" if kind == "patch" and argument else agent
