"""Two studies side by side: what changed between them, agent by agent, on the tasks that both have.

A task is the same in both only if every byte of its contract is. An agent's difference is taken task by task over
those, so that a suite that grew or shrank does not look like an agent that got better. Notes say what was left out.
The p values of all agents are adjusted together after Holm: with many agents some seem to have changed by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.study.run_table import Floats, Table
from proctor.study.statements import Statement, statement
from proctor.study.stats.arrays import by_task
from proctor.study.stats.clustered_rates import cluster_rate
from proctor.study.stats.estimate import LEVEL, rounded
from proctor.study.stats.multiple_comparisons import holm
from proctor.study.stats.paired_comparison import decisive, paired_difference, sign_flip

SEED = 20260307
"""The seed of random signs if there are too many tasks to try all patterns."""

Digests = Mapping[str, str]
"""Digests of configurations by the names of agents."""
Counts = dict[str, tuple[float, float]]
"""Successes and scored runs by task."""


def compare_studies(
    before: Table,
    after: Table,
    name: str,
    seeds: tuple[object, object] = (None, None),
    level: float = LEVEL,
    own: str = "",
    digests: tuple[Digests, Digests] = ({}, {}),
) -> dict[str, Any]:
    """How ``after``, which is called ``own``, differs from the study ``before``, which is called ``name``.

    ``digests`` are those of the agents' configurations, as far as the two studies have them.
    """
    shared, notes = _shared(before, after)
    notes += _overlap(before, after)
    agents = [agent for agent in after.method.used().names if agent in before.method.used().names]
    alone = sorted(set(after.method.used().names) ^ set(before.method.used().names))
    if alone:
        notes.append(statement("agents-in-one-only", agents=alone))
    if seeds[0] != seeds[1]:
        notes.append(statement("different-seeds"))
    rows = [_row(agent, _counts(before, agent, shared), _counts(after, agent, shared), level) for agent in agents]
    for row in rows:
        old, new = (each.get(row["agent"]) for each in digests)
        row["another"] = old != new if old and new else None
    notes += _another([row["agent"] for row in rows if row["another"]])
    notes.append(statement("interval-level", level=level))
    notes += _adjust(rows, 1 - level)
    return {
        "name": name,
        "same_study": name == own,
        "runs": len(before),
        "rows": rows,
        "notes": [note.record() for note in notes],
    }


def _row(agent: str, before: Counts, after: Counts, level: float) -> dict[str, Any]:
    both = sorted(before.keys() & after.keys())
    old, new = (np.array([counts[task] for task in both]).reshape(-1, 2) for counts in (before, after))
    means = new[:, 0] / new[:, 1], old[:, 0] / old[:, 1]
    gap = paired_difference(*means, level)
    flipped = sign_flip(means[0] - means[1], np.random.default_rng(SEED)).p
    return {
        "agent": agent,
        "before": cluster_rate(old[:, 0], old[:, 1], level).record(),
        "after": cluster_rate(new[:, 0], new[:, 1], level).record(),
        "difference": gap.difference.record(),
        "p": gap.p,
        "p_sign_flip": flipped,
        "p_adjusted": decisive(gap.p, flipped, len(both)),
    }


def _another(agents: list[str]) -> list[Statement]:
    """The agents whose name is the same in both, with another configuration."""
    return [statement("agents-reconfigured", agents=agents)] if agents else []


def _adjust(rows: list[dict[str, Any]], alpha: float) -> list[Statement]:
    """Adjust the p values of all agents together, and name the agents whose change is then beyond chance."""
    known = [row for row in rows if row["p_adjusted"] is not None]
    for row, p in zip(known, holm([row["p_adjusted"] for row in known]).tolist(), strict=True):
        row["p_adjusted"] = rounded(p)
    if len(known) < 2:
        return []
    changed = [row["agent"] for row in known if row["p_adjusted"] < alpha and _leaves_out_0(row["difference"])]
    return [statement("agents-changed", agents=changed, compared=len(known), alpha=rounded(alpha))]


def _leaves_out_0(difference: Mapping[str, Any]) -> bool:
    """Whether the interval agrees with a small p value: tasks that all differ alike have an exact bound as well."""
    low, high = difference["low"], difference["high"]
    return low is not None and (low > 0 or high < 0)


def _shared(before: Table, after: Table) -> tuple[frozenset[str], list[Statement]]:
    """The tasks whose contract is the same in both, and notes about the others."""
    old, new = _contracts(before), _contracts(after)
    shared = frozenset(task for task in old.keys() & new.keys() if old[task] == new[task])
    changed = sorted(task for task in old.keys() & new.keys() if old[task] != new[task])
    missing = sorted(old.keys() ^ new.keys())
    notes = [statement("shared-tasks", tasks=len(shared))]
    if changed:
        notes.append(statement("tasks-changed", tasks=changed))
    if missing:
        notes.append(statement("tasks-in-one-only", tasks=missing))
    return shared, notes


def _overlap(before: Table, after: Table) -> list[Statement]:
    """Whether runs are in both: then the two are not independent, and differ by the other runs alone."""
    old, new = set(before.run), set(after.run)
    both = len(old & new)
    if not both:
        return []
    if old == new:
        return [statement("same-runs", runs=both)]
    return [statement("shared-runs", runs=both, of=len(old))]


def _contracts(table: Table) -> Mapping[str, frozenset[str]]:
    """The versions of each task that a table has runs of."""
    found: dict[str, set[str]] = {}
    for task, contract in set(zip(table.task, table.contract, strict=True)):
        found.setdefault(task or "", set()).add(contract or "")
    return {task: frozenset(contracts) for task, contracts in found.items()}


def _counts(table: Table, agent: str, tasks: frozenset[str]) -> Counts:
    rows = table.select(table.method.is_(agent) & ~np.isnan(table.success) & (table.scorable != 0))
    column = rows.task.used()
    successes, tries = by_task(column.codes, rows.success, len(column.names))
    return {
        name: (_at(successes, index), _at(tries, index)) for index, name in enumerate(column.names) if name in tasks
    }


def _at(values: Floats, index: int) -> float:
    return float(values[index])
