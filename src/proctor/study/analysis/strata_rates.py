"""Success by stratum, and over strata with given weights.

A stratum belongs to a task. A task whose runs name different strata belongs to ``(several)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.base.errors import UsageFault
from proctor.study.analysis.outcome_counts import NAMELESS, Cells, named
from proctor.study.analysis.question import Question
from proctor.study.stats.clustered_rates import cluster_rate, stratified_rate

SEVERAL = "(several)"
MAX_STRATA = 200
"""How many strata are listed in the findings: those with most runs."""


def strata_of(cells: Cells) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The strata by name, and the stratum of each task."""
    if cells.strata is None:
        cells.strata = _strata_of(cells)
    return cells.strata


def _strata_of(cells: Cells) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    column = named(cells.table.stratum)
    lowest = np.full(len(cells.tasks), len(column.names), dtype=np.int64)
    highest = np.full(len(cells.tasks), -1, dtype=np.int64)
    np.minimum.at(lowest, cells.task, column.codes)
    np.maximum.at(highest, cells.task, column.codes)
    texts = [
        column.names[low] if low == high else SEVERAL
        for low, high in zip(lowest.tolist(), highest.tolist(), strict=True)
    ]
    labels = tuple(sorted(set(texts)))
    place = {label: number for number, label in enumerate(labels)}
    return labels, np.array([place[text] for text in texts], dtype=np.int64)


def kept_strata(cells: Cells) -> list[int]:
    """The strata that are listed: those with most runs, in the order of their names."""
    labels, of_task = strata_of(cells)
    runs = np.bincount(of_task, cells.attempts.sum(axis=0), minlength=len(labels))
    return sorted(np.lexsort((np.arange(len(labels)), -runs))[:MAX_STRATA].tolist())


def strata(cells: Cells) -> list[dict[str, Any]]:
    """Success of each agent in each stratum; nothing where there is only one."""
    labels, of_task = strata_of(cells)
    if len(labels) < 2:
        return []
    known = cells.count(cells.known)
    usd = cells.sum(cells.table.cost_usd)
    metered = cells.count(~np.isnan(cells.table.cost_usd))
    found = []
    for stratum in kept_strata(cells):
        here = of_task == stratum
        for agent, name in enumerate(cells.agents):
            attempts = cells.attempts[agent, here]
            if attempts.sum():
                found.append(
                    {
                        "stratum": labels[stratum],
                        "agent": name,
                        "tasks": int((attempts > 0).sum()),
                        "runs": int(attempts.sum()),
                        "success": cluster_rate(cells.wins[agent, here], known[agent, here], cells.level),
                        "cost_usd": float(usd[agent, here].sum()) if metered[agent, here].any() else None,
                    }
                )
    return found


def weighted(cells: Cells, question: Question) -> list[dict[str, Any]]:
    """Success of each agent with strata counted by their weights; nothing if there is only one stratum."""
    labels, of_task = strata_of(cells)
    if len(labels) < 2:
        if question.weights:
            only = "" if labels[0] == NAMELESS else f": all tasks are of {labels[0]!r}"
            words = f"weights need several strata, and the table has {'one' if only else 'none'}{only}"
            raise UsageFault(words, hint="name the column of strata")
        return []
    weights, given = shares(labels, question)
    known = cells.count(cells.known)
    return [
        {
            "agent": name,
            "weights": given,
            "estimate": stratified_rate(cells.wins[agent], known[agent], of_task, weights, cells.level),
        }
        for agent, name in enumerate(cells.agents)
    ]


def shares(labels: tuple[str, ...], question: Question) -> tuple[list[float], dict[str, float] | None]:
    """How much each stratum counts, and the same by name; null where every stratum counts the same."""
    given = dict(question.weights)
    if not given:
        return [1 / len(labels)] * len(labels), None
    strangers = sorted(set(given) - set(labels))
    missing = [label for label in labels if label not in given]
    if strangers or missing:
        what = f"there is no stratum {strangers[0]!r}" if strangers else f"the stratum {missing[0]!r} has no weight"
        raise UsageFault(what, hint=f"the strata are: {', '.join(labels[:20])}")
    if not all(0 <= weight < math.inf for weight in given.values()) or not 0 < sum(given.values()) < math.inf:
        raise UsageFault("weights are shares: numbers, none negative, and not all 0", hint="write --weight STRATUM=2")
    total = sum(given.values())
    weights = [given[label] / total for label in labels]
    return weights, dict(zip(labels, weights, strict=True))
