"""The projected cost of a pilot: assumed quantities times the prices with which the runs will be metered.

Every run is priced three times, at the low, the expected and the high usage, and never above its own cap. Without a
price table the fallback schedule's units count by its rate, as they do for envelopes. Usage that a pilot does not
name is taken from the assumptions below; they are choices of this program, not measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from proctor.execute.monitor.budget import PROGRAM_EVENTS, Item, priced
from proctor.execute.monitor.price_table import FALLBACK, PriceTable, TokenCounts, by_meter, meters_of, plain, total_of
from proctor.study.pilot.plan.randomisation import Slot

LEVELS = ("low", "expected", "high")
SECOND = 10**9
USUAL: Mapping[str, Any] = {
    "requests": 40,
    "tokens_in": 400_000,
    "tokens_cached": 0,
    "tokens_out": 20_000,
    "tool_calls": 40,
    "seconds": 300,
    "judge_seconds": 30,
    "review_minutes": "0",
}
"""What one run uses if a pilot names no usage. Assumptions, not measurements. All input counts as fresh."""

RUN_EVENTS = 40
RUN_BYTES = 500_000
"""Events and bytes that a run records in addition to those of its programs. Assumptions too."""


@dataclass(frozen=True)
class Cost:
    """What one run costs at each level, in dollars, and the lines of the expected amount."""

    usd: tuple[Decimal, Decimal, Decimal]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class BlockCost:
    """One block of the plan: what its runs cost, and what everything up to its end costs."""

    slot: Slot
    runs: int
    usd: tuple[Decimal, ...]
    up_to: tuple[Decimal, ...]


class Projection:
    """The projected cost of one protocol under one way of pricing."""

    def __init__(self, protocol: Mapping[str, Any], prices: PriceTable | None) -> None:
        self.protocol = protocol
        self.table = prices or FALLBACK.table
        self._rate = Decimal(1) if prices is not None else FALLBACK.units_per_usd
        self._tasks = {task["name"]: task for task in protocol["tasks"]}
        self._methods = {method["name"]: method for method in protocol["methods"]}
        self._known: dict[tuple[Any, ...], Cost] = {}

    def run(self, task: str, method: str, first: bool) -> Cost:
        """What a run of ``method`` on ``task`` costs; a person's patch is paid with the ``first`` one."""
        on, by = self._tasks[task], self._methods[method]
        paid = first and by["baseline"] and by["name"] == "human"
        key = (*on["caps"].values(), by["model"], by["baseline"], paid)  # runs that cannot differ are priced once
        if key not in self._known:
            self._known[key] = self._priced(on, by, paid)
        return self._known[key]

    def blocks(self, slots: Sequence[Slot]) -> list[BlockCost]:
        """Every block in the plan's order, with running totals."""
        found: list[BlockCost] = []
        so_far: tuple[Decimal, ...] = (Decimal(0),) * len(LEVELS)
        for block in _by_block(slots):
            costs = [self.run(slot.task, slot.method, slot.repeat == 1).usd for slot in block]
            usd = tuple(total_of(level) for level in zip(*costs, strict=True))
            so_far = tuple(total_of(pair) for pair in zip(so_far, usd, strict=True))
            found.append(BlockCost(block[0], len(block), usd, so_far))
        return found

    def summary(self, slots: Sequence[Slot]) -> dict[str, Any]:
        """Totals, by stage, method, task and stratum, compared with the envelopes."""
        budgets = self.protocol["budgets"]
        total = self._sum(slots)
        tasks = self._sums(slots, "task")
        cap, task_cap = Decimal(budgets["pilot_usd"]), budgets["task_usd"]
        people = self._people(slots)
        over = [name for name, sums in tasks.items() if task_cap and sums[1] - people[name] > Decimal(task_cap)]
        return {
            "schema": 1,
            "kind": "proctor.projection",
            "method": self.protocol["prices"]["id"],
            "runs": len(slots),
            "usd": _named(total),
            "by_stage": {name: _named(sums) for name, sums in self._sums(slots, "stage").items()},
            "by_method": {name: _named(sums) for name, sums in self._sums(slots, "method").items()},
            "by_task": {name: _named(sums) for name, sums in tasks.items()},
            "by_stratum": {name: _named(sums) for name, sums in self._sums(slots, "stratum").items()},
            "by_part": self._parts(slots),
            "budget": {
                "pilot_usd": budgets["pilot_usd"],
                "fits": {level: usd <= cap for level, usd in zip(LEVELS, total, strict=True)},
                "task_usd": task_cap,
                "tasks_over": over,
            },
        }

    def _sum(self, slots: Iterable[Slot]) -> tuple[Decimal, ...]:
        costs = [self.run(slot.task, slot.method, slot.repeat == 1).usd for slot in slots]
        return tuple(total_of(level) for level in zip(*costs, strict=True)) if costs else (Decimal(0),) * len(LEVELS)

    def _people(self, slots: Iterable[Slot]) -> dict[str, Decimal]:
        """What people are expected to cost on each task, which its envelope does not pay."""
        found: dict[str, Decimal] = {}
        for slot in slots:
            items = self.run(slot.task, slot.method, slot.repeat == 1).items
            found[slot.task] = total_of((found.get(slot.task, Decimal(0)), self._human(items)))
        return found

    def _sums(self, slots: Sequence[Slot], field: str) -> dict[str, tuple[Decimal, ...]]:
        groups: dict[str, list[Slot]] = {}
        for slot in slots:
            groups.setdefault(getattr(slot, field), []).append(slot)
        return {name: self._sum(groups[name]) for name in sorted(groups)}

    def _parts(self, slots: Sequence[Slot]) -> dict[str, str]:
        """The expected amounts by part, before the caps of runs are applied."""
        sums: dict[str, Decimal] = {}
        for slot in slots:
            for item in self.run(slot.task, slot.method, slot.repeat == 1).items:
                sums[item.part] = total_of((sums.get(item.part, Decimal(0)), item.amount))
        return {part: plain(amount / self._rate) for part, amount in sorted(sums.items())}

    def _priced(self, task: Mapping[str, Any], method: Mapping[str, Any], paid: bool) -> Cost:
        assumed = self.protocol["assumed"]
        factors = (Decimal(assumed["low"]), Decimal(1), Decimal(assumed["high"]))
        model = method["model"].partition("/")[2]
        lines = [priced(self.table, self._meters(task, method, factor, paid), model) for factor in factors]
        caps = [Decimal(cap) for cap in (task["caps"]["usd"], self.protocol["budgets"]["run_usd"]) if cap]
        low, expected, high = (self._held(items, min(caps)) for items in lines)
        return Cost((low, expected, high), lines[1])

    def _held(self, items: Sequence[Item], cap: Decimal) -> Decimal:
        """The amount of a run in dollars. People are paid outside a run's cap."""
        rest = total_of(item.amount for item in items if item.part != "human") / self._rate
        return total_of((min(rest, cap), self._human(items)))

    def _human(self, items: Sequence[Item]) -> Decimal:
        return total_of(item.amount for item in items if item.part == "human") / self._rate

    def _meters(
        self, task: Mapping[str, Any], method: Mapping[str, Any], factor: Decimal, paid: bool
    ) -> list[tuple[str, str, int]]:
        """The quantities of one run, none above the task's own caps."""
        usage = {**USUAL, **(self.protocol["assumed"]["usage"] or {})}
        caps, acting = task["caps"], not method["baseline"]

        def much(name: str, cap: int | None, wanted: bool) -> int:
            count = _ceil(Decimal(usage[name]) * factor) if wanted else 0
            return count if cap is None else min(count, cap)

        talks = acting and bool(method["model"])
        came, went = much("tokens_in", caps["tokens"], talks), much("tokens_out", caps["tokens"], talks)
        cached = much("tokens_cached", caps["tokens"], talks)
        meters = meters_of(self.table, method["model"].partition("/")[2])
        tokens = by_meter(TokenCounts(came, went, cached), meters)
        calls = much("tool_calls", caps["tool_calls"], acting)
        judged = much("judge_seconds", caps["judge_seconds"], True) * self.protocol["adjudication"]["reruns"]
        minutes = Decimal(usage["review_minutes"]) * factor if acting else Decimal(0)
        if paid:
            minutes += Decimal(self.protocol["baselines"]["human_minutes"])
        return [
            *(("agent", meter, quantity) for meter, quantity in tokens.items() if meter != "requests"),
            ("agent", "requests", much("requests", None, talks)),
            ("agent", "calls", calls),
            ("agent", "execution_ns", much("seconds", caps["wall_seconds"], acting) * SECOND),
            ("acceptance", "execution_ns", judged * SECOND),
            ("acceptance", "human_ns", _ceil(minutes * 60) * SECOND),
            ("acceptance", "bytes", RUN_BYTES),
            ("agent", "events", RUN_EVENTS + calls * PROGRAM_EVENTS),
            ("setup", "runs", 1),
        ]


