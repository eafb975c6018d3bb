"""The cost of a run, folded from its events item by item, and the budget envelopes (run, task, batch) that limit it.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from proctor.base.dataclass_fields import field_names
from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.event_folds import AgentClock
from proctor.execute.monitor.payload_values import NANOSECONDS, decimal, inner, integer, moment_ns, nanoseconds, text
from proctor.execute.monitor.price_table import (
    EXACT,
    METERS,
    Price,
    PriceTable,
    TokenCounts,
    by_meter,
    meters_of,
    plain,
    total_of,
)
from proctor.execute.monitor.tool_calls_from_processes import Calls
from proctor.record.trace.event import Event

MODEL, EXECUTION, HUMAN, OVERHEAD = "model", "execution", "human", "overhead"
PARTS = (MODEL, EXECUTION, HUMAN, OVERHEAD)
PHASES = ("setup", "agent", "acceptance")

RETENTION_DAYS = 30
"""How long artifacts count as kept where a price is per day; a policy choice."""

PROGRAM_EVENTS = 8
"""The usual maximum of events for one program: its start, its end, hits of text rules, and what follows."""

OF_A_MODEL = ("requests", "tokens", *METERS.values())
"""Meters whose price may differ from model to model."""

_Key = tuple[str, str, str, str]
"""Of a meter: its phase, its name, and the model and the tier of what it counts."""
_STEP = Decimal("1e-12")
_TIME = {"second": NANOSECONDS, "minute": 60 * NANOSECONDS, "hour": 3600 * NANOSECONDS}
_GIGABYTE = 10**9

_ACTIONS: dict[str, tuple[str, dict[str, tuple[str, int, int]]]] = {
    "llm_request": (MODEL, {"request": ("requests", 1, 1), "call": ("requests", 1, 1), "token": ("tokens", 1, 1)}),
    **{action: (MODEL, {"token": (meter, 1, 1)}) for action, meter in METERS.items()},
    "tool_call": (
        EXECUTION,
        {"call": ("calls", 1, 1), **{unit: ("call_ns", 1, size) for unit, size in _TIME.items()}},
    ),
    "execution": (EXECUTION, {unit: ("execution_ns", 1, size) for unit, size in _TIME.items()}),
    "human_review": (HUMAN, {unit: ("human_ns", 1, size) for unit, size in _TIME.items()}),
    "artifact_storage": (
        OVERHEAD,
        {
            "byte": ("bytes", 1, 1),
            "gigabyte": ("bytes", 1, _GIGABYTE),
            "gigabyte-day": ("bytes", RETENTION_DAYS, _GIGABYTE),
        },
    ),
    "trace_event": (OVERHEAD, {"event": ("events", 1, 1)}),
    "run": (OVERHEAD, {"run": ("runs", 1, 1)}),
}
"""For every action its part and, for each unit, the meter with a factor and a divisor."""


@dataclass(frozen=True)
class Item:
    """One line of the ledger."""

    phase: str
    part: str
    action: str
    unit: str
    model: str
    quantity: Decimal
    price: Decimal
    amount: Decimal
    tier: str = ""


class Ledger:
    """The running cost of one run."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        self.phase = "setup"
        self.observed_usd = Decimal(0)
        self.billed_requests = 0
        self.tokens = 0
        self._meters: dict[_Key, int] = {}
        self._active_ns = 0
        self._asked_at: int | None = None
        self._classes: dict[tuple[str, str], dict[str, str]] = {}
        self._prices: dict[tuple[str, str, str], tuple[tuple[str, Price, int, int], ...]] = {}
        self._amounts: dict[_Key, Decimal] = {}
        self._moved: set[_Key] = set()
        self._total = Decimal(0)

    @property
    def projected(self) -> Decimal:
        """The projected cost up to now, in the table's currency."""
        for key in self._moved:
            self._amounts[key] = total_of(item.amount for item in self._lines(key))
        if self._moved:
            self._moved.clear()
            self._total = total_of(self._amounts.values())
        return self._total

    @property
    def program_price(self) -> Decimal:
        """What one more program adds at once: a call, and its events."""
        call = (price.price for price in self.table.of("tool_call") if price.unit == "call")
        events = (price.price * PROGRAM_EVENTS for price in self.table.of("trace_event") if price.unit == "event")
        return total_of((*call, *events))

    def quantity(self, meter: str, phase: str | None = None) -> int:
        """How much a meter has counted, in one phase or in all of them."""
        return sum(value for (at, name, _, _), value in self._meters.items() if name == meter and phase in (None, at))

    def items(self) -> Iterator[Item]:
        """Every line with a quantity, by phase, then meter, then model."""
        for key in sorted(self._meters, key=_order):
            yield from self._lines(key)

    def _lines(self, key: _Key) -> Iterator[Item]:
        """The lines that one meter makes: one for each price that it meets."""
        phase, meter, model, tier = key
        prices = self._prices.get((meter, model, tier))
        if prices is None:
            prices = self._prices[meter, model, tier] = tuple(_prices_of(self.table, meter, model, tier))
        for part, price, factor, divisor in prices:
            counted = self._meters[key] * factor
            shown, amount = _amount(Decimal(1), counted, divisor), _amount(price.price, counted, divisor)
            yield Item(phase, part, price.action, price.unit, model, shown, price.price, amount, tier)

    def see(self, event: Event, clock: AgentClock, calls: Calls) -> None:
        """Take in one event; ``clock`` and ``calls`` have seen it already."""
        self._change_phase(event)
        self._add("events", 1)
        if clock.active_ns > self._active_ns:
            self._add("execution_ns", clock.active_ns - self._active_ns, phase="agent")
            self._active_ns = clock.active_ns
        if calls.started:
            self._add("calls", len(calls.started))
        for call in calls.ended:
            self._add("call_ns", call.wall_ns or 0)
        meter = _METERS.get(event.type)
        if meter is not None:
            meter(self, event)

    def _change_phase(self, event: Event) -> None:
        if event.type == "agent.started":
            self.phase = "agent"
        elif event.type == "agent.finished":
            self.phase = "acceptance"

    def _add(self, meter: str, quantity: int, *, model: str = "", tier: str = "", phase: str | None = None) -> None:
        if quantity > 0:
            key = (phase or self.phase, meter, model, tier)
            self._meters[key] = self._meters.get(key, 0) + quantity
            self._moved.add(key)

    def _run(self, event: Event) -> None:
        self._add("runs", 1)

    def _usage(self, event: Event) -> None:
        model, tier = text(event.payload, "model"), text(event.payload, "tier")
        if (model, tier) not in self._classes:
            self._classes[model, tier] = meters_of(self.table, model, tier)
        counts = TokenCounts(*(integer(event.payload, name) or 0 for name in field_names(TokenCounts)))
        for meter, quantity in by_meter(counts, self._classes[model, tier]).items():
            self._add(meter, quantity, model=model, tier=tier)
        self.tokens += counts.input_tokens + counts.output_tokens
        billed = decimal(event.payload, "usd")
        if billed is not None:
            self.observed_usd = total_of((self.observed_usd, billed))
            self.billed_requests += 1

    def _step(self, event: Event) -> None:
        if event.payload.get("cached") is not True:
            self._add("execution_ns", nanoseconds(event.payload, "wall_seconds") or 0)

    def _check(self, event: Event) -> None:
        self._add("execution_ns", nanoseconds(event.payload, "observed_seconds") or 0)
        self._streams(event)

    def _streams(self, event: Event) -> None:
        for name in ("stdout", "stderr"):
            self._add("bytes", integer(inner(event.payload, name), "bytes") or 0)

    def _patch(self, event: Event) -> None:
        self._add("bytes", integer(event.payload, "bytes") or 0)

    def _asked(self, event: Event) -> None:
        if self._asked_at is None:
            self._asked_at = moment_ns(event.t)

    def _decided(self, event: Event) -> None:
        if self._asked_at is not None:
            self._add("human_ns", moment_ns(event.t) - self._asked_at)
            self._asked_at = None


