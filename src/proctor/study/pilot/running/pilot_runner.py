"""Running a pilot: its checks, then its stages one after another, block by block, until it ends or is stopped.

The recorded runs determine what is left to do (``pilot.ledger``), so that a pilot which was cut off continues where it
stopped. Each decision is made between whole blocks. A stage whose entry conditions are not met is not run. ``fill``
makes the runs; this module does not know how agents are started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from proctor.author.flaky_tests import screen, survey
from proctor.author.patch_trial import ready
from proctor.base.canonical import canonical, sha256
from proctor.base.clock import new_run_id, utc_text
from proctor.base.errors import BudgetExceeded, InfrastructureFault, ProctorError, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.conduct.batch.batch_record import (
    METHOD_FILES,
    Batch,
    Place,
    batch_lock,
    batches_of,
    is_at_work,
    save_batch,
)
from proctor.conduct.batch.batch_runs import BatchResult
from proctor.conduct.briefing import setting_of
from proctor.conduct.machine_setup import Machine
from proctor.conduct.reference_patch import reference_patch
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.execute.monitor.price_table import plain
from proctor.execute.proctor_home import Home
from proctor.execute.requirements import room_problem
from proctor.study.analysis.plain_data import text_numbers
from proctor.study.pilot.ledger.costs_besides_runs import charged_by_task, rates_of
from proctor.study.pilot.ledger.journal import (
    AcceptedMachine,
    add_machine,
    add_screen,
    note_head,
    read_journal,
    require_head,
)
from proctor.study.pilot.ledger.machine_identity import Identify, Identity, digest_of, identity_here
from proctor.study.pilot.ledger.pilot_runs import CHECKS, Run, key_of, read_run, run_that_fills
from proctor.study.pilot.ledger.run_consistency import changes_since, note, require_same, wrong_home_fault
from proctor.study.pilot.plan.frozen_plan import Plan, note_amendments
from proctor.study.pilot.plan.pilot_model import (
    PREFACE_BYTES,
    STAGES,
    Method,
    Pilot,
    Variation,
    agent_files,
    agent_words,
    located,
    model_settings,
)
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.plan.task_suite import SuiteTask
from proctor.study.pilot.running.pilot_state import (
    OPEN,
    PilotState,
    Stage,
    read_pilot_state,
    record_of,
    stage_of,
    take_looks,
)
from proctor.study.pilot.running.stage_criteria import HUMAN, NOOP, REFERENCE
from proctor.study.pilot.running.stopping_rules import what_next

Fill = Callable[[Batch, Sequence[Place]], BatchResult]
"""Fills places of a batch and returns the results."""


class Paused(Exception):
    """The operator asked to stop; the same command runs the rest."""


@dataclass(frozen=True)
class PilotContext:
    """Everything that a pilot is run with. ``prices`` is the path of its price table, ``tell`` gets messages.

    ``charge`` is called with what was spent on each task in addition to its runs, before places are filled. ``accept``
    is why a machine that has changed may continue, and ``by`` is the user who accepts it; ``identify`` identifies this
    machine.
    """

    machine: Machine
    pilot: Pilot
    suite: tuple[SuiteTask, ...]
    plan: Plan
    fill: Fill
    prices: str
    jobs: int
    tell: Callable[[str], None]
    stopped: Callable[[], bool]
    charge: Callable[[Mapping[str, Decimal]], None] = lambda charged: None
    accept: str = ""
    by: str = ""
    identify: Identify | None = None

    def machines(self, tasks: Iterable[SuiteTask]) -> dict[str, Identity]:
        """The machine as it is now, for the contract of each task."""
        identify = self.identify or (lambda contract: identity_here(self.machine, contract))
        return {task.contract: identify(task.loaded) for task in tasks}

    def task(self, name: str) -> SuiteTask:
        """The task of this name."""
        return next(task for task in self.suite if task.name == name)


def method_named(pilot: Pilot, name: str) -> Method:
    """The arm of this name; the checks of a task use baselines that need not be arms."""
    known = {arm.name: arm for arm in pilot.arms}
    return known.get(name) or Method(name, "" if name == HUMAN else name, baseline=True)


def _lock_name(plan: Plan) -> str:
    return f"pilot-{plan.digest.removeprefix('sha256:')[:16]}"


def is_busy(home: Home, plan: Plan) -> bool:
    """Whether another process runs the pilot, or removes a task from it."""
    return is_at_work(home, _lock_name(plan))


@contextmanager
def alone(home: Home, plan: Plan) -> Iterator[None]:
    """Lock the pilot against other processes. Before and after, its journal must match the home's record of it."""
    name = _lock_name(plan)
    try:
        with batch_lock(home, name):
            require_head(plan, home)
            yield
            note_head(plan, home)
    except UsageFault as fault:
        if name not in fault.message:
            raise
        words = fault.message.replace(f"batch {name}", "the pilot")
        raise UsageFault(
            words, where=str(plan.folder), hint="proctor pilot status PILOT --watch shows its progress"
        ) from None


