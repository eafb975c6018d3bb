"""What a pilot cost in all, and for what: its methods, its baselines, checks by neither, screens, and people's time.

Every run counts, whether or not it fills a place: what was cut off, made again or removed was paid for as well. The
lines are those that ``proctor pilot status`` shows, and add up to what it says is spent of the envelope.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.study.pilot.charges import KINDS, totals
from proctor.study.pilot.ledger import CHECKS as BEFORE
from proctor.study.pilot.ledger import Run
from proctor.study.pilot.records import Standing, account_of

METHOD, BASELINE, CHECKS = "method", "baseline", "checks"
BY_NONE = "checks by none of the methods"


@dataclass(frozen=True)
class Line:
    """What was paid for, how many runs or charges that is, and what it came to.

    ``checks`` of the runs were made before stage one to see whether tasks can be used, and are in no table of results.
    """

    of: str
    name: str
    count: int
    usd: Decimal
    checks: int = 0

    def record(self) -> dict[str, Any]:
        """The line as findings have it."""
        told = {"of": self.of, "name": self.name, "count": self.count, "checks": self.checks}
        return {**told, "usd": float(self.usd)}


def bill_of(here: Standing) -> dict[str, Any]:
    """The whole bill as findings have it, the sum beside its lines."""
    lines = [*lines_of(here), *(_charged(one) for one in totals(here.charges()))]
    unit = here.rates.unit
    return {
        "unit": {"name": unit.name, "per_usd": unit.per_usd},
        "lines": [line.record() for line in lines],
        "total_usd": float(here.account().total()),
        "budget_usd": float(here.plan.protocol["budgets"]["pilot_usd"]),
    }


def lines_of(here: Standing) -> list[Line]:
    """What the runs of each method cost, and the checks that none of them made."""
    runs, methods = here.ledger.runs, here.plan.protocol["methods"]
    arms = {one["name"]: BASELINE if one["baseline"] else METHOD for one in methods}
    found = [_made(of, name, tuple(run for run in runs if run.method == name)) for name, of in arms.items()]
    others = _made(CHECKS, BY_NONE, tuple(run for run in runs if run.method not in arms))
    return [*found, others] if others.count else found


def _made(of: str, name: str, runs: tuple[Run, ...]) -> Line:
    return Line(of, name, len(runs), account_of(runs).total(), sum(run.stage == BEFORE for run in runs))


def _charged(one: dict[str, str]) -> Line:
    return Line(one["kind"], KINDS[one["kind"]], int(one["count"]), Decimal(one["usd"]))
