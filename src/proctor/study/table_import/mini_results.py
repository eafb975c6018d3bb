"""Trajectories of mini-swe-agent (.traj.json): what an attempt cost and how it ended, but not its outcome.

Beside the report of the SWE-bench evaluation of the same predictions, each attempt takes its outcome from there: the
report's name begins with the name of the model. Without it, every outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.statements import Statement, statement
from proctor.study.table_import.result_sheet import Attempt, at, checked_name, name_at, number_at

FORMAT = "mini-swe-agent"
NEEDED = ("agent", "instance_id", "resolved")
SUFFIX = ".traj.json"
WRITTEN_IN = "mini-swe-agent-1"


def is_trajectory(record: dict[str, Any]) -> bool:
    """Whether a JSON object looks like a trajectory."""
    return "trajectory_format" in record and "info" in record


def attempt(record: dict[str, Any], path: Path) -> Attempt:
    """The attempt of a trajectory; its outcome is not there."""
    where = path.name
    form = at(record, "trajectory_format", str, where) or ""
    if form.partition(".")[0] != WRITTEN_IN:
        raise UsageFault(f"the trajectory_format is {form[:60]!r}", where=where, hint=f"{WRITTEN_IN}.x is read")
    task = at(record, "instance_id", str, where) or path.name.removesuffix(SUFFIX)
    cells = {
        "agent": name_at(record, "info.config.model.model_name", where).replace("/", "__"),
        "instance_id": checked_name(task, "instance_id", where),
        "resolved": "",
        "exit_status": (at(record, "info.exit_status", str, where) or "")[:200],
        "cost_usd": number_at(record, "info.model_stats.instance_cost", where),
        "api_calls": number_at(record, "info.model_stats.api_calls", where),
    }
    return Attempt(str(path.name), cells)


def joined(reported: Sequence[Attempt], run: Sequence[Attempt]) -> tuple[list[Attempt], tuple[Statement, ...]]:
    """The attempts of reports with the costs and ends of trajectories, and the trajectories that no report has."""
    if not run:
        return list(reported), ()
    reports = sorted({attempt.cells["agent"] for attempt in reported})
    found = {(attempt.cells["agent"], attempt.cells["instance_id"]): attempt for attempt in reported}
    alone = []
    taken: dict[tuple[str, str], str] = {}
    for attempt in run:
        model, task = attempt.cells["agent"], attempt.cells["instance_id"]
        names = [name for name in reports if name == model or name.startswith(f"{model}.")]
        if len(names) > 1:
            message = f"the reports {' and '.join(map(repr, names[:3]))} could each belong to {model!r}"
            raise UsageFault(message, where=attempt.place, hint="give the trajectories with one report of their model")
        key = (names[0] if names else model, task)
        if key in taken:
            message = f"the attempt of {model!r} at {task!r} is already in {taken[key]}"
            raise UsageFault(message, where=attempt.place, hint="give each attempt once")
        taken[key] = attempt.place
        if key in found:
            of = found[key]
            found[key] = replace(of, cells={**attempt.cells, **{k: v for k, v in of.cells.items() if v}})
        else:
            alone.append(replace(attempt, cells={**attempt.cells, "agent": key[0]}))
    notes = (statement("outcomes-not-recorded", rows=len(alone)),) if alone else ()
    return [*found.values(), *alone], notes
