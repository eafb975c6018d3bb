"""Run a planned pilot with real agents: what fills its places, and one call that does all of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal

from proctor.conduct.batch.batch_record import Batch, Place
from proctor.conduct.batch.batch_runs import BatchResult, BatchWatcher, envelopes_of, run_places
from proctor.conduct.batch.spending_limits import Envelopes
from proctor.conduct.inverted_pools import ensure_pool
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.lifecycle import RunOutcome
from proctor.conduct.run.model_connection import ModelPlan
from proctor.conduct.session.agent_setup import acts_in_sandbox, agent_for, planned_model
from proctor.execute.agents.interface import Agent
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.layer_store import hold
from proctor.study.pilot.ledger.journal import note_head
from proctor.study.pilot.ledger.pilot_runs import read_run
from proctor.study.pilot.ledger.run_consistency import note
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.pilot_draft import Draft
from proctor.study.pilot.plan.pilot_model import agent_files, located, model_settings
from proctor.study.pilot.running.pilot_runner import PilotContext, method_named, run_pilot
from proctor.study.pilot.running.pilot_state import PilotState, Stage


class PilotFiller:
    """Fills places of a pilot and records each run. Layers of its contracts stay cached until the context ends."""

    def __init__(self, machine: Machine, made: Draft, plan: Plan, jobs: int, watcher: BatchWatcher) -> None:
        self._machine = machine
        self._made = made
        self._plan = plan
        self._jobs = jobs
        self._watcher = watcher
        self._contracts = {str(task.path): task.loaded for task in made.suite}
        self._ready: dict[str, PreparedBase] = {}
        self._building = threading.Lock()
        self._held = ExitStack()
        self._account: Envelopes | None = None
        self._charged: dict[str, Decimal] = {}
        self._booked: dict[str, Decimal] = {}

    def __enter__(self) -> PilotFiller:
        self._held.enter_context(self._machine.inputs.in_use())
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def fill(self, batch: Batch, places: Sequence[Place]) -> BatchResult:
        """Fill ``places`` of ``batch``. All batches of a pilot spend from the same account."""
        prices = self._made.prices
        if self._account is None:
            self._account = envelopes_of(self._machine.home, batch, prices)
        for task, usd in self._charged.items():
            self._account.charge(task, usd - self._booked.get(task, Decimal(0)))
            self._booked[task] = usd
        return run_places(
            *(self._machine, batch, places, self._prepared, self._attempt, self._watcher, self._jobs, prices),
            self._account,
            self._note,
        )

    def charge(self, charged: Mapping[str, Decimal]) -> None:
        """Set what was spent in addition to runs so far: on each task, on no task, and in total."""
        self._charged = dict(charged)

    def _note(self, outcome: RunOutcome) -> None:
        """Record a run in the journal as soon as it is sealed."""
        note(self._plan, [read_run(outcome.directory)])
        note_head(self._plan, self._machine.home)

    def _prepared(self, place: Place) -> PreparedBase:
        with self._building:
            if place.contract not in self._ready:
                made = self._machine.prepare(self._contracts[place.contract])
                ensure_pool(self._machine, made, self._watcher.note)
                for layer in made.layers:
                    self._held.callback(os.close, hold(layer))
                self._ready[place.contract] = made
            made = self._ready[place.contract]
            for layer in made.layers:
                self._machine.store.check(layer)  # a run on a changed layer would be spoilt, and so would all others
            return made

    def _attempt(self, place: Place, prepared: PreparedBase) -> tuple[Agent, ModelPlan | None]:
        pilot = self._made.pilot
        method = method_named(pilot, place.method)
        settings = model_settings(pilot, method)
        files = agent_files(pilot, method)
        agent = agent_for(place.agent, files, prepared, self._machine, place.model, settings)
        return agent, planned_model(place.agent, place.model, settings)


def require_machine(machine: Machine, made: Draft) -> None:
    """Refuse a machine that cannot run this pilot, and images that contain answers, before anything is spent."""
    suite = [task.loaded for task in made.suite]
    methods = made.pilot.methods
    acting = any(acts_in_sandbox(method.agent) for method in methods)
    machine.require(suite, acting=acting, model=any(method.model for method in methods))
    machine.require_no_answers_in_images(suite)


def conduct_pilot(
    machine: Machine, made: Draft, plan: Plan, watcher: BatchWatcher, jobs: int = 1, accept: str = "", by: str = ""
) -> tuple[PilotState, tuple[Stage, ...]]:
    """Run what is left of a pilot and return its state and its stages.

    ``accept`` is why the pilot may continue on a machine that has changed, and ``by`` is the user who accepts it.
    """
    prices = str(located(made.pilot, made.pilot.prices).absolute()) if made.pilot.prices else ""
    with PilotFiller(machine, made, plan, jobs, watcher) as filler:
        with_all = (machine, made.pilot, made.suite, plan, filler.fill, prices, jobs, watcher.note, watcher.stopped)
        return run_pilot(PilotContext(*with_all, filler.charge, accept, by))
