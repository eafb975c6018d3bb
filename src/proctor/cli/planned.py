"""How the commands of ``proctor pilot`` turn a pilot file into what was frozen of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.base.errors import UsageFault
from proctor.base.frozen import frozen
from proctor.execute.watch.prices import PriceTable
from proctor.study.pilot.model import Pilot
from proctor.study.pilot.plan import Plan, load_plan, plan_folder, refuse_changes
from proctor.study.pilot.suite import SuiteTask

if TYPE_CHECKING:
    from proctor.conduct.machine import Machine
    from proctor.contract.model import Contract
    from proctor.study.pilot.model import Method


@frozen
class Draft:
    """A pilot with its contracts, agents and prices looked up, and the protocol that they make."""

    pilot: Pilot
    suite: tuple[SuiteTask, ...]
    prices: PriceTable | None
    protocol: Mapping[str, Any]

    def task(self, name: str) -> SuiteTask:
        """The task of this name."""
        return next(task for task in self.suite if task.name == name)


def draft(machine: Machine, path: Path) -> Draft:
    """The pilot in the file ``path`` as it is now; every mistake in it and in its contracts is told at once."""
    from proctor.cli.wiring import read_prices, refuse_secrets_in_files
    from proctor.study.pilot.file import load_pilot
    from proctor.study.pilot.model import agent_files, located
    from proctor.study.pilot.protocol import protocol_of
    from proctor.study.pilot.suite import load_suite

    pilot = load_pilot(path)
    suite = load_suite(pilot, lambda contract: _tier(machine, contract), machine.home.parsed)
    prices = read_prices(str(located(pilot, pilot.prices)) if pilot.prices else "")
    for method in pilot.methods:
        for task in suite:
            refuse_secrets_in_files(task.loaded, agent_files(pilot, method))
    protocol = protocol_of(pilot, suite, lambda method: _identity(machine, pilot, method), prices)
    return Draft(pilot, suite, prices, protocol)


def planned(machine: Machine, path: Path, folder: Path | None = None) -> tuple[Draft, Plan]:
    """The pilot and its frozen plan; refused when it was not planned, has changed since, or the plan was touched."""
    made = draft(machine, path)
    plan = load_plan(folder or plan_folder(made.pilot))
    refuse_changes(plan, made.protocol)
    return made, plan


def runs_of_pilot(machine: Machine, digest: str) -> int:
    """How many runs carry the pilot's digest, finished or not."""
    from proctor.base.errors import ProctorError
    from proctor.record.rundir import RunDirectory

    found = 0
    for path in sorted(machine.home.runs.iterdir()):
        run = RunDirectory(path)
        try:
            found += run.read_json(run.manifest)["configuration"].get("pilot") == digest
        except (ProctorError, OSError, KeyError, TypeError, AttributeError):
            continue
    return found


def _tier(machine: Machine, contract: Contract) -> str:
    """The tier of a contract by its measures; empty where one that should be there cannot be taken here."""
    from proctor.author.complexity import complexity

    found = complexity(contract, machine.store, machine.inputs)
    return "" if set(found.unknown) - {"test_seconds"} else found.tier


def _identity(machine: Machine, pilot: Pilot, method: Method) -> str:
    """The digest of a method's agent; baselines have none, their contracts pin what they do."""
    from proctor.cli.wiring import identified_agent
    from proctor.study.pilot.model import agent_files, agent_words, model_settings

    if method.baseline:
        return ""
    words = agent_words(pilot, method, pilot.tasks[0])
    settings = model_settings(pilot, method)
    try:
        return identified_agent(machine, words, agent_files(pilot, method), method.model, settings).digest
    except UsageFault as fault:
        raise UsageFault(fault.message, where=f"{pilot.file}: method {method.name}", hint=fault.hint) from None