def inputs(protocol: Mapping[str, Any], prices: PriceTable | None) -> dict[str, Any]:
    """Everything that the projection was made from: usage, prices and assumptions."""
    table = prices or FALLBACK.table
    return {
        "schema": 1,
        "kind": "proctor.cost-inputs",
        "prices": {
            **protocol["prices"],
            "units_per_usd": "1" if prices is not None else plain(FALLBACK.units_per_usd),
            "rows": [
                [one.action, one.unit, plain(one.price), one.model, *([one.tier] if one.tier else [])]
                for one in table.prices
            ],
        },
        "usage": {**USUAL, **(protocol["assumed"]["usage"] or {})},
        "usage_is": "declared by the pilot" if protocol["assumed"]["usage"] else "assumed by this program",
        "factors": {"low": protocol["assumed"]["low"], "expected": "1", "high": protocol["assumed"]["high"]},
        "assumptions": {"events_of_a_run": RUN_EVENTS, "events_of_a_call": PROGRAM_EVENTS, "bytes_of_a_run": RUN_BYTES},
        "adjudication": protocol["adjudication"],
        "human_minutes": protocol["baselines"]["human_minutes"],
        "budgets": protocol["budgets"],
        "caps": {task["name"]: task["caps"] for task in protocol["tasks"]},
    }


def _by_block(slots: Sequence[Slot]) -> list[list[Slot]]:
    blocks: dict[int, list[Slot]] = {}
    for slot in slots:
        blocks.setdefault(slot.block, []).append(slot)
    return list(blocks.values())


def _named(amounts: Sequence[Decimal]) -> dict[str, str]:
    return {level: plain(usd) for level, usd in zip(LEVELS, amounts, strict=True)}


def _ceil(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))
