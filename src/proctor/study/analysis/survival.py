"""How long agents work and what they spend before they end by themselves, when caps cut some runs short.

A run that a cap ended is not one that ended: it says only that the agent would have needed more. The curve is the share
of runs still at work; the restricted mean is comparable between agents because all share one horizon.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.cells import Cells
from proctor.study.stats.survival import kaplan_meier, restricted_mean
from proctor.study.table import Floats

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
