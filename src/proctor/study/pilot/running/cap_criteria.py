"""The criteria of a pilot: one criterion, and the criteria on its caps, which need no run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.budget import make_envelopes
from proctor.execute.monitor.price_table import plain
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.running.stopping_rules import run_cap
from proctor.study.statements import Statement, statement


@dataclass(frozen=True)
class Criterion:
    """One thing that must hold: a statement with what was found and what is required, and the runs that show it.

    ``open`` is whether it is not met only because something was not tried yet.
    """

    found: Statement
    met: bool
    evidence: tuple[str, ...] = ()
    open: bool = False

    @property
    def id(self) -> str:
        """The code of the statement."""
        return self.found.code

    def record(self) -> dict[str, Any]:
        """The criterion as data."""
        found = plain_data(self.found)
        return {"id": self.id, "met": self.met, "found": found, "evidence": list(self.evidence)}


CAPS = "caps-"
"""How the ids of these criteria begin."""


def caps(protocol: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], start: Decimal) -> Iterator[Criterion]:
    """Whether each run's cap pays its ``start``, and each envelope holds a block in which every run costs its cap."""
    runs = {task["name"]: run_cap(protocol, task["contract"]) for task in tasks}
    yield from _starts(runs, start)
    arms = len(protocol["methods"])
    largest = max(runs, key=lambda name: runs[name], default="")
    for name in ("task_usd", "pilot_usd"):
        cap = protocol["budgets"][name]
        if cap is None:
            continue
        block = runs.get(largest, Decimal(0)) * arms
        found = {"cap_usd": str(cap), "block_usd": plain(block), "task": largest, "runs": arms}
        yield Criterion(
            statement(f"{CAPS}{name.removesuffix('_usd')}", **found), bool(largest) and block <= Decimal(cap)
        )


def _starts(runs: Mapping[str, Decimal], start: Decimal) -> Iterator[Criterion]:
    """Whether the smallest cap leaves an agent more than the start of its run takes."""
    smallest = min(runs, key=lambda name: runs[name], default="")
    if not smallest:
        return
    (envelope,) = make_envelopes(Thresholds(), runs[smallest])
    amounts = {"agent_usd": plain(envelope.limit), "cap_usd": plain(envelope.cap), "start_usd": plain(start)}
    yield Criterion(statement(f"{CAPS}run", **amounts, task=smallest), not 0 < start >= envelope.limit)


def concerns_of(cost: Mapping[str, Any], protocol: Mapping[str, Any], start: Decimal) -> list[Statement]:
    """What would end the pilot early, or prevent its start; ``cost`` is its projection."""
    projected = cost["budget"]
    unmet = [one for one in caps(protocol, protocol["tasks"], start) if not one.met]
    found = [statement("stage-one-will-be-refused", criterion=one.found) for one in unmet]
    if not projected["fits"]["expected"]:
        found.append(statement("expected-cost-above-budget"))
    elif not projected["fits"]["high"]:
        found.append(statement("high-cost-above-budget"))
    block, whole = _block_caps(protocol), Decimal(projected["pilot_usd"])
    if projected["fits"]["high"] and 0 <= whole - block < Decimal(cost["usd"]["expected"]):
        found.append(statement("block-caps-above-rest", block_usd=plain(block), budget_usd=plain(whole)))
    if projected["tasks_over"]:
        found.append(statement("tasks-above-budget", tasks=list(projected["tasks_over"])))
    return found


def _block_caps(protocol: Mapping[str, Any]) -> Decimal:
    """What the runs of the dearest block may cost together."""
    return max(run_cap(protocol, task["contract"]) for task in protocol["tasks"]) * len(protocol["methods"])
