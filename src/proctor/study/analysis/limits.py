"""What a table does not support, said instead of left out; and to what its findings must not be stretched."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.cells import NAMELESS, Cells
from proctor.study.analysis.question import Extras
from proctor.study.analysis.strata import SEVERAL, strata_of
from proctor.study.analysis.survival import where_cut

FEW_TASKS = 20


def cannot(cells: Cells, extras: Extras) -> list[str]:
    """Sentences on what cannot be said."""
    table, said = cells.table, list(extras.cannot)
    most = cells.tries.max()
    if most <= 1:
        once = "one trial for each task" if cells.attempts.max() <= 1 else "at most one outcome for each task"
        said.append(f"{once}: how much an agent varies on a task, pass@k beyond 1 and all-of-k are unknown")
    if len(cells.tasks) < 2:
        said.append("one task only: nothing can be said about other tasks")
    elif len(cells.tasks) < FEW_TASKS:
        said.append(f"only {len(cells.tasks)} tasks: intervals are wide, and tests on so few are coarse")
    if len(cells.agents) < 2:
        said.append("one agent only: there is nothing to compare it with")
    told = " ".join(said)
    if any(cells.unit.mixed):
        said.append("no costs: they are in units that cannot be added")
    elif np.isnan(table.cost_usd).all() and "no costs" not in told:
        said.append("no costs: none of the runs was metered")
    if np.isnan(table.seconds).all() and "no times" not in told:
        said.append("no times: none of the runs says how long it took")
    if (cells.attempts == 0).any():
        pairs = int((cells.attempts == 0).sum())
        said.append(
            f"{pairs} of {cells.attempts.size} pairs of agent and task were never run: "
            "pairs of agents are compared on the tasks that both ran, rates on each agent's own"
        )
    said += _cut_short(cells)
    labels, of_task = strata_of(cells)
    if labels == (NAMELESS,) and "no strata" not in told:
        said.append("no strata: the table does not say what kinds of tasks there are")
    if SEVERAL in labels:
        torn = int((of_task == labels.index(SEVERAL)).sum())
        many = "1 task is" if torn == 1 else f"{torn} tasks are"
        said.append(f"{many} in several strata, by different rows: what kind of task that is cannot be told")
    if (table.comparability.codes < 0).all():
        said.append("no conditions: the table does not say whether runs of a task had the same tools and limits")
    return said


def _cut_short(cells: Cells) -> list[str]:
    """What curves and means take for granted of runs that a cap cut short."""
    table = cells.table
    cut = table.censored == 1
    seconds, usd = (values[cut & ~np.isnan(values)] for values in (table.seconds, table.cost_usd))
    said = []
    if len(seconds) and where_cut(seconds) is None:
        told = (
            "runs were cut at different times: curves and means of time take this as unrelated to how long they would"
        )
        said.append(f"{told} have gone on, which caps by task are not")
    if len(usd) and where_cut(usd) is None:
        told = "runs were cut at different costs, as by a cap on time: what they had cost by then goes with what they"
        said.append(f"{told} would have cost, so that curves and means of cost are rough")
    return said


def scope(cells: Cells, extras: Extras) -> dict[str, Any]:
    """When runs were made, what they cover, and what must not be made of them."""
    begun = cells.table.begun.used()
    labels, _ = strata_of(cells)
    warned = [
        f"{_these(len(cells.tasks))}: intervals speak of tasks like them, not of software work as a whole",
        "the agents are these versions under these limits; another model, budget or prompt is another agent",
        *extras.not_to_generalise,
    ]
    return {
        "window": [begun.names[0], begun.names[-1]] if begun.names else [None, None],
        "languages": list(extras.languages),
        "kinds": list(extras.kinds),
        "strata": [label for label in labels if label != NAMELESS][:200],
        "not_to_generalise": warned,
    }


def _these(tasks: int) -> str:
    return "the task is this one" if tasks == 1 else f"the tasks are these {tasks}"
