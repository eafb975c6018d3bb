"""Small tables of runs for the tests of analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.study.run_table import Table

Outcomes = Mapping[str, Mapping[str, Sequence[Any]]]
"""What came out, by agent and task, a value for each trial."""


def runs(outcomes: Outcomes, **columns: Any) -> list[dict[str, Any]]:
    """Rows from outcomes by agent and task: 1, 0, None for unknown, -1 for invalid, 2 for an acceptance error."""
    status: dict[Any, str] = {1: "success", 0: "failure", None: "unknown", -1: "invalid", 2: "acceptance-error"}
    return [
        {
            "run": f"{agent}/{task}/{trial}",
            "source": f"made:{agent}:{task}:{trial}",
            "agent": agent,
            "method": agent,
            "task": task,
            "trial": trial,
            "status": status[outcome],
            "success": {1: 1, 0: 0, 2: 0}.get(outcome) if outcome is not None else None,
            "scorable": int(outcome != -1),
            "censored": 0,
            "tags": "",
            **columns,
        }
        for agent, tasks in outcomes.items()
        for task, results in tasks.items()
        for trial, outcome in enumerate(results, 1)
    ]


def table(outcomes: Outcomes, **columns: Any) -> Table:
    """The table of those rows."""
    return Table.from_rows(runs(outcomes, **columns))
