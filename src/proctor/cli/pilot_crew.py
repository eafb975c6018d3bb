"""How the runs of a pilot are made: each method with its own files, model and settings, all within one account."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal

import click

from proctor.cli.planned import Draft
from proctor.cli.progress import Progress
from proctor.conduct.batch import Batch, Place
from proctor.conduct.batch_runs import BatchResult, envelopes_of, run_places
from proctor.conduct.envelopes import Envelopes
from proctor.conduct.machine import Machine
from proctor.conduct.model import ModelPlan
from proctor.conduct.run import Outcome
from proctor.conduct.session.agents import agent_for, planned_model
from proctor.conduct.variants import ensure_pool
from proctor.execute.agents.interface import Agent
from proctor.execute.home import Home
from proctor.execute.prepare import Prepared
from proctor.execute.workspace.store import hold
from proctor.study.pilot.conduct import Scene, method_named, run_pilot
from proctor.study.pilot.departures import note
from proctor.study.pilot.heads import note_head
from proctor.study.pilot.ledger import read_run
from proctor.study.pilot.model import agent_files, located, model_settings
from proctor.study.pilot.plan import Plan
from proctor.study.pilot.records import Stage, Standing, standing


class Noting(Progress):
    """Shows how far a pilot is, and notes each of its runs as soon as it is sealed."""

    plan: Plan
    home: Home

    def finished(self, place: Place, outcome: Outcome) -> None:
        note(self.plan, [read_run(outcome.directory)])
        note_head(self.plan, self.home)
        super().finished(place, outcome)


class Crew:
    """Fills places of a pilot. What its contracts are made of stays in the caches until it is left."""

    def __init__(self, machine: Machine, made: Draft, jobs: int, progress: Progress) -> None:
        self._machine = machine
        self._made = made
        self._jobs = jobs
        self._progress = progress
        self._contracts = {str(task.path): task.loaded for task in made.suite}
        self._ready: dict[str, Prepared] = {}
        self._building = threading.Lock()
        self._held = ExitStack()
        self._account: Envelopes | None = None
        self._charged: dict[str, Decimal] = {}
        self._booked: dict[str, Decimal] = {}

    def __enter__(self) -> Crew:
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
            *(self._machine, batch, places, self._prepared, self._attempt, self._progress, self._jobs, prices),
            self._account,
        )

    def charge(self, charged: Mapping[str, Decimal]) -> None:
        """Learn what was spent besides runs, on each task and on none of them, by now and in all."""
        self._charged = dict(charged)

    def _prepared(self, place: Place) -> Prepared:
        with self._building:
            if place.contract not in self._ready:
                made = self._machine.prepare(self._contracts[place.contract])
                ensure_pool(self._machine, made, self._progress.note)
                for layer in made.layers:
                    self._held.callback(os.close, hold(layer))
                self._ready[place.contract] = made
            made = self._ready[place.contract]
            for layer in made.layers:
                self._machine.store.check(layer)  # a run on a changed layer would be spoilt, and so would all others
            return made

    def _attempt(self, place: Place, prepared: Prepared) -> tuple[Agent, ModelPlan | None]:
        pilot = self._made.pilot
        method = method_named(pilot, place.method)
        settings = model_settings(pilot, method)
        files = agent_files(pilot, method)
        agent = agent_for(place.agent, files, prepared, self._machine, place.model, settings)
        return agent, planned_model(place.agent, place.model, settings)


def done_of(here: Standing) -> tuple[int, int]:
    """How many runs the tasks that are left take in all, their checks included, and how many of these there are."""
    ledger = here.ledger
    tasks = {slot.task for slot in ledger.wanted()}
    checks = {(task, run.method) for task in tasks for run in ledger.checks(task)}
    return len(ledger.wanted()) + 2 * len(tasks), len(ledger.held()) + len(checks)


def conducted(
    machine: Machine, made: Draft, plan: Plan, jobs: int, again: str, accept: tuple[str, str], *, quiet: bool
) -> tuple[Standing, tuple[Stage, ...]]:
    """Run what is left of a pilot, with progress on standard error; ``again`` is the command that goes on.

    ``accept`` is why a machine that has changed may go on, and who says so.
    """
    prices = str(located(made.pilot, made.pilot.prices).absolute()) if made.pilot.prices else ""
    progress = Noting(*done_of(standing(plan, machine.home)), quiet=quiet, resume=again)
    progress.plan, progress.home = plan, machine.home

    def tell(words: str) -> None:
        if not quiet and sys.stderr is not None:
            click.echo(words, err=True)

    with progress, Crew(machine, made, jobs, progress) as crew:
        with_all = (machine, made.pilot, made.suite, plan, crew.fill, prices, jobs, tell, progress.stopped, crew.charge)
        return run_pilot(Scene(*with_all, *accept))