def run_pilot(scene: PilotContext) -> tuple[PilotState, tuple[Stage, ...]]:
    """Run what is left of a pilot, and return the state of each stage; the last one stopped or ended it."""
    with alone(scene.machine.home, scene.plan):
        here = read_pilot_state(scene.plan, scene.machine.home)
        _same_home(here)
        note_amendments(here.plan)
        note(here.plan, here.runs)
        here = take_looks(_with_notes(here).with_runs(()))
        note_head(here.plan, scene.machine.home)
        here = _accept_machine(scene, here)
        first = stage_of(here, STAGES[0])
        if first.beyond_means and not here.runs:
            return here, (first,)
        here = here if first.beyond_means else _check_tasks(scene, here)
        stages: list[Stage] = []
        for name in STAGES:
            stage = stage_of(here, name)
            if stage.verdict == OPEN:
                _write(here, stage)
                scene.tell(f"stage {name}")
                here = _run_stage(scene, here, name)
                stage = stage_of(here, name)
            _write(here, stage)
            stages.append(stage)
            if not stage.good:
                break
        return here, tuple(stages)


def _write(here: PilotState, stage: Stage) -> None:
    write_whole(here.plan.folder / f"stage-{stage.name}.json", canonical(text_numbers(record_of(here, stage))))


def _same_home(here: PilotState) -> None:
    """Refuse a pilot whose runs are in another home."""
    if not here.runs and any((here.plan.folder / f"stage-{name}.json").exists() for name in STAGES):
        raise wrong_home_fault(here.plan)


def _accept_machine(scene: PilotContext, here: PilotState) -> PilotState:
    """The state after recording a change of the machine, if there is one and the operator accepts it."""
    if not scene.accept:
        return here
    now = scene.machines(_in_pilot(scene, here))
    changes = changes_since(here.runs, now, _accepted(here))
    if not changes:
        return here
    at = utc_text(scene.machine.clock.wall_ns())
    identities = tuple(sorted({digest_of(one) for one in now.values()}))
    add_machine(here.plan, AcceptedMachine(changes, identities, scene.accept, scene.by, at, len(here.runs)))
    note_head(here.plan, scene.machine.home)
    return _with_notes(here)


def _accepted(here: PilotState) -> tuple[str, ...]:
    return here.journal.machines[-1].identities if here.journal.machines else ()


def _run_stage(scene: PilotContext, here: PilotState, name: str) -> PilotState:
    """Run blocks of a stage until none is left or a rule ends the pilot."""
    batch = _batch(scene, name, [slot for slot in here.ledger.wanted() if slot.stage == name])
    while True:
        facts = here.facts(name, name)
        ahead = what_next(facts.ledger, here.plan.protocol, name, facts.account, scene.jobs)
        if not ahead.blocks:
            return here
        left = [slot for block in ahead.blocks for slot in block if facts.ledger.run_that_fills(slot) is None]
        before = here
        here = _filled(scene, here, batch, [_place(scene, slot) for slot in left])
        if here is before:
            return here


