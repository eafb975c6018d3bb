"""Precision against money: what each agent costs and achieves, and what more tasks or more runs would buy.

How much a rate varies is split into what differs between tasks and what differs between runs of one task, both averaged
over the agents. More runs of a task shrink the second part only.
"""

from __future__ import annotations

import math
from typing import Any

from proctor.study.analysis.cells import Cells
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.limits import t_quantile

RUNS = (1, 2, 3, 5, 10)
FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Numbers of tasks to look at, as multiples of those there are."""
WIDEST = 0.5
"""Half of everything: no interval of a rate is wider, whatever a t says of few tasks."""


def tradeoff(cells: Cells, rates: list[dict[str, Any]], costs: list[dict[str, Any]]) -> dict[str, Any]:
    """Agents by cost and success, and the precision that other plans would have."""
    agents = []
    for rate, cost in zip(rates, costs, strict=True):
        success: Estimate = rate["success"]
        known = success.low is not None and success.high is not None
        agents.append(
            {
                "agent": rate["agent"],
                "usd_per_run": cost["total_usd"] / cost["metered"] if cost["total_usd"] is not None else None,
                "success": success.value,
                "half_width": ((success.high or 0.0) - (success.low or 0.0)) / 2 if known else None,
            }
        )
    prices = [agent["usd_per_run"] for agent in agents if agent["usd_per_run"] is not None]
    return {"agents": agents, "precision": precision(cells, sum(prices) / len(prices) if prices else None)}


def precision(cells: Cells, usd_per_run: float | None) -> list[dict[str, Any]]:
    """The half width of an average agent's interval for plans of tasks and runs for each task; empty when unknown."""
    between, within = variances(cells)
    if between is None:
        return []
    tasks = len(cells.tasks)
    found = []
    for runs in RUNS if within is not None else (1,):
        for count in sorted({max(2, round(tasks * factor)) for factor in FACTORS}):
            error = math.sqrt((between + (within or 0.0) / runs) / count)
            found.append(
                {
                    "runs_per_task": runs,
                    "tasks": count,
                    "usd": usd_per_run * runs * count if usd_per_run is not None else None,
                    "half_width": min(WIDEST, t_quantile((1 + cells.level) / 2, count - 1) * error),
                }
            )
    return found


def variances(cells: Cells) -> tuple[float | None, float | None]:
    """The variance between tasks and within a task, averaged over agents.

    Without repeated runs the second is unknown, and the first holds both. Without two tasks neither is known.
    """
    import numpy as np

    spread, inside, share = [], [], []
    for wins, tries in zip(cells.wins, cells.tries, strict=True):
        count = tries[tries > 0]
        rate = wins[tries > 0] / count
        if len(rate) < 2:
            continue
        spread.append(float(rate.var(ddof=1)))
        share.append(float((1 / count).mean()))
        again = count > 1
        if again.any():
            rate, count = rate[again], count[again]
            inside.append(float((rate * (1 - rate) * count / (count - 1)).mean()))
    if not spread:
        return None, None
    if not inside:
        return float(np.mean(spread)), None
    within = float(np.mean(inside))
    return max(0.0, float(np.mean(spread)) - within * float(np.mean(share))), within
