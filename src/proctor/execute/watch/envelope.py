"""Budget envelopes: one run, all runs of a task, a whole batch. Pure.

Each envelope has a cap. A part of it, the headroom, is kept back for acceptance and logging; what is left is what the
agent may spend. A run is slowed down at a share of that and ended when it is reached. As the decision falls after each
step, no cap of the agent's part is passed by more than one step; a step whose largest cost is known beforehand is not
even begun when it would not fit (:func:`admits`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from proctor.execute.watch.thresholds import Thresholds

GO, THROTTLE, STOP = "go", "throttle", "stop"
SCOPES = ("run", "task", "batch")


@dataclass(frozen=True)
class Envelope:
    """One cap. ``spent_before`` is what earlier runs have used of it; amounts are in the ledger's currency."""

    scope: str
    cap: Decimal
    headroom: Decimal = Decimal(0)
    throttle_share: Decimal = Decimal(1)
    spent_before: Decimal = Decimal(0)

    @property
    def limit(self) -> Decimal:
        """What this run's agent may spend."""
        return max(self.cap - self.headroom - self.spent_before, Decimal(0))

    @property
    def throttle_at(self) -> Decimal:
        """Where slowing down begins."""
        return self.limit * self.throttle_share


@dataclass(frozen=True)
class Standing:
    """Where a run stands in the envelope that binds it most."""

    level: str
    scope: str
    spent: Decimal
    limit: Decimal
    cap: Decimal


def make_envelopes(
    thresholds: Thresholds,
    run_cap: Decimal | None,
    *,
    task_cap: Decimal | None = None,
    task_spent: Decimal = Decimal(0),
    batch_cap: Decimal | None = None,
    batch_spent: Decimal = Decimal(0),
) -> tuple[Envelope, ...]:
    """The envelopes that bind one run. The headroom is a share of the run's own cap in each of them."""
    share = Decimal(thresholds.headroom_share)
    throttle = Decimal(thresholds.throttle_share)
    smallest = min((cap for cap in (run_cap, task_cap, batch_cap) if cap is not None), default=Decimal(0))
    headroom = smallest * share
    caps = (("run", run_cap, Decimal(0)), ("task", task_cap, task_spent), ("batch", batch_cap, batch_spent))
    return tuple(Envelope(scope, cap, headroom, throttle, spent) for scope, cap, spent in caps if cap is not None)


def standing(envelopes: Iterable[Envelope], spent: Decimal) -> Standing | None:
    """Where a run stands that has spent ``spent``: in the envelope with the least left, the widest last."""
    found: Standing | None = None
    for envelope in envelopes:
        level = GO
        if spent > 0 and spent >= envelope.limit:
            level = STOP
        elif spent > 0 and spent >= envelope.throttle_at:
            level = THROTTLE
        here = Standing(level, envelope.scope, spent, envelope.limit, envelope.cap)
        if found is None or here.limit < found.limit:
            found = here
    return found


def admits(envelopes: Iterable[Envelope], spent: Decimal, largest_step: Decimal) -> bool:
    """Whether a step that costs at most ``largest_step`` fits into every envelope."""
    return all(spent + largest_step <= envelope.limit for envelope in envelopes)