def _filled(scene: PilotContext, here: PilotState, batch: Batch, places: Sequence[Place]) -> PilotState:
    """The state with the results of ``places``; an error that prevented the start of a run ends the command."""
    _require_room(scene.machine.home)
    contracts = {place.content_id for place in places}
    now = scene.machines(task for task in scene.suite if task.contract in contracts)
    require_same(changes_since(here.runs, now, _accepted(here)), str(here.plan.folder))
    scene.charge(charged_by_task(here.charges()))
    result = scene.fill(batch, places)
    made = tuple(read_run(outcome.directory) for _, outcome in result.outcomes)
    note(here.plan, made)
    note_head(here.plan, scene.machine.home)
    if result.stopped:
        raise Paused
    for place, error in result.errors:
        error.where = error.where or f"{place.method} on {place.contract}"
        raise error
    for place, refused in result.refused:
        hint = "raise the budgets in the pilot file and record the change: proctor pilot amend PILOT --why WHY"
        raise BudgetExceeded(refused.message, where=f"{place.method} on {place.contract}", hint=hint)
    _require_health(made)
    return take_looks(_with_notes(here).with_runs(made)) if made else here


def _with_notes(here: PilotState) -> PilotState:
    return replace(here, journal=read_journal(here.plan))


def _require_room(home: Home) -> None:
    """Refuse a full disk: every run on it would fail."""
    problem = room_problem(home)
    if problem:
        raise InfrastructureFault(problem, where=str(home.path), hint="free some space; the same command continues")


def _require_health(made: Sequence[Run]) -> None:
    """Stop if the machine made all of the last runs invalid, before it does so with the rest of the plan."""
    if len({run.key for run in made}) > 1 and all(run.spoilt for run in made):
        raise InfrastructureFault(
            f"faults of the machine made all of the last {len(made)} runs invalid: {made[-1].problem}",
            where=made[-1].run,
            hint="fix the cause; the same command continues, and repeats each run as often as retries allows",
        )


def _place(scene: PilotContext, slot: Slot) -> Place:
    task, method = scene.task(slot.task), method_named(scene.pilot, slot.method)
    words = agent_words(scene.pilot, method, task.task)
    return Place(str(task.path), slot.contract, slot.repeat, words, method.model, slot.method)


def _batch(scene: PilotContext, stage: str, slots: Sequence[Slot]) -> Batch:
    """The batch of a stage: the one with exactly these places and envelopes, or a new one."""
    places = tuple(_place(scene, slot) for slot in slots)
    budgets = scene.plan.protocol["budgets"]
    caps = {"batch_usd": budgets["pilot_usd"], "task_usd": budgets["task_usd"], "run_usd": budgets["run_usd"]}
    settings = {
        "command": "pilot",
        "pilot": scene.plan.digest,
        "stage": stage,
        "prices": scene.prices,
        **({"rehearse": "yes"} if stage == CHECKS else _variations(scene)),
        **{name: cap for name, cap in caps.items() if cap is not None},
    }
    methods = {place.method: own for place in places if (own := _own(scene.pilot, place.method))}
    for batch in batches_of(scene.machine.home, scene.plan.digest):
        if batch.places == places and dict(batch.settings) == settings and batch.methods == methods:
            return batch
    digests = {(one["name"], one["model"]): one["digest"] for one in scene.plan.protocol["methods"]}
    clock = scene.machine.clock
    batch = Batch(new_run_id(clock, scene.machine.entropy), "", places, settings, digests, clock.wall_ns(), methods)
    save_batch(scene.machine.home, batch)
    return batch


def _variations(scene: PilotContext) -> dict[str, str]:
    """How repeats differ, with the texts themselves: a batch can be repeated without the pilot file."""
    declared = [(one.name, one.seed, _preface(scene, one)) for one in scene.pilot.variations]
    return setting_of([dict(zip(("name", "seed", "preface"), one, strict=True)) for one in declared])


def _preface(scene: PilotContext, variation: Variation) -> str:
    """The text of a variation, which is read once for each stage, long after the pilot was compared with its plan."""
    if not variation.preface:
        return ""
    path = located(scene.pilot, variation.preface)
    text = read_bounded(path.resolve(), PREFACE_BYTES)
    frozen_one = {one["name"]: one["preface"] for one in scene.plan.protocol.get("variations", ())}
    if sha256(text) != frozen_one.get(variation.name):
        raise UsageFault(
            f"the preface of the variation {variation.name} has changed since it was frozen",
            where=str(path),
            hint="restore it; the same command continues",
        )
    return text.decode()


