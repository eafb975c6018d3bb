"""What a pilot spends in addition to its runs: its flake screens, the patches that people made, and their reviews.

All of it is paid from the pilot's envelope, at the prices that were frozen with it. A screen is charged when it is
recorded, and to the envelope of its task as well; a person's patch with its first run on a task. Reviews are charged to
the last stage, so that the records of stages that are over do not change with them. What people cost counts in the
envelope of no task: a review that uses it up would choose which tasks have more runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.base.canonical import parse
from proctor.base.dataclass_fields import field_items
from proctor.base.files import read_bounded
from proctor.execute.monitor.budget import priced
from proctor.execute.monitor.price_table import FALLBACK, Price, PriceTable, plain, total_of
from proctor.study.analysis.cost_unit import UNITS, USD, Unit
from proctor.study.pilot.ledger.pilot_runs import CHECKS, SEALED, Run
from proctor.study.pilot.plan.frozen_plan import FILE_BYTES, Plan
from proctor.study.pilot.plan.protocol import ARTEFACTS
from proctor.study.statements import Statement, statement

SCREEN, PATCH, REVIEW = "screen", "patch", "review"
"""The kinds of charges: a screen of checks, a patch by a person, a review."""
HUMAN = "human"
PEOPLE = ""
"""The key for what people cost, which belongs to no task."""
COST_INPUTS = "cost_inputs.json"
SECOND = 10**9


@dataclass(frozen=True)
class Charge:
    """One expense: on which task, in which stage, for how many seconds of a machine or a person, and what shows it."""

    kind: str
    task: str
    contract: str
    stage: str
    seconds: str
    usd: Decimal
    evidence: str

    @property
    def envelope(self) -> str:
        """The task whose envelope pays for it as well as the pilot's: none for what people cost."""
        return self.contract if self.kind == SCREEN else PEOPLE

    def record(self) -> dict[str, Any]:
        """The charge as data."""
        return {**dict(field_items(self)), "usd": plain(self.usd)}


@dataclass(frozen=True)
class Rates:
    """The prices of a plan, and how many units of their currency are a dollar."""

    table: PriceTable = FALLBACK.table
    per_usd: Decimal = FALLBACK.units_per_usd

    @property
    def unit(self) -> Unit:
        """The unit of amounts at these prices."""
        return UNITS if self.table.currency == FALLBACK.table.currency else USD

    @property
    def start(self) -> Decimal:
        """What a run costs before its agent has done anything, in dollars."""
        return total_of(price.price for price in self.table.of("run")) / self.per_usd

    def machine(self, seconds: Decimal) -> Decimal:
        """What so many seconds of checks cost, in dollars."""
        return self._usd("execution_ns", seconds)

    def person(self, minutes: Decimal) -> Decimal:
        """What so many minutes of a person cost, in dollars."""
        return self._usd("human_ns", minutes * 60)

    def _usd(self, meter: str, seconds: Decimal) -> Decimal:
        lines = priced(self.table, [("acceptance", meter, int(seconds * SECOND))])
        return total_of(line.amount for line in lines) / self.per_usd


def rates_of(plan: Plan) -> Rates:
    """The prices that are in force; those of the fallback schedule for a plan that was frozen without any."""
    if COST_INPUTS not in plan.protocol.get(ARTEFACTS, {}):
        return Rates()
    known = parse(read_bounded(plan.current / COST_INPUTS, FILE_BYTES))["prices"]
    rows = tuple(Price(row[0], row[1], Decimal(row[2]), row[3]) for row in known["rows"])
    return Rates(PriceTable(known["id"], known["currency"], rows), Decimal(known["units_per_usd"]))


def patches(runs: Iterable[Run], protocol: Mapping[str, Any], rates: Rates) -> Iterator[Charge]:
    """A person's time for the patch of each task that one was run on."""
    minutes = Decimal(protocol["baselines"]["human_minutes"])
    if not protocol["baselines"]["human"] or not minutes:
        return
    seen: set[str] = set()
    for run in runs:
        if run.method == HUMAN and run.state == SEALED and run.contract not in seen:
            seen.add(run.contract)
            of = (run.task, run.contract, run.stage, plain(minutes * 60))
            yield Charge(PATCH, *of, rates.person(minutes), run.run)


def reviews(runs: Iterable[Run], rates: Rates) -> Iterator[Charge]:
    """The time that people took to review runs, a charge for each review."""
    for run in runs:
        for minutes in (Decimal(review.minutes) for review in run.reviews):
            of = (run.task, run.contract, run.stage, plain(minutes * 60))
            yield Charge(REVIEW, *of, rates.person(minutes), run.run)


def due(charged: Iterable[Charge], protocol: Mapping[str, Any], rates: Rates) -> dict[str, Decimal]:
    """What the first run of a person's patch will be charged with, by task, where it has not been made yet."""
    minutes = Decimal(protocol["baselines"]["human_minutes"])
    if not protocol["baselines"]["human"] or not minutes:
        return {}
    paid = {one.contract for one in charged if one.kind == PATCH}
    return {task["contract"]: rates.person(minutes) for task in protocol["tasks"] if task["contract"] not in paid}


def charged_by_task(charged: Iterable[Charge]) -> dict[str, Decimal]:
    """The charges to each task by its content id; the cost of people belongs to no task (``PEOPLE``)."""
    found: dict[str, Decimal] = {}
    for one in charged:
        found[one.envelope] = total_of((found.get(one.envelope, Decimal(0)), one.usd))
    return found


def totals(charged: Iterable[Charge]) -> list[dict[str, str]]:
    """The total of each kind of charge: how many, for how many seconds, for how much."""
    found: dict[str, list[Charge]] = {}
    for one in charged:
        found.setdefault(one.kind, []).append(one)
    return [
        {
            "kind": kind,
            "count": str(len(many)),
            "seconds": plain(total_of(Decimal(one.seconds) for one in many)),
            "usd": plain(total_of(one.usd for one in many)),
        }
        for kind, many in found.items()
    ]


def paid_besides(charged: Iterable[Charge], rates: Rates) -> Statement | None:
    """What the pilot paid for in addition to its runs, in dollars; empty if there is nothing."""
    found = [
        {
            "kind": one["kind"],
            "count": int(one["count"]),
            "seconds": float(one["seconds"]),
            "usd": float(one["usd"]),
        }
        for one in totals(charged)
    ]
    return statement("paid-besides-runs", charges=found, unit=rates.unit.name) if found else None


def screened(task: str, contract: str, seconds: str, usd: str, pointer: str) -> Charge:
    """The charge for a screen that is on record."""
    return Charge(SCREEN, task, contract, CHECKS, seconds, Decimal(usd), pointer)
