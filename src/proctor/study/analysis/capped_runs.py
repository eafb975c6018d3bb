"""Runs that a cap cut short: how long agents work and what they spend, and what a tighter cap would have counted.

A run that a cap ended has not ended by itself: it only shows that the agent would have needed more. The curve is the
share of runs still at work; the restricted mean is comparable between agents because all share one horizon.

A run that succeeded within the cap still counts; one that needed more does not. Runs that were cut short do not show
the effect of a looser cap, so only lower caps are computed. An agent that knew of a tighter cap might also have acted
differently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.question import Question
from proctor.study.run_table import Floats
from proctor.study.stats.clustered_rates import cluster_rate
from proctor.study.stats.survival_curves import kaplan_meier, restricted_mean

MAX_STEPS = 200
NEAR = 0.01
"""Caps that differ by less than this share are one cap."""


def survival(cells: Cells) -> list[dict[str, Any]]:
    """The curves of time and of cost, for every agent of which these are known."""
    return [*_of(cells, "seconds"), *_of(cells, "cost_usd")]


def _of(cells: Cells, name: str) -> list[dict[str, Any]]:
    values: Floats = getattr(cells.table, name)
    events = np.where(cells.table.censored == 1, 0.0, 1.0)
    curves = {}
    for agent in range(len(cells.agents)):
        rows = cells.runs_of(agent)
        if not np.isnan(values[rows]).all():
            curves[agent] = kaplan_meier(values[rows], events[rows], cells.level, clusters=cells.task[rows])
    if not curves:
        return []
    going = [curve.last for curve in curves.values() if not len(curve.survival) or curve.survival[-1] > 0]
    horizon = min(going) if going else max(curve.last for curve in curves.values())
    found = []
    for agent, curve in curves.items():
        rows = cells.runs_of(agent)
        mean = restricted_mean(values[rows], events[rows], horizon, cells.level, clusters=cells.task[rows])
        found.append(
            {
                "agent": cells.agents[agent],
                "of": name,
                "cap": where_cut(values[rows][(events[rows] == 0)]),
                "horizon": horizon,
                "events": curve.events,
                "censored": curve.censored,
                "median": curve.median,
                "mean": mean,
                "steps": curve.steps(MAX_STEPS),
            }
        )
    return found


def where_cut(cut: Floats) -> float | None:
    """Where these runs were cut; null when that was at different values, or none was."""
    known = cut[~np.isnan(cut)]
    if not len(known) or known.max() - known.min() > NEAR * known.max():
        return None
    return float(np.median(known))


SHARES = (0.5, 0.75)
"""Which quantiles of the successful runs are taken for caps when none were asked for."""


def counterfactual(cells: Cells, question: Question) -> list[dict[str, Any]]:
    """Success under other caps, for agents of which cost or time is known for every run with an outcome."""
    found = []
    for name in ("seconds", "cost_usd"):
        values: Floats = getattr(cells.table, name)
        for cap in question.caps.get(name, _usual(values[cells.won])):
            found += _under(cells, values, cap, name)
    return found


def _under(cells: Cells, values: Floats, cap: float, of: str) -> list[dict[str, Any]]:
    """Success of each agent if this had been the cap."""
    unseen = np.isnan(values)
    known = cells.known & ~(unseen & cells.won)
    wins = cells.count(cells.won & (values <= cap))
    tries = cells.count(known)
    complete = cells.count(cells.won & unseen).sum(axis=1) == 0
    return [
        {"of": of, "cap": cap, "agent": name, "success": cluster_rate(wins[agent], tries[agent], cells.level)}
        for agent, name in enumerate(cells.agents)
        if complete[agent] and cells.won[cells.runs_of(agent)].any()
    ]


def _usual(values: Floats) -> tuple[float, ...]:
    """Two caps with two significant digits that would have cut off a half and a quarter of the successes."""
    known = values[~np.isnan(values)]
    if len(known) < 20 or known.min() == known.max():
        return ()
    return tuple(dict.fromkeys(float(f"{np.quantile(known, share):.2g}") for share in SHARES))