def _own(pilot: Pilot, name: str) -> dict[str, str]:
    """The settings of a method, so that its runs can be repeated without the pilot file."""
    method = method_named(pilot, name)
    files = agent_files(pilot, method)
    return {**({METHOD_FILES: files} if files else {}), **model_settings(pilot, method)}


def _check_tasks(scene: PilotContext, here: PilotState) -> PilotState:
    """Try every task with no change and with a known solution, and screen its checks, unless that was done."""
    while True:
        missing = list(_unchecked(scene, here))
        if not missing:
            break
        scene.tell(f"checking {len(missing)} times that a no-op fails and a known solution passes")
        batch = _batch(scene, CHECKS, list(_checks(scene, here)))
        before = here
        here = _filled(scene, here, batch, [_place(scene, slot) for slot in missing])
        if here is before:
            break
    for task in _in_pilot(scene, here):
        screen = here.journal.screens.get(task.name)
        wanted = int(here.plan.protocol["flakes"]["runs"])
        if screen is None or screen.contract != task.contract or screen.attempts < wanted:
            _require_money(here, task)
            _screen(scene, task, wanted)
            here = _with_notes(here)
    return here


def _require_money(here: PilotState, task: SuiteTask) -> None:
    """A screen starts only while some of the budget is left; its cost is known afterwards."""
    budgets, account = here.plan.protocol["budgets"], here.account()
    of_task = account.spent.get(task.contract, Decimal(0))
    for cap, spent, whose in ((budgets["pilot_usd"], account.total(), "pilot"), (budgets["task_usd"], of_task, "task")):
        if cap is not None and spent >= Decimal(cap):
            raise BudgetExceeded(
                "the checks are not screened, because a spending limit is reached: "
                f"the {whose} has spent {plain(spent)} of {cap} USD",
                where=task.name,
                hint="raise the budgets in the pilot file and record the change: proctor pilot amend PILOT --why WHY",
            )


def _in_pilot(scene: PilotContext, here: PilotState) -> tuple[SuiteTask, ...]:
    return tuple(task for task in scene.suite if task.name not in here.journal.removed)


def _checks(scene: PilotContext, here: PilotState) -> Iterator[Slot]:
    """A place for each check of each task: the tree without a change, and the known solution."""
    for number, task in enumerate(_in_pilot(scene, here), 1):
        solution = REFERENCE if task.loaded.reference is not None else HUMAN if task.human_patch else ""
        for position, method in enumerate(filter(None, (NOOP, solution)), 1):
            yield Slot(0, CHECKS, number, task.stratum, task.name, task.contract, 1, position, method)


def _unchecked(scene: PilotContext, here: PilotState) -> Iterator[Slot]:
    for slot in _checks(scene, here):
        tried = [run for run in here.runs if run.stage == CHECKS and run.key == key_of(slot)]
        if run_that_fills(tried, int(here.plan.protocol["retries"])) is None:
            yield slot


def _screen(scene: PilotContext, task: SuiteTask, times: int) -> None:
    """Try the checks of a task on both trees several times, and record how stable they are."""

    def tell() -> None:
        if scene.stopped():
            raise Paused

    def solution(scratch: Path) -> bytes | None:
        if task.loaded.reference is not None:
            return reference_patch(prepared, scratch)
        human = task.task.human_patch
        return read_bounded(located(scene.pilot, human), PATCH_BYTES) if human else None

    tell()
    scene.tell(f"screening the checks of {task.name}, {'once' if times == 1 else f'{times} times'} on each tree")
    try:
        with ready(scene.machine, task.loaded) as prepared:
            with scene.machine.scratch("reference") as scratch:
                known = solution(scratch)
            if known is None:
                return
            observed = survey(scene.machine, prepared, known, times, scene.jobs, tell)
    except ProctorError as error:
        error.where = error.where or task.name
        raise
    seconds = round(sum(said.seconds for one in observed for said in one.trial.checks.values()), 3)
    usd = rates_of(scene.plan).machine(Decimal(str(seconds)))
    found = screen(task.loaded, observed)
    add_screen(scene.plan, task.name, task.contract, times, found, str(seconds), plain(usd))
    note_head(scene.plan, scene.machine.home)
