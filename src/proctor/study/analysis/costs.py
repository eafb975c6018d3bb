"""What runs cost: by item, by outcome, by task and by stratum. Only what was metered is added up.

The parts of a cost are those of the table: model, execution, human and overhead; execution and overhead by phase. What
a cost holds beyond the parts that are known is ``unattributed``, so that an agent's items add up to its total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proctor.study.analysis.cells import Cells, named
from proctor.study.analysis.strata import strata_of

if TYPE_CHECKING:
    from proctor.study.table import Floats

PHASES = {"setup": "setup", "agent": "attempt", "acceptance": "acceptance"}
"""The phases of which the table tells the costs, by how its columns begin."""
MAX_CELLS = 5_000
"""How many pairs of task and agent are listed; the dearest are kept."""


def costs(cells: Cells) -> dict[str, Any]:
    """The four tables of costs."""
    tasks, left_out = by_task(cells)
    return {
        "items": items(cells),
        "by_outcome": by_outcome(cells),
        "by_task": tasks,
        "by_task_left_out": left_out,
        "by_stratum": by_stratum(cells),
    }


def items(cells: Cells) -> list[dict[str, Any]]:
    """The cost of each agent by item and phase; items of which nothing is known are left out."""
    import numpy as np

    table = cells.table
    parts: list[tuple[str, str, Floats]] = [
        ("model", "attempt", table.model_usd),
        ("human", "approval and review", table.human_usd),
    ]
    for item, whole in (("execution", table.execution_usd), ("overhead", table.overhead_usd)):
        rest = whole
        for prefix, phase in PHASES.items():
            values: Floats = getattr(table, f"{prefix}_{item}_usd")
            parts.append((item, phase, values))
            rest = rest - np.nan_to_num(values)
        parts.append((item, "phase unknown", _without_dust(rest)))
    left = table.cost_usd
    for whole in (table.model_usd, table.execution_usd, table.human_usd, table.overhead_usd):
        left = left - np.nan_to_num(whole)
    parts.append(("unattributed", "not itemised", _without_dust(left)))
    found = []
    for agent, name in enumerate(cells.agents):
        rows = cells.runs_of(agent)
        for item, phase, values in parts:
            known = values[rows][~np.isnan(values[rows])]
            if len(known):
                found.append({"agent": name, "item": item, "phase": phase, "usd": float(known.sum())})
    return found


def by_outcome(cells: Cells) -> list[dict[str, Any]]:
    """Runs, cost and time of each agent by how its runs came out."""
    status = named(cells.table.status)
    return _grouped(cells, status.codes, status.names, "status")


def by_stratum(cells: Cells) -> list[dict[str, Any]]:
    """Runs, cost and time of each agent by stratum."""
    labels, of_task = strata_of(cells)
    return _grouped(cells, of_task[cells.task], labels, "stratum") if len(labels) > 1 else []


def by_task(cells: Cells) -> tuple[list[dict[str, Any]], int]:
    """Runs and cost by task and agent, and how many pairs were left out."""
    import numpy as np

    usd = cells.sum(cells.table.cost_usd)
    metered = cells.count(~np.isnan(cells.table.cost_usd))
    there = np.flatnonzero(cells.attempts.ravel() > 0)
    if len(there) > MAX_CELLS:
        dear = np.lexsort((there, -np.round(usd.ravel()[there], 9)))
        kept = np.sort(there[dear[:MAX_CELLS]])
    else:
        kept = there
    width = len(cells.tasks)
    rows = [
        {
            "task": cells.tasks[place % width],
            "agent": cells.agents[place // width],
            "runs": int(cells.attempts.flat[place]),
            "usd": float(usd.flat[place]) if metered.flat[place] else None,
        }
        for place in kept.tolist()
    ]
    rows.sort(key=lambda row: (row["task"], row["agent"]))
    return rows, len(there) - len(kept)


def _grouped(cells: Cells, group: Any, labels: tuple[str, ...], word: str) -> list[dict[str, Any]]:
    """Runs, cost and seconds by agent and group."""
    import numpy as np

    size = (len(cells.agents), len(labels))
    key = cells.agent * len(labels) + group

    def total(values: Floats) -> Any:
        return np.bincount(key, np.nan_to_num(values), minlength=size[0] * size[1]).reshape(size)

    def known(values: Floats) -> Any:
        return np.bincount(key[~np.isnan(values)], minlength=size[0] * size[1]).reshape(size)

    runs = np.bincount(key, minlength=size[0] * size[1]).reshape(size)
    columns = {"usd": cells.table.cost_usd, "seconds": cells.table.seconds}
    totals = {name: (total(values), known(values)) for name, values in columns.items()}
    return [
        {
            "agent": name,
            word: label,
            "runs": int(runs[agent, place]),
            **{
                what: float(summed[agent, place]) if has[agent, place] else None
                for what, (summed, has) in totals.items()
            },
        }
        for agent, name in enumerate(cells.agents)
        for place, label in enumerate(labels)
        if runs[agent, place]
    ]


def _without_dust(values: Floats) -> Floats:
    """What is left after a subtraction, with nan for what is nothing but rounding."""
    import numpy as np

    return np.where(np.abs(values) < 1e-9, np.nan, values)
