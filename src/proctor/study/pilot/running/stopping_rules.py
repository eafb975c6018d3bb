"""When a pilot ends before its plan does: the rules that were fixed with it, and the distance to each. Pure.

budget     the next block could cost more than is left, if every run of it cost its cap
safety     as many runs as the protocol allows violate in the same way, or as many runs of one method violate
efficacy   at a look, the comparison crosses its boundary, whichever agent is ahead

Rules apply to whole blocks in the order of the plan, so that a pilot ends with the same number of runs of each method,
and computing the rules again gives the same end. A block that its task's own envelope cannot pay for is left out, and
the pilot continues. What people cost is in no envelope of a task: otherwise a review of a run could end its task.
Rules do not apply to baselines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from proctor.base.dataclass_fields import field_items
from proctor.conduct.batch.spending_limits import least_usd
from proctor.execute.monitor.price_table import plain, total_of
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.ledger.costs_besides_runs import PEOPLE
from proctor.study.pilot.ledger.interim_analysis import look_at, looks_of
from proctor.study.pilot.ledger.interim_look import Look
from proctor.study.pilot.ledger.pilot_runs import Ledger, Run
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.statements import Statement, statement

BUDGET, TASK_BUDGET, SAFETY, EFFICACY = "budget", "task-budget", "safety", "efficacy"
HUMAN = "human"
LOOKING_STAGE = "three"
"""Efficacy is looked at where the plan's main part runs."""


