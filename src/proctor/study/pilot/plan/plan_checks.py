"""Checks of a plan that can fail: its structure, and whether its numbers change in the right direction.

``structure`` and ``money`` check the order and the projection as they will be frozen, so that a fault of the program
shows before anything is run. ``power`` compares formula and simulation at the plan's own design; with very few tasks
they may differ, which is reported but does not stop the plan. ``monotonicity`` asks whether power rises with
tasks, runs and effect, falls with the correlation of runs, and whether cost never falls with more runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from proctor.base.dataclass_fields import field_items
from proctor.execute.monitor.price_table import total_of
from proctor.study.pilot.plan.cost_projection import LEVELS, BlockCost, Projection
from proctor.study.pilot.plan.pilot_model import STAGES
from proctor.study.pilot.plan.power_analysis import LEAST_TASKS, Analysis, PowerQuestion, generator
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.stats.statistical_power import paired_power, sanity

SANITY_STREAM = 1_000
"""The number of the random stream of the checks; those of the analysis are below it."""


@dataclass(frozen=True)
class Check:
    """One condition, and what was found."""

    name: str
    held: bool
    seen: str


def structure(protocol: Mapping[str, Any], slots: Sequence[Slot]) -> list[Check]:
    """The conditions of every order, for any draw."""
    tasks = {task["name"]: task for task in protocol["tasks"]}
    methods = sorted(method["name"] for method in protocol["methods"])
    runs = protocol["runs_per_task"]
    keys = Counter((slot.task, slot.method, slot.repeat) for slot in slots)
    wanted = {(task, method, repeat) for task in tasks for method in methods for repeat in range(1, runs + 1)}
    counts = Counter(slot.method for slot in slots)
    blocks: dict[int, list[Slot]] = {}
    for slot in slots:
        blocks.setdefault(slot.block, []).append(slot)
    broken = [
        number
        for number, block in blocks.items()
        if sorted(slot.method for slot in block) != methods
        or len({(slot.task, slot.repeat, slot.stage) for slot in block}) != 1
        or [slot.order - block[0].order for slot in block] != list(range(len(block)))
    ]
    strata = {task["stratum"] for task in protocol["tasks"]}
    first = {slot.stratum for slot in slots if slot.stage == STAGES[0]}
    wrong = [slot.order for slot in slots if slot.stratum != tasks[slot.task]["stratum"]]
    stages = [STAGES.index(slot.stage) for slot in slots]
    seen = f"{len(keys)} of {len(wanted)}, the most often {max(keys.values(), default=0)} times"
    return [
        Check("every run is planned once", set(keys) == wanted and max(keys.values(), default=0) == 1, seen),
        Check("every method has as many runs", len(set(counts.values())) == 1, _counted(counts)),
        Check("every block has every method once", not broken, _faults(broken, f"{len(blocks)} blocks")),
        Check("stage one sees every stratum", first == strata, f"{len(first)} of {len(strata)}"),
        Check("every run stands in its task's stratum", not wrong, _faults(wrong, "all")),
        Check("stages follow each other", stages == sorted(stages), _counted(Counter(slot.stage for slot in slots))),
        Check("runs are numbered", [slot.order for slot in slots] == list(range(1, len(slots) + 1)), f"{len(slots)}"),
    ]


def money(projection: Projection, slots: Sequence[Slot], blocks: Sequence[BlockCost]) -> list[Check]:
    """The conditions of every projection."""
    negative = [block.slot.block for block in blocks if min(block.usd) < 0]
    crossed = [block.slot.block for block in blocks if list(block.usd) != sorted(block.usd)]
    summary = projection.summary(slots)
    sums = {
        field: [total_of(Decimal(one[level]) for one in summary[field].values()) for level in LEVELS]
        for field in ("by_stage", "by_method", "by_task", "by_stratum")
    }
    total = [Decimal(summary["usd"][level]) for level in LEVELS]
    off = [field for field, found in sums.items() if found != total]
    last = list(blocks[-1].up_to) if blocks else []
    return [
        Check("no cost is below nothing", not negative, _faults(negative, "all")),
        Check("low, expected and high are in order", not crossed, _faults(crossed, "all")),
        Check("parts add up to the whole", not off, ", ".join(off) or "stages, methods, tasks and strata"),
        Check("the curve ends at the whole", last == total, ", ".join(str(usd) for usd in total)),
    ]


def power(analysis: Analysis) -> list[Check]:
    """Whether formula and simulation agree at the plan's own design, in the worst case."""
    worst, asked = analysis.worst, analysis.question
    if worst is None:
        return [Check("there is a design to analyse", False, f"{asked.tasks} tasks")]
    design = asked.design(worst.icc, worst.correlation)
    found = sanity(design, asked.effect, generator(asked.seed, SANITY_STREAM))
    return [Check(one.name, one.held, one.seen) for one in found]


def monotonicity(question: PowerQuestion, blocks: Sequence[BlockCost]) -> list[Check]:
    """Whether power and cost change in the right direction when one value is changed."""
    tasks = max(question.tasks, LEAST_TASKS)
    plan = replace(question, tasks=tasks)
    effects = [question.effect * share / 4 for share in (1, 2, 3, 4)]
    falls = [
        block.slot.block
        for less, block in pairwise(blocks)
        if any(a > b for a, b in zip(less.up_to, block.up_to, strict=True))
    ]
    return [
        _rises("power rises with tasks", [_power(replace(plan, tasks=tasks * times)) for times in (1, 2, 4, 8)]),
        _rises(
            "power rises with runs of a task", [_power(replace(plan, runs=plan.runs * times)) for times in (1, 2, 4)]
        ),
        _rises("power rises with the effect", [_power(replace(plan, effect=effect)) for effect in effects]),
        _rises("power rises with alpha", [_power(replace(plan, alpha=plan.alpha * share)) for share in (0.25, 0.5, 1)]),
        _falls("power falls with the correlation of runs", [_power(plan, icc) for icc in (0.0, 0.25, 0.5, 0.75)]),
        Check("cost never falls with more runs", not falls, _faults(falls, f"over {len(blocks)} blocks")),
    ]


def record(kind: str, parts: Mapping[str, Iterable[Check]]) -> dict[str, Any]:
    """Checks as data."""
    found = {name: [dict(field_items(check)) for check in checks] for name, checks in parts.items()}
    held = all(check["held"] for checks in found.values() for check in checks)
    return {"schema": 1, "kind": f"proctor.{kind}", "held": held, "checks": found}


def _power(question: PowerQuestion, icc: float | None = None) -> float:
    """The power of unpaired tasks, where the correlation of runs can only reduce it."""
    return paired_power(question.design(max(question.iccs) if icc is None else icc, 0.0), question.effect)


def _rises(name: str, values: Sequence[float]) -> Check:
    return Check(name, all(a <= b + 1e-9 for a, b in pairwise(values)), " ".join(f"{value:.4f}" for value in values))


def _falls(name: str, values: Sequence[float]) -> Check:
    return Check(name, all(a >= b - 1e-9 for a, b in pairwise(values)), " ".join(f"{value:.4f}" for value in values))


def _faults(found: Sequence[int], otherwise: str) -> str:
    return f"not at {', '.join(str(number) for number in found[:10])}" if found else otherwise


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
