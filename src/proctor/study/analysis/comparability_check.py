"""Runs made under different conditions are never counted together silently.

The runs of one task must share one comparability class and one version of the contract. Where they do not, the analysis
is refused, unless the caller names the task; then the findings say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.base.errors import UsageFault
from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.question import Extras, Question
from proctor.study.run_table import Coded
from proctor.study.statements import Statement, statement

ALL = "all"
SHOWN = 10
MAX_CLASSES = 200


def mixed_tasks(cells: Cells) -> dict[str, tuple[str, ...]]:
    """The tasks whose runs are of several classes or contract versions, with these."""
    found: dict[str, tuple[str, ...]] = {}
    for column in (cells.table.contract, cells.table.comparability):
        for task, values in _several(cells, column):
            found[task] = (*found.get(task, ()), *values)
    return dict(sorted(found.items()))


def check_comparable(cells: Cells, question: Question) -> list[Statement]:
    """What is counted together although it differs; refused unless each such task was named."""
    mixed = mixed_tasks(cells)
    asked = set(question.mixed)
    refused = [] if ALL in asked else [task for task in mixed if task not in asked]
    if refused:
        lines = [f"{task}: {', '.join(_short(mixed[task]))}" for task in refused[:SHOWN]]
        more = f"\n... and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        raise UsageFault(
            "runs of the same task were made under different conditions and are not counted together:\n"
            + "\n".join(lines)
            + more,
            hint="proctor compare RUN RUN says what differs; choose runs of one class, or name these tasks (or all) to "
            "have them counted together and labelled so",
        )
    if not mixed:
        return []
    return [statement("mixed-conditions", tasks=list(mixed))]


def classes(cells: Cells, extras: Extras) -> list[dict[str, Any]]:
    """The comparability classes with their runs, agents and what makes them differ; those with most runs first."""
    column = cells.table.comparability.used()
    if not len(column.names):
        return []
    size = len(column.names)
    has = column.codes >= 0
    runs = np.bincount(column.codes[has], minlength=size)
    key = column.codes[has].astype(np.int64) * len(cells.agents) + cells.agent[has]
    counts = np.bincount(key, minlength=size * len(cells.agents)).reshape(size, -1)
    order = sorted(range(size), key=lambda place: (-int(runs[place]), column.names[place]))[:MAX_CLASSES]
    tasks = _tasks_of(cells, column)
    return [
        {
            "class": column.names[place],
            "runs": int(runs[place]),
            "agents": [name for name, many in zip(cells.agents, counts[place].tolist(), strict=True) if many],
            "counts": [many for many in counts[place].tolist() if many],
            "differs": list(extras.differs.get(column.names[place], (statement("task", task=tasks[place]),))),
        }
        for place in order
    ]


def _tasks_of(cells: Cells, column: Coded) -> dict[int, str]:
    """A task of each class; a class has one task unless the contract is not part of it."""
    codes, first = np.unique(column.codes, return_index=True)
    return {
        int(code): cells.tasks[int(cells.task[row])]
        for code, row in zip(codes.tolist(), first.tolist(), strict=True)
        if code >= 0
    }


def _several(cells: Cells, column: Coded) -> list[tuple[str, tuple[str, ...]]]:
    """The tasks that have more than one value in ``column``."""
    used = column.used()
    has = used.codes >= 0
    if not has.any():
        return []
    key = np.unique(cells.task[has] * len(used.names) + used.codes[has])
    task, code = key // len(used.names), key % len(used.names)
    many = np.flatnonzero(np.bincount(task, minlength=len(cells.tasks)) > 1)
    return [(cells.tasks[place], tuple(used.names[one] for one in code[task == place])) for place in many.tolist()]


def _short(values: Sequence[str]) -> list[str]:
    return [value.removeprefix("sha256:")[:12] for value in values[:4]] + (["..."] if len(values) > 4 else [])
