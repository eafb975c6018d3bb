"""Power and projected cost of the plan in force: of the tasks that are left of it, and as it was first frozen.

The files of a plan are made from all of its tasks. A task that is removed later takes its runs, its cost and its share
of the power with it, so both are then computed again from the same assumptions, and the files stay as they were.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse
from proctor.base.files import read_bounded
from proctor.execute.monitor.price_table import total_of
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.plan.cost_projection import LEVELS
from proctor.study.pilot.plan.frozen_plan import FILE_BYTES, PROTOCOL, Plan
from proctor.study.pilot.plan.power_analysis import analyse, answer, curve, question_of, record, text
from proctor.study.pilot.plan.randomisation import Slot

POWER = "power.json"


def left_of(protocol: Mapping[str, Any], removed: Collection[str]) -> Mapping[str, Any]:
    """A protocol with the tasks that are left of it."""
    return {**protocol, "tasks": [task for task in protocol["tasks"] if task["name"] not in removed]}


def slots_left(plan: Plan, removed: Collection[str]) -> tuple[Slot, ...]:
    """The places of the tasks that are left."""
    return tuple(slot for slot in plan.slots if slot.task not in removed)


def power_of(plan: Plan, removed: Collection[str]) -> dict[str, Any]:
    """Whether the plan is powered: as it was frozen, or computed again for the tasks that are left of it."""
    again = record(analyse(question_of(left_of(plan.protocol, removed)))) if removed else None
    found = again or _record(plan.current / POWER)
    return {"supported": found["supported"] is True, "answer": answer(found, bool(removed)), "evidence": [POWER]}


def promised(plan: Plan, removed: Collection[str], power: Mapping[str, Any]) -> dict[str, Any]:
    """Power and projected cost for reports; ``power`` is what :func:`power_of` says."""
    return {"power": _power(plan, removed, power), "projection": _projection(plan, removed)}


def _power(plan: Plan, removed: Collection[str], power: Mapping[str, Any]) -> dict[str, Any]:
    """The curves of the power analysis, the least favourable correlation of methods, and what was frozen at first."""
    rows = _curve(plan, removed)
    least = min((correlation for _, _, correlation, _ in rows), default=0.0)
    curves: dict[str, list[list[float]]] = {}
    for tasks, icc, correlation, reached in rows:
        if correlation == least:
            curves.setdefault(icc, []).append([tasks, reached])
    now = {
        "tasks": len(left_of(plan.protocol, removed)["tasks"]),
        "supported": power["supported"] is True,
        "answer": plain_data(power["answer"]),
    }
    first = _record(plan.folder / POWER)
    original = {
        "tasks": len(_record(plan.folder / PROTOCOL)["tasks"]),
        "supported": first["supported"] is True,
        "answer": plain_data(answer(first)),
    }
    return {
        "curves": [{"icc": float(icc), "points": points} for icc, points in curves.items()],
        "target": float(plan.protocol["power"]),
        "minimum_effect": float(plan.protocol["minimum_effect"]),
        **now,
        "original": None if original == now else original,
    }


def _curve(plan: Plan, removed: Collection[str]) -> list[tuple[float, str, float, float]]:
    """Number of tasks, correlation of runs and of methods, and power."""
    if removed:
        points = curve(question_of(left_of(plan.protocol, removed)))
        return [(tasks, text(row.icc), row.correlation, float(text(row.power))) for tasks, row in points]
    return [
        (float(row["tasks"]), row["icc"], float(row["correlation"]), float(row["power"]))
        for row in _csv(plan, "power.csv")
    ]


def _projection(plan: Plan, removed: Collection[str]) -> dict[str, Any]:
    """Projected cost, summed over the runs of the tasks that are left."""
    runs, sums, points = 0, [Decimal(0)] * len(LEVELS), []
    for row in _csv(plan, "projection.csv"):
        if row["task"] not in removed:
            runs += int(row["runs"])
            sums = [total_of((usd, Decimal(row[f"{level}_usd"]))) for usd, level in zip(sums, LEVELS, strict=True)]
            points.append([float(runs), *map(float, sums)])
    return {"points": points, "budget_usd": float(plan.protocol["budgets"]["pilot_usd"])}


def _record(path: Path) -> Any:
    return parse(read_bounded(path, FILE_BYTES))


def _csv(plan: Plan, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_bounded(plan.current / name, FILE_BYTES).decode())))
