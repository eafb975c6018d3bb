"""How far runs got: attempted, scorable, each gate with those before it, success."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.cells import Cells

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
        steps.append(("outcome known", left))
    else:
        for number, gate in enumerate(gates, 1):
            left = left & (gate == 1)
            steps.append((f"gate {number}", left))
    steps.append(("success", left & cells.won))
    size = len(cells.agents)
    counts = [(name, np.bincount(cells.agent[mask], minlength=size)) for name, mask in steps]
    return [
        {"agent": agent, "steps": [{"name": name, "count": int(count[place])} for name, count in counts]}
        for place, agent in enumerate(cells.agents)
    ]
