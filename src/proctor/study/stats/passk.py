"""What several attempts at a task are worth: at least one success in k, or k successes in k.

Both are unbiased for each task (Chen et al., "Evaluating large language models trained on code", 2021): of all ways to
take k of a task's n runs, the share with a success, or with nothing else. A task with fewer than k runs has no such
share and is left out. Tasks count alike, and the interval comes from the differences between them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Floats, counts
from proctor.study.stats.estimate import LEVEL, Estimate, undefined
from proctor.study.stats.rates import bounded_mean, spread

ANY = "unbiased for each task, Korn-Graubard over tasks"


def pass_at_k(successes: ArrayLike, trials: ArrayLike, k: int, level: float = LEVEL) -> Estimate:
    """The chance that at least one of ``k`` runs of a task succeeds."""
    x, n = _enough(successes, trials, k)
    return _over_tasks(1 - drawn_alike(n - x, n, k), n, k, level)


def all_of_k(successes: ArrayLike, trials: ArrayLike, k: int, level: float = LEVEL) -> Estimate:
    """The chance that all of ``k`` runs of a task succeed."""
    x, n = _enough(successes, trials, k)
    return _over_tasks(drawn_alike(x, n, k), n, k, level)


def drawn_alike(wanted: ArrayLike, trials: ArrayLike, k: int) -> Floats:
    """The share of ways to draw ``k`` of the trials in which all are wanted ones: C(wanted, k) / C(trials, k)."""
    wanted, trials = np.asarray(wanted, dtype=float), np.asarray(trials, dtype=float)
    share = np.ones_like(trials)
    for drawn in range(k):
        share *= np.maximum(wanted - drawn, 0) / (trials - drawn)
    return share


def _enough(successes: ArrayLike, trials: ArrayLike, k: int) -> tuple[Floats, Floats]:
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    x, n = counts(successes, trials)
    return x[n >= k], n[n >= k]


def _over_tasks(values: Floats, trials: Floats, k: int, level: float) -> Estimate:
    tasks, runs = len(values), float(trials.sum())
    found = spread(values, np.ones(tasks))
    if found is None:
        return undefined(f"no task has {k} runs", level=level, method=ANY)
    if tasks == 1:
        return undefined(f"one task only has {k} runs", level=level, method=ANY, n=runs, clusters=1)
    # As many runs stand behind the tasks' shares as there are, not as many as there are tasks.
    return bounded_mean(replace(found, n=runs), level, ANY)
