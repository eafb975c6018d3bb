"""Runs of a pilot without a machine: what each place of a plan came to, made up place by place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from proctor.record.reviews import Review
from proctor.study.pilot.ledger.journal import Screen
from proctor.study.pilot.ledger.pilot_runs import CHECKS, SEALED, Ledger, Run
from proctor.study.pilot.plan.protocol import design_of
from proctor.study.pilot.plan.randomisation import Slot, randomise
from proctor.study.pilot.running.stage_criteria import Facts
from proctor.study.pilot.running.stopping_rules import Account
from proctor.study.statements import statement
from tests.study.pilot.planning import method, protocol

ARMS = [method("x"), method("y"), method("noop", baseline=True), method("reference", baseline=True)]
SHOWN = statement("no-op-succeeded", run="r1")
"""What the evidence for a removal shows."""
SEEN = {"power": 0.9, "icc": 0.3, "correlation": 0.5}
POWERED = {
    "supported": True,
    "answer": statement("power-reached", removed=False, tasks=6, effect=0.3, target=0.8, formula=[SEEN], simulated=[]),
    "evidence": ["power.json"],
}
TOO_FEW = {
    "supported": False,
    "answer": statement("power-without-tasks", removed=False, tasks=1, effect=0.3, target=0.8, least_tasks=2),
    "evidence": ["power.json"],
}


def arms(**parts: Any) -> dict[str, Any]:
    """A protocol of two methods and both baselines on four tasks."""
    return protocol(**{"methods": ARMS, **parts})


def usual(slot: Slot) -> dict[str, Any]:
    """How a place comes out where a test says nothing: x and the reference solve everything."""
    good = slot.method in ("x", "reference")
    return {"status": "success" if good else "failure", "success": good}


def run_of(slot: Slot, number: int = 0, **fields: Any) -> Run:
    """A sealed run that was made for a place."""
    told: dict[str, Any] = {"scorable": True, "reason": "finished", "usd": Decimal("0.50"), "scored": True}
    told |= {"state": SEALED, "agent": "d", **usual(slot), **fields}
    name = f"{slot.stage}-{slot.task}-{slot.method}-{slot.repeat}-{number}"
    place = (slot.stage, slot.method, slot.task, slot.contract, slot.repeat)
    return Run(name, Path("/runs") / name, *place, slot.order * 10 + number, **told)


def review(minutes: str = "1", verdict: str = "accept", by: str = "ada") -> Review:
    """What somebody said of a run."""
    return Review(verdict, minutes, by, "because", "2026-03-07T12:00:00Z")


SPOILT = {"status": "invalid", "attribution": "harness", "scorable": False, "success": False, "problem": "no disk"}
UNSAFE = {"status": "invalid", "attribution": "agent", "scorable": False, "success": False, "code": "safety-boundary"}
STOPPED = {"status": "invalid", "attribution": "nobody", "scorable": False, "success": False, "code": "operator"}


def ledger(
    wanted: Mapping[str, Any],
    filled: int | None = None,
    says: Callable[[Slot], Mapping[str, Any]] = lambda slot: {},
    removed: frozenset[str] = frozenset(),
) -> Ledger:
    """The ledger of a protocol whose first ``filled`` places have runs; ``says`` changes what they came to."""
    slots = randomise(design_of(wanted))
    runs = [run_of(slot, **says(slot)) for slot in slots[:filled] if slot.task not in removed]
    return Ledger(slots, (*checked(wanted), *runs), int(wanted["retries"]), removed)


def checked(wanted: Mapping[str, Any], **changed: Mapping[str, Any]) -> list[Run]:
    """The runs that show that every task can be used; ``changed`` are fields of those of one baseline."""
    found = []
    for number, task in enumerate(wanted["tasks"]):
        for arm in ("noop", "reference"):
            slot = Slot(number, CHECKS, number, "all", task["name"], task["contract"], 1, 1, arm)
            found.append(run_of(slot, usd=Decimal(0), **changed.get(arm, {})))
    return found


def screens(wanted: Mapping[str, Any], **deviating: int) -> dict[str, Screen]:
    """Steady screens of every task but for those whose deviating attempts are given."""
    runs = wanted["flakes"]["runs"]
    found = {}
    for index, task in enumerate(wanted["tasks"]):
        name, count = task["name"], deviating.get(task["name"], 0)
        found[name] = Screen(name, task["contract"], runs, count, runs, "tests", f"journal.jsonl#{index}")
    return found


def facts(wanted: Mapping[str, Any], book: Ledger, **fields: Any) -> Facts:
    """What criteria are computed from, all in order where a test says nothing."""
    spent: dict[str, Decimal] = {}
    for run in book.runs:
        spent[run.contract] = spent.get(run.contract, Decimal(0)) + (run.usd or 0)
    told: dict[str, Any] = {"screens": screens(wanted), "account": Account(spent), "power": POWERED, **fields}
    return Facts(protocol=wanted, ledger=book, **told)
