"""What runs cost by item, outcome, task and stratum, and what more precision would cost.

The parts of a cost are those of the table: model, execution, human and overhead; execution and overhead by phase. What
a cost holds beyond the parts that are known is ``unattributed``, so that an agent's items add up to its total. Reviews
after the runs are itemised, too, and are in no total: how long people look at a run does not depend on its agent alone.

The variance of an agent's rate is split into a part between tasks and a part between runs of one task. More runs of a
task shrink only the second part. The interval of a plan is the one that the tables of rates use, so its width is never
zero: if all runs of an agent ended alike, it is the exact bound for that many tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.study.analysis.outcome_counts import Cells, named
from proctor.study.analysis.strata_rates import kept_strata, strata_of
from proctor.study.run_table import Floats, Table
from proctor.study.stats.clustered_rates import KORN_GRAUBARD, Spread, bounded_mean
from proctor.study.stats.estimate import Estimate

PHASES = {"setup": "setup", "agent": "attempt", "acceptance": "acceptance"}
"""The phases whose costs the table has, by the beginning of the column names."""
REVIEW = "review"
"""The phase of what people cost after the runs."""
SPREAD = ("usd", "seconds")
"""Quantities that have quartiles as well."""
MAX_CELLS = 5_000
"""How many pairs of task and agent are listed; the dearest are kept."""


def costs(cells: Cells) -> dict[str, Any]:
    """The unit of the costs, null where they are in several, and the four tables."""
    tasks, left_out = by_task(cells)
    return {
        "unit": None if any(cells.unit.mixed) else {"name": cells.unit.name, "per_usd": cells.unit.per_usd},
        "items": items(cells),
        "by_outcome": by_outcome(cells),
        "by_task": tasks,
        "by_task_left_out": left_out,
        "by_stratum": by_stratum(cells),
    }


def items(cells: Cells) -> list[dict[str, Any]]:
    """The cost of each agent by item and phase; items of which nothing is known are left out."""
    table = cells.table
    parts: list[tuple[str, str, Floats]] = [
        ("model", "attempt", table.model_usd),
        ("human", "approval", table.human_usd),
        ("human", REVIEW, table.review_usd),
    ]
    for item, whole in (("execution", table.execution_usd), ("overhead", table.overhead_usd)):
        rest = whole
        for prefix, phase in PHASES.items():
            values: Floats = getattr(table, f"{prefix}_{item}_usd")
            parts.append((item, phase, values))
            rest = rest - np.nan_to_num(values)
        parts.append((item, "unknown", _without_dust(rest)))
    left = table.cost_usd
    for whole in (table.model_usd, table.execution_usd, table.human_usd, table.overhead_usd):
        left = left - np.nan_to_num(whole)
    parts.append(("unattributed", "none", _without_dust(left)))
    found = []
    for agent, name in enumerate(cells.agents):
        rows = cells.runs_of(agent)
        for item, phase, values in parts:
            known = values[rows][~np.isnan(values[rows])]
            if len(known):
                found.append({"agent": name, "item": item, "phase": phase, "usd": float(known.sum())})
    return found


def by_outcome(cells: Cells) -> list[dict[str, Any]]:
    """Runs, cost, time and tokens of each agent by the status of its runs."""
    status = named(cells.table.status)
    return _grouped(cells, status.codes, status.names, "status", range(len(status.names)))


def by_stratum(cells: Cells) -> list[dict[str, Any]]:
    """Runs, cost, time and tokens of each agent by stratum, for as many strata as are listed."""
    labels, of_task = strata_of(cells)
    return _grouped(cells, of_task[cells.task], labels, "stratum", kept_strata(cells)) if len(labels) > 1 else []


def by_task(cells: Cells) -> tuple[list[dict[str, Any]], int]:
    """Runs, cost, time and tokens by task and agent, and how many pairs were left out."""
    totals = {
        name: (cells.sum(values), cells.count(~np.isnan(values))) for name, values in _measured(cells.table).items()
    }
    there = np.flatnonzero(cells.attempts.ravel() > 0)
    kept = there
    if len(there) > MAX_CELLS:
        dear = np.lexsort((there, -np.round(totals["usd"][0].ravel()[there], 9)))
        kept = np.sort(there[dear[:MAX_CELLS]])
    width = len(cells.tasks)
    rows: list[dict[str, Any]] = [
        {
            "task": cells.tasks[place % width],
            "agent": cells.agents[place // width],
            "runs": int(cells.attempts.flat[place]),
            **{name: float(summed.flat[place]) if has.flat[place] else None for name, (summed, has) in totals.items()},
        }
        for place in kept.tolist()
    ]
    rows.sort(key=lambda row: (row["task"], row["agent"]))
    return rows, len(there) - len(kept)


def _measured(table: Table) -> dict[str, Floats]:
    """What is added up beside the runs."""
    return {
        "usd": table.cost_usd,
        "seconds": table.seconds,
        "tokens_in": table.tokens_in,
        "tokens_out": table.tokens_out,
    }


def _grouped(cells: Cells, group: Any, labels: tuple[str, ...], word: str, kept: Sequence[int]) -> list[dict[str, Any]]:
    """By agent and group: the runs, the sums of what was measured, and the quartiles of cost and time."""
    key = cells.agent * len(labels) + group
    size = len(cells.agents) * len(labels)
    runs = np.bincount(key, minlength=size)
    sums, quartiles = {}, {}
    for name, values in _measured(cells.table).items():
        known = ~np.isnan(values)
        has = np.bincount(key[known], minlength=size)
        sums[name] = (np.bincount(key[known], values[known], minlength=size), has)
        if name in SPREAD:
            quartiles[name] = _quartiles(key[known], values[known], has)
    return [
        {
            "agent": agent,
            word: labels[place],
            "runs": int(runs[cell]),
            "metered": int(sums["usd"][1][cell]),
            **{name: float(total[cell]) if has[cell] else None for name, (total, has) in sums.items()},
            **{f"{name}_quartiles": found[cell].tolist() or None for name, found in quartiles.items()},
        }
        for number, agent in enumerate(cells.agents)
        for place in kept
        if runs[cell := number * len(labels) + place]
    ]


def _quartiles(key: NDArray[np.int64], values: Floats, counts: NDArray[np.int64]) -> list[Floats]:
    """The quartiles of the values of each key; nothing for a key without any."""
    ordered = values[np.lexsort((values, key))]
    ends = np.cumsum(counts)
    return [
        np.quantile(ordered[end - count : end], (0.25, 0.5, 0.75)) if count else np.zeros(0)
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True)
    ]


def _without_dust(values: Floats) -> Floats:
    """What is left after a subtraction, with nan for a rest that is only rounding."""
    return np.where(np.abs(values) < 1e-9, np.nan, values)


RUNS = (1, 2, 3, 5, 10)
FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Numbers of tasks to look at, as multiples of those there are."""


