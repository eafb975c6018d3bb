"""The state of a pilot, computed from its runs, its journal and its plan: a record for each stage, rows for reports.

A record of a stage is the same whenever it is made from the same evidence: what must hold before a stage is computed
from the stages before it, and what must hold at its end from the runs up to it. ``stage-one.json`` and the others in
the folder of the plan are such records, written for people; they are made again from the evidence and never read back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from proctor.execute.monitor.price_table import plain, total_of
from proctor.execute.proctor_home import Home
from proctor.study.pilot.ledger import run_consistency
from proctor.study.pilot.ledger.costs_besides_runs import REVIEW, Charge, Rates, due, patches, rates_of, reviews
from proctor.study.pilot.ledger.journal import Journal, add_look, read_journal, require_head
from proctor.study.pilot.ledger.pilot_runs import (
    CHECKS,
    CUT,
    Ledger,
    Run,
    in_order,
    read_runs,
    run_that_fills,
)
from proctor.study.pilot.ledger.run_consistency import departures, require_noted
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.pilot_model import STAGES
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.plan.remaining_power_and_cost import power_of
from proctor.study.pilot.running.cap_criteria import CAPS, Criterion
from proctor.study.pilot.running.stage_criteria import Facts, entry, exit_
from proctor.study.pilot.running.stopping_rules import (
    EFFICACY,
    TASK_BUDGET,
    Account,
    Next,
    Stop,
    rules_so_far,
    what_next,
)
from proctor.study.statements import Statement, statement

REFUSED, OPEN, STOPPED, OVER, EMPTY_STAGE = "refused", "open", "stopped", "over", "empty"


@dataclass(frozen=True)
class PilotState:
    """A pilot with everything that is known about it: its plan, its journal and its runs."""

    plan: Plan
    journal: Journal
    runs: tuple[Run, ...]
    power: Mapping[str, Any]
    rates: Rates = field(default_factory=Rates)

    @property
    def ledger(self) -> Ledger:
        """The places of the plan and all runs."""
        return self.through(STAGES[-1])

    def through(self, stage: str) -> Ledger:
        """The places of the plan with the runs up to the end of a stage; up to none for ``checks``."""
        runs = tuple(run for run in self.runs if run.stage in known_until(stage))
        looks = self.journal.looks if stage == STAGES[-1] else ()
        return Ledger(self.plan.slots, runs, int(self.plan.protocol["retries"]), self.journal.removed, looks)

    def facts(self, stage: str, through: str) -> Facts:
        """What the criteria of a stage are computed from, with the runs up to the end of stage ``through``."""
        ledger = self.through(through)
        account = self.account(through)
        ahead = what_next(ledger, self.plan.protocol, stage, account)
        later = tuple(run for run in self.ledger.held() if run.stage not in known_until(through))
        start = self.rates.start
        return Facts(self.plan.protocol, ledger, self.journal.screens, account, self.power, ahead, start, later)

    def charges(self, through: str = STAGES[-1]) -> tuple[Charge, ...]:
        """What was spent besides the runs up to the end of a stage; reviews are charged in the last."""
        runs = self.through(through).runs
        reviewed = reviews(runs, self.rates) if through == STAGES[-1] else ()
        return (*self.journal.charges, *patches(runs, self.plan.protocol, self.rates), *reviewed)

    def account(self, through: str = STAGES[-1]) -> Account:
        """What was spent up to the end of a stage, runs and charges together: by task, people's cost apart."""
        charged = self.charges(through)
        account = account_of(self.through(through).runs)
        for one in charged:
            account = account.plus(one.envelope, one.usd)
        return Account(account.spent, due(charged, self.plan.protocol, self.rates))

    def with_runs(self, runs: tuple[Run, ...]) -> PilotState:
        """The same with more runs, in the order in which they are read back later, whichever ended first."""
        return replace(self, runs=in_order((*self.runs, *runs), tuple(self.journal.runs)))


def known_until(stage: str) -> tuple[str, ...]:
    """The stages up to one, the checks before them included."""
    known = (CHECKS, *STAGES)
    return known[: known.index(stage) + 1]


def read_pilot_state(plan: Plan, home: Home) -> PilotState:
    """The state of the pilot by what is in ``home`` and in the folder of its plan.

    :class:`BrokenSeal` where a run is not as it was sealed and recorded, or the journal was cut.
    """
    require_head(plan, home)
    journal = read_journal(plan)  # before the runs: what is recorded by now is there
    runs = in_order(read_runs(home, plan.digest), tuple(journal.runs))
    require_noted(plan, home, journal.runs, runs)
    return PilotState(plan, journal, runs, power_of(plan, journal.removed), rates_of(plan))