_METERS = {
    "run.started": Ledger._run,
    "model.usage": Ledger._usage,
    "setup.step": Ledger._step,
    "check.finished": Ledger._check,
    "tool.invocation": Ledger._streams,
    "patch.extracted": Ledger._patch,
    "operator.asked": Ledger._asked,
    "operator.decided": Ledger._decided,
}


def _prices_of(table: PriceTable, meter: str, model: str, tier: str) -> Iterator[tuple[str, Price, int, int]]:
    """The prices that a meter meets, each with its part, its factor and its divisor."""
    for action, (part, units) in _ACTIONS.items():
        for price in table.of(action, model, tier):
            found = units.get(price.unit)
            if found is not None and found[0] == meter:
                yield part, price, found[1], found[2]


def priced(table: PriceTable, meters: Iterable[tuple[str, str, int]], model: str = "") -> tuple[Item, ...]:
    """The lines for quantities that are not metered but assumed, each with its phase and its meter."""
    ledger = Ledger(table)
    for phase, meter, quantity in meters:
        ledger._add(meter, quantity, model=model if meter in OF_A_MODEL else "", phase=phase)
    return tuple(ledger.items())


def by_phase(items: Iterable[Item]) -> dict[str, dict[str, Decimal]]:
    """The sums of every phase and part, those of nothing included."""
    sums = {phase: dict.fromkeys(PARTS, Decimal(0)) for phase in PHASES}
    for item in items:
        sums[item.phase][item.part] = total_of((sums[item.phase][item.part], item.amount))
    return sums


def projection(ledger: Ledger) -> dict[str, Any]:
    """The payload of ``cost.projected``: what the run has cost up to now, by the ledger's method."""
    items = tuple(ledger.items())
    total = plain(ledger.projected)
    in_money = ledger.table.currency == "usd"
    return {
        "method": ledger.table.id,
        "phase": ledger.phase,
        "usd": total if in_money else None,
        "units": None if in_money else total,
        "observed_usd": plain(ledger.observed_usd) if ledger.billed_requests else None,
        "phases": {
            phase: {part: plain(amount) for part, amount in parts.items()} for phase, parts in by_phase(items).items()
        },
        "items": [
            {
                "phase": item.phase,
                "part": item.part,
                "action": item.action,
                "unit": item.unit,
                "model": item.model,
                **({"tier": item.tier} if item.tier else {}),
                "quantity": plain(item.quantity),
                "price": plain(item.price),
                "amount": plain(item.amount),
            }
            for item in items
        ],
    }


def _amount(price: Decimal, quantity: int, divisor: int) -> Decimal:
    """``price`` times ``quantity`` over ``divisor``: exact, or rounded up at the twelfth place."""
    product = EXACT.multiply(price, Decimal(quantity))
    if divisor == 1:
        return product
    return EXACT.divide(product, Decimal(divisor)).quantize(_STEP, rounding=ROUND_CEILING, context=EXACT)


def _order(key: _Key) -> tuple[int, str, str, str]:
    phase, meter, model, tier = key
    return PHASES.index(phase), meter, model, tier


GO, THROTTLE, STOP = "go", "throttle", "stop"


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
    """The state of a run in the limit that is closest to being reached."""

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
    """The state of a run that has spent ``spent``: in the limit with the least left, the widest last."""
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