def tradeoff(cells: Cells, rates: list[dict[str, Any]], costs: list[dict[str, Any]]) -> dict[str, Any]:
    """Agents by cost and success with its interval, and the precision that other plans would have."""
    agents = []
    for rate, cost in zip(rates, costs, strict=True):
        success: Estimate = rate["success"]
        agents.append(
            {
                "agent": rate["agent"],
                "usd_per_run": cost["total_usd"] / cost["metered"] if cost["total_usd"] is not None else None,
                "success": success.value,
                "low": success.low,
                "high": success.high,
            }
        )
    prices = [agent["usd_per_run"] for agent in agents if agent["usd_per_run"] is not None]
    return {"agents": agents, "precision": precision(cells, sum(prices) / len(prices) if prices else None)}


def precision(cells: Cells, usd_per_run: float | None) -> list[dict[str, Any]]:
    """Half of the width of an agent's interval, averaged over agents, for plans of tasks and runs for each task.

    Empty when no agent has two tasks. Agents without repeated runs are left out if other agents have some. If no agent
    has repeated runs, only plans with one run of each task are known.
    """
    found = [one for agent in range(len(cells.agents)) if (one := variation(cells.wins[agent], cells.tries[agent]))]
    repeated = [one for one in found if one.within is not None]
    tasks = len(cells.tasks)
    return [
        {
            "runs_per_task": runs,
            "tasks": count,
            "usd": usd_per_run * runs * count if usd_per_run is not None else None,
            "half_width": sum(one.half_width(count, runs, cells.level) for one in chosen) / len(chosen),
        }
        for chosen in [repeated or found]
        if chosen
        for runs in (RUNS if repeated else (1,))
        for count in sorted({max(2, round(tasks * factor)) for factor in FACTORS})
    ]


@dataclass(frozen=True)
class Variation:
    """An agent's rate, its variance between tasks, and within a task.

    Without repeated runs the variance within a task is unknown, and ``between`` contains both.
    """

    rate: float
    between: float
    within: float | None

    def half_width(self, tasks: int, runs: int, level: float) -> float:
        """Half of the width of the rate's interval in a study of ``tasks`` tasks with ``runs`` runs each."""
        error = math.sqrt((self.between + (self.within or 0.0) / runs) / tasks)
        planned = bounded_mean(Spread(self.rate, error, tasks * runs, tasks, tasks - 1, tasks), level, KORN_GRAUBARD)
        assert planned.low is not None and planned.high is not None, "a spread has an interval"
        return (planned.high - planned.low) / 2


def variation(wins: Floats, tries: Floats) -> Variation | None:
    """How an agent's successes vary, from the successes and tries of each task; ``None`` for fewer than two tasks."""
    count = tries[tries > 0]
    won = wins[tries > 0]
    if len(count) < 2:
        return None
    rate = won / count
    value, spread = float(won.sum() / count.sum()), float(rate.var(ddof=1))
    again = count > 1
    if not again.any():
        return Variation(value, spread, None)
    within = float((rate[again] * (1 - rate[again]) * count[again] / (count[again] - 1)).mean())
    return Variation(value, max(0.0, spread - within * float((1 / count).mean())), within)
