"""What would have counted as a success under a tighter cap. Labelled so, and never part of the primary numbers.

A run that succeeded within the cap still counts; one that needed more does not. A looser cap cannot be told from runs
that were cut short, so only caps below what was seen are looked at. An agent that knew of a tighter cap might also have
acted otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.cells import Cells
from proctor.study.analysis.question import Question
from proctor.study.stats.rates import cluster_rate
from proctor.study.table import Floats

SHARES = (0.5, 0.75)
"""Which quantiles of the successful runs are taken for caps when none were asked for."""


def counterfactual(cells: Cells, question: Question) -> list[dict[str, Any]]:
    """Success under other caps, for agents of which cost or time is known for every run with an outcome."""
    found = []
    unit = cells.unit
    for name, rate, words in (
        ("seconds", 1, "s of the agent's time"),
        ("cost_usd", unit.per_usd, f"{unit.name} a run"),
    ):
        values: Floats = getattr(cells.table, name)
        for cap in question.caps.get(name, _usual(values[cells.won])):
            found += _under(cells, values, cap, f"COUNTERFACTUAL: cap {cap * rate:g} {words}")
    return found


def _under(cells: Cells, values: Floats, cap: float, label: str) -> list[dict[str, Any]]:
    """Success of each agent had the cap been this."""
    unseen = np.isnan(values)
    known = cells.known & ~(unseen & cells.won)
    wins = cells.count(cells.won & (values <= cap))
    tries = cells.count(known)
    complete = cells.count(cells.won & unseen).sum(axis=1) == 0
    return [
        {"label": label, "agent": name, "success": cluster_rate(wins[agent], tries[agent], cells.level)}
        for agent, name in enumerate(cells.agents)
        if complete[agent] and cells.won[cells.runs_of(agent)].any()
    ]


def _usual(values: Floats) -> tuple[float, ...]:
    """Two caps with two significant digits that would have cut off a half and a quarter of the successes."""
    known = values[~np.isnan(values)]
    if len(known) < 20 or known.min() == known.max():
        return ()
    return tuple(dict.fromkeys(float(f"{np.quantile(known, share):.2g}") for share in SHARES))
