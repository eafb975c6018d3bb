"""The runs of a batch: its places are filled in parallel, each run within its share of the batch's spending limits.

With ``retry_invalid`` in its settings, a batch repeats a run that is invalid through no fault of the agent, up to that
number of times for each place. The new run names the one that it repeats, and the last one holds the place.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from proctor.base.errors import BudgetExceeded, ProctorError, UsageFault
from proctor.conduct.batch.batch_record import Batch, Place, RedactedTexts, RunAttempt, redactor_of, save_batch
from proctor.conduct.batch.spending_limits import Envelopes, least_usd, spent_before, spent_usd, start_usd
from proctor.conduct.briefing import variation_of
from proctor.conduct.machine_setup import Machine
from proctor.conduct.run.control import Watcher
from proctor.conduct.run.lifecycle import RunOutcome, execute_run
from proctor.conduct.run.model_connection import ModelPlan
from proctor.execute.agents.interface import Agent
from proctor.execute.monitor.price_table import PriceTable
from proctor.execute.prepare import PreparedBase
from proctor.execute.proctor_home import Home
from proctor.judge.run_verdict import is_repeatable

Attempt = tuple[Agent, ModelPlan | None]


class BatchWatcher(Watcher):
    """A watcher that also learns of faults before a run could begin."""

    def note(self, line: str) -> None:
        """Something was done before the first run, such as making the inverted tests of a contract."""

    def unprepared(self, place: Place, error: ProctorError) -> None:
        """The contract of ``place`` could not be made ready."""

    def finished(self, place: Place, outcome: RunOutcome) -> None:
        """The run at ``place`` has ended."""

    def repeats(self, place: Place, outcome: RunOutcome) -> None:
        """The run at ``place`` is invalid, and will be made again."""


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch in this call; ``refused`` are places that a spending limit left out."""

    outcomes: tuple[tuple[Place, RunOutcome], ...]
    errors: tuple[tuple[Place, ProctorError], ...]
    stopped: bool
    refused: tuple[tuple[Place, ProctorError], ...] = ()


def run_places(
    machine: Machine,
    batch: Batch,
    places: Iterable[Place | RunAttempt],
    prepare: Callable[[Place], PreparedBase],
    attempt: Callable[[Place, PreparedBase], Attempt],
    watcher: BatchWatcher,
    jobs: int,
    prices: PriceTable | None = None,
    envelopes: Envelopes | None = None,
    sealed: Callable[[RunOutcome], None] = lambda outcome: None,
) -> BatchResult:
    """Fill ``places``, ``jobs`` at a time, within the batch's envelopes.

    A contract that cannot be prepared costs its own places only. A caller that fills a batch piece by piece gives the
    ``envelopes`` of all pieces, so that earlier runs are read once. ``sealed`` is called after each run, before the
    watcher.
    """
    shared = envelopes if envelopes is not None else envelopes_of(machine.home, batch, prices)
    waiting: queue.SimpleQueue[RunAttempt] = queue.SimpleQueue()
    for one in places:
        waiting.put(one if isinstance(one, RunAttempt) else RunAttempt(one))
    outcomes: list[tuple[Place, RunOutcome]] = []
    errors: list[tuple[Place, ProctorError]] = []
    refused: list[tuple[Place, ProctorError]] = []
    crashed = threading.Event()

    def work() -> None:
        while not watcher.stopped() and not crashed.is_set():
            try:
                one = waiting.get_nowait()
            except queue.Empty:
                return
            place = one.place
            try:
                prepared = prepare(place)
                outcome = _run(machine, batch, one, prepared, attempt(place, prepared), watcher, prices, shared)
            except ProctorError as error:
                (refused if isinstance(error, BudgetExceeded) else errors).append((place, error))
                watcher.unprepared(place, error)
            except BaseException:
                crashed.set()
                raise
            else:
                outcomes.append((place, outcome))
                sealed(outcome)
                watcher.finished(place, outcome)
                if one.number <= batch.retries and is_repeatable(outcome.report):
                    # After the other places: what was wrong may have passed by then.
                    watcher.repeats(place, outcome)
                    waiting.put(RunAttempt(place, outcome.run_id, one.number + 1))

    _in_threads(work, jobs)
    if shared.capped or refused:
        save_batch(machine.home, batch, refused)
    return BatchResult(tuple(outcomes), tuple(errors), watcher.stopped(), tuple(refused))


def envelopes_of(home: Home, batch: Batch, prices: PriceTable | None) -> Envelopes:
    """The envelopes that the batch was begun with, less what its runs have spent."""
    task_usd, batch_usd = batch.settings.get("task_usd"), batch.settings.get("batch_usd")
    spent = spent_before(home, batch.id, batch.settings.get("pilot", "")) if task_usd or batch_usd else ()
    return Envelopes(task_usd, batch_usd, spent, start_usd(prices))


def _run(
    machine: Machine,
    batch: Batch,
    one: RunAttempt,
    prepared: PreparedBase,
    attempt: Attempt,
    watcher: Watcher,
    prices: PriceTable | None,
    envelopes: Envelopes,
) -> RunOutcome:
    """One run, within its share of the envelopes. What is not known to be left of a share counts as spent."""
    (agent, model), place = attempt, one.place
    _require_same(machine, batch, place, agent)
    run_usd = batch.settings.get("run_usd")
    share = envelopes.take(place.content_id, least_usd(prepared.contract.budget.usd, run_usd), watcher.stopped)
    spent = share.usd
    try:
        outcome = execute_run(
            machine,
            prepared,
            agent,
            model=model,
            configuration=_configuration(batch, one),
            watcher=watcher,
            prices=prices,
            envelopes={**envelopes.settings(share), **({"run_usd": run_usd} if run_usd else {})},
            rehearse=bool(batch.settings.get("rehearse")),
            redactor=redactor_of(machine.home, batch.settings),
        )
        spent = spent_usd(outcome.report.usage.cost)
    finally:
        envelopes.settle(share, spent)
    return outcome


def _require_same(machine: Machine, batch: Batch, place: Place, agent: Agent) -> None:
    """All runs of a batch are made with the same files: those that it began with."""
    expected = batch.digests.get((place.method or place.agent, place.model))
    if expected is None or not agent.mounts():
        return
    found = agent.describe().digest
    if expected not in (found, RedactedTexts(machine.home, batch.settings).digest(place.agent, found)):
        raise UsageFault(
            "the agent has changed since its runs were started",
            where=place.method or place.agent,
            hint="restore its files; then run the same command to continue",
        )


def _in_threads(work: Callable[[], None], jobs: int) -> None:
    """Run ``work`` in ``jobs`` threads. A single job runs in this thread, so that an interrupt reaches it."""
    if jobs == 1:
        work()
        return
    with ThreadPoolExecutor(jobs, thread_name_prefix="job") as pool:
        for future in [pool.submit(work) for _ in range(jobs)]:
            future.result()


def _configuration(batch: Batch, one: RunAttempt) -> dict[str, Any]:
    """The record of a place in its run; for a pilot also the digest of its protocol, the stage and the method."""
    place = one.place
    bound = {name: batch.settings[name] for name in ("replay_of", "pilot", "stage") if batch.settings.get(name)}
    varied = variation_of(batch.settings, place.repeat)
    return {
        **bound,
        **({"method": place.method} if place.method else {}),
        **({"variation": varied} if varied else {}),
        **({"retry_of": one.retry_of, "attempt": one.number} if one.retry_of else {}),
        "batch": batch.id,
        "contract": place.content_id,
        "contract_path": place.contract,
        "repeat": place.repeat,
        "agent": place.agent,
        "model": place.model,
    }