@dataclass(frozen=True)
class Stop:
    """A rule that ended the pilot: why, the value and the threshold that were compared, and the runs that show it."""

    rule: str
    why: Statement
    value: str
    threshold: str
    blocks: int
    evidence: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The stop as data."""
        return {**dict(field_items(self)), "why": plain_data(self.why), "evidence": list(self.evidence)}


@dataclass(frozen=True)
class Account:
    """What a pilot has spent, by content id of the task; runs that were cut off count too.

    What people cost belongs to no task (``PEOPLE``). ``people`` is what a person's patch of a task will cost, where
    it was not run yet.
    """

    spent: Mapping[str, Decimal] = field(default_factory=dict)
    people: Mapping[str, Decimal] = field(default_factory=dict)

    def total(self) -> Decimal:
        """All of it."""
        return total_of(self.spent.values())

    def plus(self, task: str, usd: Decimal) -> Account:
        """The same with more spent on a task."""
        return Account({**self.spent, task: total_of((self.spent.get(task, Decimal(0)), usd))}, self.people)

    def patch(self, block: Iterable[Slot]) -> Decimal:
        """What people cost in a block, beyond the caps of its runs."""
        return next((self.people.get(slot.contract, Decimal(0)) for slot in block if slot.method == HUMAN), Decimal(0))


@dataclass(frozen=True)
class Next:
    """The next step: blocks to run, or why there is none; ``cut`` are blocks that their task cannot pay."""

    blocks: tuple[tuple[Slot, ...], ...] = ()
    stop: Stop | None = None
    cut: tuple[tuple[Slot, ...], ...] = ()


def run_cap(protocol: Mapping[str, Any], contract: str) -> Decimal:
    """The most that one run of a task may cost: the contract's cap, or the pilot's where that is smaller."""
    caps = next(task["caps"] for task in protocol["tasks"] if task["contract"] == contract)
    return Decimal(least_usd(caps["usd"], protocol["budgets"]["run_usd"]))


def methods_of(protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """The methods that are compared; no baselines."""
    return tuple(method["name"] for method in protocol["methods"] if not method["baseline"])


def what_next(ledger: Ledger, protocol: Mapping[str, Any], stage: str, account: Account, places: int = 1) -> Next:
    """The next blocks of a stage, enough for so many ``places`` side by side, or the rule that ends the pilot."""
    stop, _ = rules_so_far(ledger, protocol)
    if stop is not None:
        return Next(stop=stop)
    found: list[tuple[Slot, ...]] = []
    cut: list[tuple[Slot, ...]] = []
    waiting, held = 0, account
    for block in ledger.blocks(stage):
        left = [slot for slot in block if ledger.run_that_fills(slot) is None]
        if not left:
            continue
        task = block[0].contract
        caps = run_cap(protocol, task) * len(left)
        if not task_pays(protocol, held, left):
            cut.append(block)
            continue
        need = caps + held.patch(left)
        if not _fits(protocol["budgets"]["pilot_usd"], held.total(), need):
            stop = None if found else _broke(protocol, held, need, sum(1 for _ in _complete(ledger)))
            return Next(tuple(found), stop, tuple(cut))
        found.append(block)
        waiting, held = waiting + len(left), held.plus(task, caps).plus(PEOPLE, need - caps)
        if waiting >= places:
            break
    return Next(tuple(found), None, tuple(cut))


def task_pays(protocol: Mapping[str, Any], account: Account, left: Sequence[Slot]) -> bool:
    """Whether the envelope of a task holds the caps of what is left of one of its blocks."""
    task = left[0].contract
    spent = account.spent.get(task, Decimal(0))
    return _fits(protocol["budgets"]["task_usd"], spent, run_cap(protocol, task) * len(left))


def _fits(cap: str | None, spent: Decimal, need: Decimal) -> bool:
    return cap is None or spent + need <= Decimal(cap)


def _broke(protocol: Mapping[str, Any], account: Account, need: Decimal, blocks: int) -> Stop:
    cap = protocol["budgets"]["pilot_usd"]
    left = max(Decimal(cap) - account.total(), Decimal(0))
    why = statement("budget-used", budget_usd=str(cap), left_usd=plain(left), needed_usd=plain(need))
    return Stop(BUDGET, why, plain(left), plain(need), blocks)


def rules_so_far(ledger: Ledger, protocol: Mapping[str, Any]) -> tuple[Stop | None, tuple[Look, ...]]:
    """The first rule that the complete blocks meet, in the order of the plan, and the looks that were taken.

    A recorded look is not taken again, and a pilot that it ended stays ended.
    """
    methods = methods_of(protocol)
    most = int(protocol["stopping"]["violations"])
    of = sum(1 for _ in ledger.blocks())
    looks = list(ledger.looks)
    planned = _after(looks_of(protocol, of), looks)
    if looks and looks[-1].crossed and planned:
        return _crossed(looks[-1]), tuple(looks)
    seen: list[Run] = []
    for number, (block, runs) in enumerate(_complete(ledger), 1):
        seen += runs
        if any(run.violations for run in runs):
            found = systematic([run for run in seen if run.method in methods], most)
            if found is not None:
                return Stop(SAFETY, *found[:3], number, found[3]), tuple(looks)
        due = [wanted for after, wanted in planned if after <= number] if block[0].stage == LOOKING_STAGE else []
        if due and (not looks or number / of > float(looks[-1].share)):
            looks.append(look_at(seen, protocol, number, of, looks, due[-1]))
            planned = _after(planned, looks)
            if looks[-1].crossed and planned:
                return _crossed(looks[-1]), tuple(looks)
    return None, tuple(looks)


def _after(planned: Iterable[tuple[int, str]], looks: Sequence[Look]) -> tuple[tuple[int, str], ...]:
    """The planned looks that come after those that were taken."""
    return tuple(one for one in planned if not looks or Decimal(one[1]) > Decimal(looks[-1].wanted))


def _crossed(look: Look) -> Stop:
    return Stop(EFFICACY, statement("look-crossed", **look.values), look.value, look.nominal, look.blocks)


def _complete(ledger: Ledger) -> Iterable[tuple[tuple[Slot, ...], tuple[Run, ...]]]:
    for block in ledger.blocks():
        runs = ledger.filled(block)
        if runs is not None:
            yield block, runs


def counted(runs: Iterable[Run]) -> tuple[Counter[str], Counter[str]]:
    """In how many runs each kind of violation was seen, and how many runs of each method had any."""
    kinds: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for run in runs:
        kinds.update(run.violations)
        methods.update([run.method] if run.violations else [])
    return kinds, methods


def systematic(runs: Sequence[Run], most: int) -> tuple[Statement, str, str, tuple[str, ...]] | None:
    """In which way violations are systematic, the count, the threshold and the runs; nothing if they are not."""
    kinds, methods = counted(runs)
    for kind, count in sorted(kinds.items()):
        if count >= most:
            shown = tuple(run.run for run in runs if kind in run.violations)
            return statement("violation-repeats", kind=kind, runs=count), str(count), str(most), shown
    for method, count in sorted(methods.items()):
        if count >= most:
            shown = tuple(run.run for run in runs if run.method == method and run.violations)
            return statement("method-violates", method=method, runs=count), str(count), str(most), shown
    return None
