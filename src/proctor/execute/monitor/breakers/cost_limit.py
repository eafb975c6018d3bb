"""The cost cap: slow down at a share of what the agent may spend, end the run when it is reached.

The projection is compared with the limits, or the provider's bill if that is already higher. With the fallback
schedule the limits are in units, and billed dollars are also compared with the cap in dollars. A run that ends here has
run out of resources; it has not failed a check.
"""

from __future__ import annotations

from decimal import Decimal

from proctor.execute.monitor.breakers.breaker_settings import POLICY_CHOICE, Thresholds
from proctor.execute.monitor.breakers.escalation_and_backoff import Backoff
from proctor.execute.monitor.breakers.interface import ALERT, KILL, THROTTLE, Trip
from proctor.execute.monitor.budget import STOP, Envelope, Standing, standing
from proctor.execute.monitor.price_table import plain
from proctor.execute.monitor.run_state import RunState
from proctor.record.trace.event import Event

_AGAIN = Decimal("0.05")
"""The part of the limit that must be spent between two delays."""


class CostCap:
    """Keeps one run inside its envelopes."""

    name = "cost"

    def __init__(
        self,
        facts: RunState,
        envelopes: tuple[Envelope, ...],
        money: tuple[Envelope, ...],
        thresholds: Thresholds,
    ) -> None:
        self._facts = facts
        self._envelopes = envelopes
        self._money = money
        self._backoff = Backoff(thresholds)
        self._next: dict[str, Decimal] = {}
        self._done = False

    def see(self, event: Event) -> tuple[Trip, ...]:
        if self._done or not self._facts.running or not self._facts.costly:
            return ()
        ledger = self._facts.ledger
        in_money = ledger.table.currency == "usd"
        spent = max(ledger.projected, ledger.observed_usd) if in_money else ledger.projected
        found = [(standing(self._envelopes, spent), ledger.table.currency)]
        if not in_money and ledger.billed_requests:
            found.append((standing(self._money, ledger.observed_usd), "usd"))
        for where, currency in found:
            if where is not None and where.level == STOP:
                self._done = True
                return (self._trip(event, where, currency, KILL),)
        for where, currency in found:
            if where is not None and where.level != "go" and where.spent >= self._next.get(currency, 0):
                self._next[currency] = where.spent + where.limit * _AGAIN
                return (self._trip(event, where, currency, THROTTLE),)
        return ()

    @property
    def left(self) -> int | None:
        """How many programs may start before their own price can reach a limit; time is looked at with each sample."""
        step = self._facts.ledger.program_price
        if self._done or not step or not self._envelopes:
            return None
        room = min(envelope.limit for envelope in self._envelopes) - self._facts.ledger.projected
        return max(int(room / step) - 1, 0)

    def _trip(self, event: Event, where: Standing, currency: str, action: str) -> Trip:
        signals = {
            "scope": where.scope,
            "currency": currency,
            "spent": plain(where.spent),
            "limit": plain(where.limit),
            "cap": plain(where.cap),
            "method": self._facts.ledger.table.id,
        }
        state = "reached" if action == KILL else "come near"
        if action == THROTTLE:
            signals["delay_seconds"] = self._backoff.next(self._facts.clock.active_ns)
        rationale = (
            f"the {where.scope} has {state} what it may spend: {plain(where.spent)} of {plain(where.limit)} "
            f"{currency}, with the rest of {plain(where.cap)} ({POLICY_CHOICE}) kept for acceptance"
        )
        return Trip(self.name, "cost-cap", action, ALERT, rationale, (event.seq,), signals)
