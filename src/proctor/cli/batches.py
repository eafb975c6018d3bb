"""How ``run``, ``validate`` and ``demo`` turn contracts and an agent into a batch and fill it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.base.errors import ContractError, Mistake, UsageFault
from proctor.base.frozen import EMPTY, frozen
from proctor.cli.progress import Progress
from proctor.cli.wiring import agent_for, check_agent, planned_model, read_prices, refuse_secrets_in_files
from proctor.conduct.batch import (
    Batch,
    BatchResult,
    Place,
    finished_places,
    load_batch,
    new_batch,
    run_places,
    save_batch,
)
from proctor.conduct.machine import Machine
from proctor.contract.digest import content_id
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.agents.interface import Agent
from proctor.execute.prepare import Prepared
from proctor.execute.workspace.store import hold
from proctor.record.rundir import RunDirectory

if TYPE_CHECKING:
    from proctor.conduct.model import ModelPlan


@frozen
class Plan:
    """A batch, the contracts it names, the places that are still to be filled, and what came of the others."""

    batch: Batch
    contracts: dict[str, Contract]
    places: tuple[Place, ...]
    earlier: tuple[Mapping[str, str], ...] = ()

    @property
    def jobs(self) -> int:
        """How many runs went side by side when the batch began."""
        return int(self.batch.settings.get("jobs", "1"))


def begin(
    machine: Machine,
    paths: Iterable[Path],
    agents: Sequence[str],
    agent_files: str = "",
    repeats: int = 1,
    jobs: int = 1,
    models: Sequence[str] = (),
    settings: Mapping[str, str] = EMPTY,
) -> Plan:
    """A new batch. Every contract is loaded first, so that all mistakes are told before anything runs.

    ``settings`` are kept with the batch: the price table, envelopes, and the options of the models.
    """
    contracts = _load_all(paths, machine)
    files = str(Path(agent_files).absolute()) if agent_files else ""
    pairs = [(_absolute_patch(agent), model) for agent in agents for model in models or ("",)]
    kept = {"jobs": str(jobs), **settings}
    if kept.get("prices"):
        kept["prices"] = str(Path(kept["prices"]).absolute())
    for words, model in pairs:
        check_agent(machine, words, files, model, kept)
    for contract in contracts.values():
        refuse_secrets_in_files(contract, files)
    read_prices(kept.get("prices", ""))
    named = [(path, content_id(contract)) for path, contract in contracts.items()]
    batch = new_batch(machine.clock, machine.entropy, pairs, files, named, repeats, kept)
    save_batch(machine.home, batch)
    return Plan(batch, contracts, batch.places)


def take_up(machine: Machine, batch_id: str) -> Plan:
    """The rest of an earlier batch; its contracts must still be what they were."""
    batch = load_batch(machine.home, batch_id)
    done = finished_places(machine.home, batch)
    places = tuple(place for place in batch.places if place not in done)
    contracts = _load_all((Path(path) for path in dict.fromkeys(place.contract for place in places)), machine)
    for contract in contracts.values():
        refuse_secrets_in_files(contract, batch.agent_files)
    for place in places:
        if content_id(contracts[place.contract]) != place.content_id:
            raise UsageFault(
                "the contract has changed since the batch began",
                where=place.contract,
                hint="begin a new batch: runs of different versions are not counted together",
            )
    return Plan(batch, contracts, places, tuple(_finished(RunDirectory(path)) for path in done.values()))


def _finished(run: RunDirectory) -> Mapping[str, str]:
    """What decides the exit code of a batch, of a run that was made before; one that says nothing decided nothing."""
    report = run.read_json(run.report)
    return {
        "run": run.path.name,
        "status": str(report.get("status", "invalid")),
        "attribution": str(report.get("attribution", "")),
    }


def fill(machine: Machine, plan: Plan, jobs: int, *, quiet: bool) -> BatchResult:
    """Run what is left of a plan. What its contracts were made of stays in the caches until the last run has ended."""
    ready: dict[str, Prepared] = {}
    building = threading.Lock()

    def prepared(place: Place) -> Prepared:
        with building:
            if place.contract not in ready:
                made = machine.prepare(plan.contracts[place.contract])
                for layer in made.layers:
                    held.callback(os.close, hold(layer))
                ready[place.contract] = made
            return ready[place.contract]

    def attempt(place: Place, prepared: Prepared) -> tuple[Agent, ModelPlan | None]:
        settings = plan.batch.settings
        agent = agent_for(place.agent, plan.batch.agent_files, prepared, machine, place.model, settings)
        return agent, planned_model(place.model, settings)

    prices = read_prices(plan.batch.settings.get("prices", ""))
    total = len(plan.batch.places)
    progress = Progress(total, total - len(plan.places), quiet=quiet)
    with ExitStack() as held, machine.inputs.in_use(), progress:
        return run_places(machine, plan.batch, plan.places, prepared, attempt, progress, jobs, prices)


def _load_all(paths: Iterable[Path], machine: Machine) -> dict[str, Contract]:
    contracts: dict[str, Contract] = {}
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            contracts[str(path.absolute())] = load_contract(path, memory=machine.home.parsed)
        except ContractError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ContractError(mistakes)
    return contracts


def _absolute_patch(agent: str) -> str:
    """A patch file is remembered by its full path, so that the batch can be resumed from anywhere."""
    kind, _, argument = agent.partition(":")
    return f"patch:{Path(argument).absolute()}" if kind == "patch" and argument else agent
