"""What must hold in a pilot: one criterion, and the criteria on its caps that need no check to be run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.base.dataclass_fields import field_items
from proctor.execute.monitor.breakers.breaker_settings import Thresholds
from proctor.execute.monitor.budget import make_envelopes
from proctor.execute.monitor.price_table import plain
from proctor.study.pilot.running.stopping_rules import run_cap


@dataclass(frozen=True)
class Criterion:
    """One thing that must hold: what it is, what was found and asked for, what shows it, and what to do about it.

    ``open`` is that it is not met only because something was not tried yet.
    """

    id: str
    words: str
    value: str
    threshold: str
    met: bool
    evidence: tuple[str, ...] = ()
    todo: str = ""
    open: bool = False

    def record(self) -> dict[str, Any]:
        """The criterion as data."""
        told = {name: value for name, value in field_items(self) if name != "open"}
        return {**told, "evidence": list(self.evidence)}


CAPS = "caps-"
"""How the ids of these criteria begin."""


def caps(protocol: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], start: Decimal) -> Iterator[Criterion]:
    """Whether each run's cap pays its ``start``, and each envelope holds a block in which every run costs its cap."""
    runs = {task["name"]: run_cap(protocol, task["contract"]) for task in tasks}
    yield from _starts(runs, start)
    arms = len(protocol["methods"])
    largest = max(runs, key=lambda name: runs[name], default="")
    for name, words in (("task_usd", "a task's envelope"), ("pilot_usd", "the pilot's envelope")):
        cap = protocol["budgets"][name]
        if cap is None:
            continue
        block = runs.get(largest, Decimal(0)) * arms
        yield Criterion(
            id=f"{CAPS}{name.removesuffix('_usd')}",
            words=f"{words} holds a whole block at the caps of its runs",
            value=f"{cap} USD",
            threshold=f"{plain(block)} USD ({largest}, {arms} runs)" if largest else "a task",
            met=bool(largest) and block <= Decimal(cap),
            todo=f"a smaller budgets.run_usd, or a larger budgets.{name}, by proctor pilot amend PILOT --why",
        )


def _starts(runs: Mapping[str, Decimal], start: Decimal) -> Iterator[Criterion]:
    """Whether the smallest cap leaves an agent more than the start of its run takes."""
    smallest = min(runs, key=lambda name: runs[name], default="")
    if not smallest:
        return
    (envelope,) = make_envelopes(Thresholds(), runs[smallest])
    yield Criterion(
        id=f"{CAPS}run",
        words="the cap of a run leaves its agent something after the start",
        value=f"{plain(envelope.limit)} USD for the agent, of {plain(envelope.cap)} ({smallest})",
        threshold=f"more than {plain(start)} USD, which the start of a run costs",
        met=not 0 < start >= envelope.limit,
        todo="a larger budgets.run_usd, by proctor pilot amend PILOT --why, or a larger budget.usd of the contract",
    )
