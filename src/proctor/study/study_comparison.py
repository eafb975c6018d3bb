"""Two studies side by side: what changed between them, agent by agent, on the tasks that both have.

A task is the same in both only if its contract is, to the last byte. An agent's difference is taken task by task over
those, so that a suite that grew or shrank does not pass for an agent that got better. What was not compared is said.
The p values of all agents are adjusted together after Holm: with many agents some seem to have changed by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.study.analysis.number_format import level_words
from proctor.study.run_table import Floats, Table
from proctor.study.stats.arrays import by_task
from proctor.study.stats.clustered_rates import cluster_rate
from proctor.study.stats.estimate import LEVEL, rounded
from proctor.study.stats.multiple_comparisons import holm
from proctor.study.stats.paired_comparison import decisive, paired_difference, sign_flip

SEED = 20260307
"""For signs where there are too many tasks to try all of them."""
NAMED = 10
"""How many tasks or agents a note names."""

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
        notes.append(f"In one of the two only: {_listed(alone)}.")
    if seeds[0] != seeds[1]:
        notes.append("The orders were drawn with different seeds: comparisons across seeds are provisional.")
    if name == own:
        name = f"{name}, as an earlier report has it with {_runs(len(before))}"
    rows = [_row(agent, _counts(before, agent, shared), _counts(after, agent, shared), level) for agent in agents]
    for row in rows:
        old, new = (each.get(row["agent"]) for each in digests)
        row["another"] = old != new if old and new else None
    notes += _another([row["agent"] for row in rows if row["another"]])
    notes.append(f"Intervals are at a level of {level_words(level)}.")
    notes += _adjust(rows, 1 - level)
    return {"name": name, "rows": rows, "notes": notes}


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


def _another(agents: list[str]) -> list[str]:
    """Of whom the name is the same in both, and nothing else is known to be."""
    if not agents:
        return []
    told = f"{_listed(agents)} {'is another agent' if len(agents) == 1 else 'are other agents'} than before"
    return [f"{told}: the same name has another configuration, and a change may be that of the configuration."]


def _adjust(rows: list[dict[str, Any]], alpha: float) -> list[str]:
    """Count all agents together where each counted alone, and say of which the change is then beyond chance."""
    known = [row for row in rows if row["p_adjusted"] is not None]
    for row, p in zip(known, holm([row["p_adjusted"] for row in known]).tolist(), strict=True):
        row["p_adjusted"] = rounded(p)
    if len(known) < 2:
        return []
    changed = [row["agent"] for row in known if row["p_adjusted"] < alpha and _leaves_out_0(row["difference"])]
    told = f"Intervals are of each agent alone. With all {len(known)} counted together (Holm), "
    return [f"{told}{_listed(changed) if changed else 'no agent'} changed by more than chance would at {alpha:.2g}."]


def _leaves_out_0(difference: Mapping[str, Any]) -> bool:
    """Whether the interval agrees with a small p value: tasks that all differ alike have an exact bound beside it."""
    low, high = difference["low"], difference["high"]
    return low is not None and (low > 0 or high < 0)


def _shared(before: Table, after: Table) -> tuple[frozenset[str], list[str]]:
    """The tasks whose contract is the same in both, and what there is to say about the others."""
    old, new = _contracts(before), _contracts(after)
    shared = frozenset(task for task in old.keys() & new.keys() if old[task] == new[task])
    changed = sorted(task for task in old.keys() & new.keys() if old[task] != new[task])
    missing = sorted(old.keys() ^ new.keys())
    one = "1 task that is" if len(shared) == 1 else f"{len(shared)} tasks that are"
    notes = [f"Compared on {one} the same in both."]
    if changed:
        notes.append(f"Left out, since the contract changed: {_listed(changed)}.")
    if missing:
        notes.append(f"Left out, since only one of the two has them: {_listed(missing)}.")
    return shared, notes


def _overlap(before: Table, after: Table) -> list[str]:
    """Whether runs are in both: then the two are not independent, and differ by the other runs alone."""
    old, new = set(before.run), set(after.run)
    both = len(old & new)
    if not both:
        return []
    if old == new:
        return [f"Both are made from the same {_runs(both)}."]
    some = f"All {_runs(both)}" if both == len(old) else f"{both} of the {_runs(len(old))}"
    return [f"{some} of the earlier report are among those of the later one: the two are not independent."]


def _runs(many: int) -> str:
    return "1 run" if many == 1 else f"{many} runs"


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


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
