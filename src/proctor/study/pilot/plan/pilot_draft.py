"""A pilot file with its contracts, agents and prices looked up, and how it differs from its frozen plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.author.task_complexity import complexity
from proctor.base.errors import ContractError, Mistake, ProctorError, UsageFault
from proctor.conduct.machine_setup import Machine, open_machine
from proctor.conduct.session.agent_selection import asked_agent, kind_of, require_agent
from proctor.conduct.session.agent_setup import identified_agent, refuse_secrets_in_files
from proctor.conduct.session.model_options import read_prices, require_prices
from proctor.contract.model import Contract
from proctor.execute.agents.interface import AgentDescription
from proctor.execute.agents.options import option_settings
from proctor.execute.monitor.price_table import PriceTable
from proctor.execute.proctor_home import Home
from proctor.record.run_directory import RunDirectory
from proctor.study.pilot.plan.frozen_plan import Plan, changed_lines, load_plan, plan_folder, refuse_changes
from proctor.study.pilot.plan.pilot_file import load_pilot
from proctor.study.pilot.plan.pilot_model import Pilot, agent_files, agent_words, located, model_settings
from proctor.study.pilot.plan.protocol import protocol_of
from proctor.study.pilot.plan.task_suite import SuiteTask, load_suite

_FIELDS = {
    "--agent-files": "files",
    **{
        f"--{name.replace('_', '-')}": name
        for name in (
            "agent",
            "model",
            "endpoint",
            "key_env",
            "key_file",
            "dialect",
            "script",
            "provider_tools",
            "unknown_fields",
        )
    },
}
"""What an option of ``proctor run`` is called in a pilot file."""


@dataclass(frozen=True)
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
    """The pilot in the file ``path`` as it is now.

    All mistakes in the file are reported together; if it has none, so are all mistakes in its contracts and its agents.
    """
    pilot = load_pilot(path)
    suite: tuple[SuiteTask, ...] = ()
    mistakes: list[Mistake] = []
    try:
        suite = load_suite(pilot, lambda contract: _tier(machine, contract), machine.home.parsed)
    except ContractError as error:
        mistakes += error.mistakes
    known = _identities(machine, pilot, suite, mistakes)
    if mistakes:
        raise ContractError(mistakes)
    prices = read_prices(str(located(pilot, pilot.prices)) if pilot.prices else "")
    require_prices(prices, pilot.prices, _model_names(pilot))
    protocol = protocol_of(
        pilot,
        suite,
        lambda method: known[method.name].digest if method.name in known else "",
        prices,
        lambda method: option_settings(known[method.name].settings) if method.name in known else {},
    )
    return Draft(pilot, suite, prices, protocol)


def planned(machine: Machine, path: Path, folder: Path | None = None) -> tuple[Draft, Plan]:
    """The pilot and its frozen plan; refused when it was not planned, has changed since, or the plan was modified."""
    made = draft(machine, path)
    plan = load_plan(folder or plan_folder(made.pilot))
    refuse_changes(plan, made.protocol)
    return made, plan


def plan_alone(path: Path, folder: Path | None) -> Plan:
    """The plan of the pilot in the file ``path``: reading a plan needs neither the file nor its contracts."""
    place = folder or path.with_suffix(".plan")
    if not path.exists() and not place.exists():
        raise UsageFault("does not exist", where=str(path), hint="name the YAML file of a pilot")
    return load_plan(place)


def changed_since(place: Home, path: Path, plan: Plan) -> list[str]:
    """In what the pilot file differs from its plan by now, which ``pilot run`` will refuse.

    If there is no home yet, none is created.
    """
    if not path.is_file():
        return ["the pilot file is not there"]
    if not place.path.is_dir():
        return []
    try:
        return changed_lines(plan, draft(open_machine(place, None, lambda warning: None), path).protocol)
    except ProctorError as error:
        return [f"the pilot file cannot be read as it was: {error.message}"]


def runs_of_pilot(machine: Machine, digest: str) -> int:
    """How many runs carry the pilot's digest, finished or not."""
    found = 0
    for path in sorted(machine.home.runs.iterdir()):
        run = RunDirectory(path)
        try:
            manifest = run.read_json(run.manifest)
            found += manifest["configuration"].get("pilot") == digest and manifest["run"] == path.name
        except (ProctorError, OSError, KeyError, TypeError, AttributeError):
            continue
    return found


def _tier(machine: Machine, contract: Contract) -> str:
    """The tier of a contract by its measures; empty if one that it needs cannot be measured here."""
    found = complexity(contract, machine.store, machine.inputs)
    return "" if set(found.unknown) - {"test_seconds"} else found.tier


def _identities(
    machine: Machine, pilot: Pilot, suite: tuple[SuiteTask, ...], mistakes: list[Mistake]
) -> dict[str, AgentDescription]:
    """The description of each method's agent; baselines have none, their contracts pin what they do.

    What is wrong with an agent is added to ``mistakes``, with its place in the pilot file.
    """
    found: dict[str, AgentDescription] = {}
    for method in pilot.methods:
        files, settings = agent_files(pilot, method), model_settings(pilot, method)
        words = agent_words(pilot, method, pilot.tasks[0])
        try:
            require_agent(kind_of(words))
            found[method.name] = identified_agent(machine, words, files, method.model, settings)
            for task in suite:
                refuse_secrets_in_files(machine, task.loaded, words, files, settings)
        except UsageFault as fault:
            told = f"method {method.name}: {_as_fields(fault.message)}"
            mistakes.append(Mistake(str(pilot.file), method.line, method.column, told, _as_fields(fault.hint)))
    return found


def _model_names(pilot: Pilot) -> list[str]:
    """The names of all models that the methods of ``pilot`` may ask for."""
    found = []
    for method in pilot.methods:
        if method.model:
            asked = asked_agent(agent_words(pilot, method, pilot.tasks[0]), model_settings(pilot, method))
            found += [method.model.partition("/")[2], asked.wanted.small_model]
    return [name for name in found if name]


def _as_fields(words: str) -> str:
    """Advice for the command line as advice for a pilot file: its fields have the names of the options."""
    for option, field in _FIELDS.items():
        words = re.sub(rf"\buse {option} (?!and\b)", f"write {field}: ", words)
        words = re.sub(rf"(?<![\w-]){option}(?![\w-])", field, words)
    return words
