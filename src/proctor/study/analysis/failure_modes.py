"""How runs fail: the tags of failed runs, how many kinds are still unseen, and how many runs passed each gate.

A failure mode is a tag. Tags of runs that succeeded are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.study.analysis.outcome_counts import Cells
from proctor.study.stats.estimate import undefined
from proctor.study.stats.unseen_failure_modes import MARGINAL, discover

MAX_TAGS = 60
"""How many modes the matrix has; the most frequent are kept."""


class Modes:
    """Tags by run: for each pair of run and tag the row and the tag."""

    def __init__(self, cells: Cells) -> None:
        column = cells.table.tags.used()
        split = [tuple(sorted({tag.strip() for tag in text.split(";") if tag.strip()})) for text in column.names]
        self.names = tuple(sorted({tag for tags in split for tag in tags}))
        place = {tag: number for number, tag in enumerate(self.names)}
        lengths = np.array([*(len(tags) for tags in split), 0], dtype=np.int64)
        flat = np.array([place[tag] for tags in split for tag in tags], dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.flatnonzero((lengths[column.codes] > 0) & ~cells.won)
        codes = column.codes[rows]
        many = lengths[codes]
        self.row: NDArray[np.int64] = np.repeat(rows, many)
        offset = np.arange(len(self.row)) - np.repeat(np.cumsum(many) - many, many)
        self.tag: NDArray[np.int64] = flat[np.repeat(starts[codes], many) + offset] if len(flat) else flat


def matrix(cells: Cells, modes: Modes) -> tuple[list[str], list[dict[str, Any]]]:
    """The modes, and how often each agent showed them."""
    size = max(1, len(modes.names))
    key = cells.agent[modes.row] * size + modes.tag
    counts = np.bincount(key, minlength=len(cells.agents) * size).reshape(len(cells.agents), size)
    totals = counts.sum(axis=0)
    order = [place for place in np.lexsort((np.arange(size), -totals)).tolist() if totals[place]][:MAX_TAGS]
    runs = cells.attempts.sum(axis=1)
    tags = [modes.names[place] for place in order]
    rows = [
        {
            "agent": name,
            "counts": {modes.names[place]: int(counts[agent, place]) for place in order if counts[agent, place]},
            "runs": int(runs[agent]),
        }
        for agent, name in enumerate(cells.agents)
    ]
    return tags, rows


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
        # Runs without a known cost are assumed to cost the mean of the others.
        cost = float(known.mean()) * runs if len(known) else None
        seen = discover(
            modes.row[first:last] - rows.start, modes.tag[first:last], runs, cost or 0.0, cells.level, MAX_POINTS
        )
        price = seen.marginal_cost
        if cost is None:
            price = undefined("no-cost-known", level=cells.level, method=MARGINAL, n=runs)
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


GATES = ("gate1", "gate2", "gate3", "gate4")


def funnel(cells: Cells) -> list[dict[str, Any]]:
    """The steps of each agent. Gates appear where the table has them; a step counts runs that took all before it."""
    table = cells.table
    left = np.ones(len(table), dtype=bool)
    steps = [("attempted", left)]
    left = left & cells.scorable
    steps.append(("scorable", left))
    gates = [getattr(table, name) for name in GATES]
    if all(np.isnan(gate).all() for gate in gates):
        left = left & cells.known
        steps.append(("outcome-known", left))
    else:
        for number, gate in enumerate(gates, 1):
            left = left & (gate == 1)
            steps.append((f"gate-{number}", left))
    steps.append(("success", left & cells.won))
    size = len(cells.agents)
    counts = [(name, np.bincount(cells.agent[mask], minlength=size)) for name, mask in steps]
    return [
        {"agent": agent, "steps": [{"name": name, "count": int(count[place])} for name, count in counts]}
        for place, agent in enumerate(cells.agents)
    ]