def take_looks(here: PilotState) -> PilotState:
    """The state with every look that is due recorded; later removals and amendments do not change them."""
    due = rules_so_far(here.ledger, here.plan.protocol)[1][len(here.journal.looks) :]
    for look in due:
        add_look(here.plan, look)
    return replace(here, journal=replace(here.journal, looks=(*here.journal.looks, *due))) if due else here


def account_of(runs: tuple[Run, ...]) -> Account:
    """What runs have spent, by task; those that were cut off too."""
    spent: dict[str, list[Decimal]] = {}
    for run in runs:
        spent.setdefault(run.contract, []).append(run.usd or Decimal(0))
    return Account({task: total_of(amounts) for task, amounts in spent.items()})


@dataclass(frozen=True)
class Stage:
    """One stage: its criteria, its verdict, and the rule that ended it, if any."""

    name: str
    verdict: str
    entry: tuple[Criterion, ...] = ()
    exit: tuple[Criterion, ...] = ()
    ahead: Next = field(default_factory=Next)

    @property
    def unmet(self) -> tuple[Criterion, ...]:
        """The unmet criteria before the stage or at its end; those not tried yet only if there are no others."""
        before = tuple(one for one in self.entry if not one.met)
        tried = tuple(one for one in before if not one.open)
        return tried or before or tuple(one for one in self.exit if not one.met)

    @property
    def beyond_means(self) -> bool:
        """Whether its caps prevent every run, regardless of the checks of tasks."""
        return any(one.id.startswith(CAPS) and not one.met for one in self.entry)

    @property
    def stop(self) -> Stop | None:
        """The rule that ended the pilot here."""
        return self.ahead.stop

    @property
    def good(self) -> bool:
        """Whether the pilot may continue after it, or is complete with it."""
        ended = self.stop is not None and self.stop.rule != EFFICACY
        return self.verdict in (OVER, EMPTY_STAGE) and not ended and not self.ahead.cut and not self.unmet


def done_of(here: PilotState) -> tuple[int, int]:
    """How many runs the tasks that are left take in all, their checks included, and how many of these there are."""
    ledger = here.ledger
    tasks = {slot.task for slot in ledger.wanted()}
    checks = {(task, run.method) for task in tasks for run in ledger.checks(task)}
    return len(ledger.wanted()) + 2 * len(tasks), len(ledger.held()) + len(checks)


def stage_of(here: PilotState, name: str) -> Stage:
    """The state of a stage."""
    if not any(slot.stage == name for slot in here.ledger.wanted()):
        return Stage(name, EMPTY_STAGE)
    before = (CHECKS, *STAGES)[STAGES.index(name)]
    must = entry(name, here.facts(name, before))
    if not all(one.met for one in must):
        return Stage(name, REFUSED, must)
    facts = here.facts(name, name)
    at_end = exit_(name, facts)
    verdict = OVER if all(one.met for one in at_end) else OPEN
    if facts.ahead.stop is not None and verdict == OPEN:
        verdict = STOPPED
    return Stage(name, verdict, must, at_end, facts.ahead)


def stages_of(here: PilotState) -> Iterator[Stage]:
    """The stages up to the first that stops the pilot."""
    for name in STAGES:
        stage = stage_of(here, name)
        yield stage
        if not stage.good:
            return


def record_of(here: PilotState, stage: Stage) -> dict[str, Any]:
    """A stage as data: every criterion with its value, threshold and evidence, and every place with its run."""
    ledger = here.through(stage.name)
    slots = [slot for slot in ledger.wanted() if slot.stage == stage.name]
    mine = tuple(run for run in ledger.runs if run.stage == stage.name)
    looks = rules_so_far(ledger, here.plan.protocol)[1] if stage.name == STAGES[-1] else ()
    return {
        "schema": 1,
        "kind": "proctor.pilot-stage",
        "pilot": here.plan.digest,
        "amendments": len(here.plan.amendments),
        "stage": stage.name,
        "verdict": stage.verdict,
        "entry": [one.record() for one in stage.entry],
        "exit": [one.record() for one in stage.exit],
        "stop": stage.stop.record() if stage.stop else None,
        "looks": [look.record() for look in looks],
        "counts": ledger.counts(stage.name),
        "spent_usd": plain(account_of(mine).total()),
        "charges": [one.record() for one in here.charges(stage.name) if _stage_of(one) == stage.name],
        "cut": [_cut(block) for block in stage.ahead.cut],
        "left_out": left_out(ledger, stage.name),
        "removed": [one.record() for one in here.journal.removals],
        "attempts": list(_attempts(ledger, stage.name)),
        "places": [_place(ledger, slot) for slot in slots],
    }


