"""Precision against money: what each agent costs and achieves, and what more tasks or more runs would buy.

The variance of an agent's rate is split into a part between tasks and a part between runs of one task. More runs of a
task shrink only the second part. The interval of a plan is the one that the tables of rates use, so its width is never
zero: if all runs of an agent ended alike, it is the exact bound for that many tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from proctor.study.analysis.cells import Cells
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.rates import KORN_GRAUBARD, Spread, bounded_mean
from proctor.study.table import Floats

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
