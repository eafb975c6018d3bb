"""The tasks of a pilot with their contracts read: content ids, caps and the stratum of each.

Every mistake in the pilot's tasks and in the contracts that they name is reported at once. A stratum is made of the
labels that the pilot asks for: the task's own first, then the contract's, then what can be measured (``complexity``) or
is a field of the contract (``kind``). A measured label needs the repository; if it is not available, the label must be
written in the pilot file, because a stratum must not depend on the files of a machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from proctor.base.canonical import sha256
from proctor.base.errors import ContractError, InfrastructureFault, Mistake, ProctorError, UsageFault
from proctor.base.files import read_bounded
from proctor.contract.digest import content_id
from proctor.contract.load import load_contract
from proctor.contract.model import Contract
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.study.pilot.plan.pilot_model import Pilot, Task, located

ALL = "all"
"""The stratum of every task where a pilot names no labels."""

BETWEEN = " / "

Tier = Callable[[Contract], str]
"""The measured tier of a contract; empty if something that it needs is not available."""


@dataclass(frozen=True)
class SuiteTask:
    """One task: the contract that was read, its content id, and its stratum with the labels that make it."""

    task: Task
    path: Path
    loaded: Contract
    contract: str
    strata: Mapping[str, str]
    stratum: str
    human_patch: str = ""

    @property
    def name(self) -> str:
        """What the plan calls the task: the contract's name."""
        return self.loaded.name


def load_suite(pilot: Pilot, tier: Tier, memory: Path | None = None) -> tuple[SuiteTask, ...]:
    """The tasks in the order of the file; :class:`ContractError` with every mistake otherwise."""
    mistakes: list[Mistake] = []
    found: list[SuiteTask] = []
    for task in pilot.tasks:
        try:
            contract = load_contract(located(pilot, task.contract), memory=memory)
        except ContractError as error:
            mistakes += error.mistakes
            continue
        strata = _strata(pilot, task, contract, tier, mistakes)
        if pilot.baselines.reference and contract.reference is None:
            words = f"{contract.name} has no reference, and baselines.reference asks for one"
            mistakes.append(_mistake(pilot, task, words, "add one to the contract, or write reference: false"))
        patch = file_digest(pilot, task.human_patch, PATCH_BYTES) if task.human_patch else ""
        made = SuiteTask(
            task=task,
            path=located(pilot, task.contract).absolute(),
            loaded=contract,
            contract=content_id(contract),
            strata=MappingProxyType(strata),
            stratum=BETWEEN.join(strata.values()) or ALL,
            human_patch=patch,
        )
        mistakes += _twins(pilot, made, found)
        found.append(made)
    mistakes += _stage_one(pilot, found) if len(found) == len(pilot.tasks) else []
    if mistakes:
        raise ContractError(mistakes)
    return tuple(found)


def file_digest(pilot: Pilot, path: str, limit_bytes: int) -> str:
    """The digest of a file that the pilot names."""
    try:
        return sha256(read_bounded(Path(os.path.realpath(located(pilot, path))), limit_bytes))
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}", where=str(pilot.file)) from None
    except InfrastructureFault as fault:
        raise UsageFault(f"{path} is {fault.message}", where=str(pilot.file)) from None


def _strata(pilot: Pilot, task: Task, contract: Contract, tier: Tier, mistakes: list[Mistake]) -> dict[str, str]:
    found: dict[str, str] = {}
    for label in pilot.strata:
        value = task.strata.get(label) or contract.strata.get(label, "")
        hint = f"write it under strata of the task: {{{label}: ...}}"
        if not value and label == "kind":
            value = contract.kind
        elif not value and label == "complexity":
            try:
                value = tier(contract)
            except ProctorError as error:
                hint = f"{error.message}; {hint}"
            if not value:
                hint = f"its repository is not on this machine (proctor validate fetches it); or {hint}"
        if not value:
            mistakes.append(
                _mistake(pilot, task, f"{contract.name} has no label {label!r}, which strata asks for", hint)
            )
        found[label] = value
    return found


def _twins(pilot: Pilot, made: SuiteTask, others: list[SuiteTask]) -> list[Mistake]:
    """Each task has its own name, and no contract counts twice."""
    for other in others:
        if made.name == other.name:  # which is part of the content
            same = "the same contract as" if made.contract == other.contract else "another contract of the name of"
            words = f"{made.name} is {same} the task in line {other.task.line}"
            return [_mistake(pilot, made.task, words, "a task counts once")]
    return []


def _stage_one(pilot: Pilot, tasks: list[SuiteTask]) -> list[Mistake]:
    """Stage one has a task of every stratum."""
    strata = len({task.stratum for task in tasks})
    if 0 < pilot.stages.one_tasks < strata:
        words = f"stage one has {pilot.stages.one_tasks} tasks and there are {strata} strata"
        return [Mistake(str(pilot.file), 0, 0, words, "give it one of each stratum at least: stages.one.tasks")]
    return []


def _mistake(pilot: Pilot, task: Task, words: str, hint: str) -> Mistake:
    return Mistake(str(pilot.file), task.line, task.column, words, hint)