def _stage_of(charge: Charge) -> str:
    """The stage whose record shows a charge: checks belong to the first stage, reviews to the last."""
    return STAGES[-1] if charge.kind == REVIEW else STAGES[0] if charge.stage == CHECKS else charge.stage


def _cut(block: tuple[Slot, ...]) -> dict[str, Any]:
    first = block[0]
    return {"block": first.block, "task": first.task, "repeat": first.repeat, "why": TASK_BUDGET}


def left_out(ledger: Ledger, stage: str = "") -> list[str]:
    """Runs of blocks that are not complete: they have no counterpart, and no comparison counts them."""
    broken = (block for block in ledger.blocks(stage) if ledger.filled(block) is None)
    return [run.run for block in broken for slot in block if (run := ledger.run_that_fills(slot)) is not None]


def _attempts(ledger: Ledger, stage: str) -> Iterator[dict[str, Any]]:
    """Every place of a stage for which more than one run was made, with all of them; stage one has the checks too."""
    made: dict[tuple[str, ...], list[Run]] = {}
    for run in ledger.runs:
        if run.stage == stage or (stage == STAGES[0] and run.stage == CHECKS):
            made.setdefault((run.stage, run.task, str(run.repeat), run.method), []).append(run)
    for (of, task, repeat, method), runs in sorted(made.items(), key=lambda one: one[0]):
        if len(runs) > 1:
            held = run_that_fills(runs, ledger.retries)
            place = {"of": of, "task": task, "repeat": int(repeat), "method": method}
            listed = [{"run": run.run, "status": run.status or run.state, "why": _why(run)} for run in runs]
            yield {**place, "counts": held.run if held else None, "runs": listed}


def _why(run: Run) -> str:
    """Why a run did not fill its place, or how it ended."""
    return run.problem or run.code or run.reason or run.state


def _place(ledger: Ledger, slot: Slot) -> dict[str, Any]:
    held = ledger.run_that_fills(slot)
    names = ("order", "block", "stratum", "task", "repeat", "position", "method")
    planned = {name: getattr(slot, name) for name in names}
    attempts = [{"run": run.run, "status": run.status or run.state} for run in ledger.attempts(slot)]
    return {**planned, "run": held.run if held else None, "status": held.status if held else None, "attempts": attempts}


def places(here: PilotState) -> Iterator[tuple[Slot, Run | None, bool]]:
    """Every place of the plan in order, the run that fills it, and whether that counts.

    A run of a removed task, or of a block that is not complete, does not count.
    """
    ledger = here.ledger
    alone = set(left_out(ledger))
    for slot in here.plan.slots:
        held = ledger.run_that_fills(slot)
        yield slot, held, held is not None and held.run not in alone and slot.task not in here.journal.removed


def deviations(here: PilotState) -> list[Statement]:
    """Everything in which the pilot departs from its plan."""
    ledger = here.ledger
    found = [*here.plan.deviations, *(one.deviation for one in here.journal.removals)]
    found += [one.deviation for one in here.journal.machines]
    for run in here.runs:
        if run.spoilt:
            problem = "; ".join(line.strip() for line in run.problem.splitlines())
            found.append(statement("run-spoilt", run=run.run, task=run.task, method=run.method, problem=problem))
    counted = [run for _, run, counts in places(here) if run is not None and counts]
    found += [*departures(here.plan, here.runs, counted), *run_consistency.condition_changes(counted)]
    cut = [run.values for run in here.runs if run.state == CUT]
    stopped = [run.values for run in here.runs if run.stopped]
    for runs, code in ((cut, "runs-cut-off"), (stopped, "runs-stopped-by-operator")):
        if runs:
            found.append(statement(code, runs=runs))
    stages = list(stages_of(here))
    alone = left_out(ledger) if stages[-1].verdict != OPEN else []
    if alone:
        found.append(statement("incomplete-blocks", runs=alone))
    if stages[-1].name == STAGES[-1] and stages[-1].verdict == EMPTY_STAGE and here.power["supported"] is not True:
        found.append(statement("no-stage-three", power=here.power["answer"]))
    for stage in stages:
        if stage.verdict == EMPTY_STAGE and any(slot.stage == stage.name for slot in here.plan.slots):
            found.append(statement("stage-without-tasks", stage=stage.name))
        for block in stage.ahead.cut:
            found.append(statement("block-not-run", task=block[0].task, repeat=block[0].repeat))
        if stage.stop is not None:
            found.append(statement("pilot-stopped", stage=stage.name, stop=stage.stop.why))
    return found
