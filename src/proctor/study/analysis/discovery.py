"""How many ways of failing each agent's runs have shown, how many they have not, and what finding one more costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.cells import Cells
from proctor.study.analysis.modes import Modes
from proctor.study.stats.discovery import MARGINAL, discover
from proctor.study.stats.estimate import undefined

MAX_POINTS = 60


def discovery(cells: Cells, modes: Modes) -> list[dict[str, Any]]:
    """For each agent that showed any mode: modes found and unseen, the price of the next, and the curve."""
    usd = cells.table.cost_usd
    found = []
    for agent, name in enumerate(cells.agents):
        rows = cells.runs_of(agent)
        runs = rows.stop - rows.start
        first, last = np.searchsorted(modes.row, (rows.start, rows.stop)).tolist()
        if first == last:
            continue
        known = usd[rows][~np.isnan(usd[rows])]
        # Runs without a known cost are taken to cost what the others do on average.
        cost = float(known.mean()) * runs if len(known) else None
        seen = discover(
            modes.row[first:last] - rows.start, modes.tag[first:last], runs, cost or 0.0, cells.level, MAX_POINTS
        )
        price = seen.marginal_cost
        if cost is None:
            price = undefined("what the runs cost is not known", level=cells.level, method=MARGINAL, n=runs)
        found.append(
            {
                "agent": name,
                "found": seen.found,
                "unseen_estimate": seen.unseen,
                "marginal_usd": price,
                "curve": [
                    [count, None if cost is None else spent, round(shown, 9)] for count, spent, shown in seen.curve
                ],
            }
        )
    return found
