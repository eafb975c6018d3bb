"""Rates when tasks come in strata, or stand for more or fewer tasks than they are.

A stratified rate is the sum of the strata's rates, each by its share. The shares may be those of the sample, those that
the design gave, or those of the population that is meant, which is post-stratification: the error is then the one given
how many tasks fell into each stratum. Strata with one task show no spread of their own; they are collapsed into one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proctor.base.frozen import frozen
from proctor.study.stats.arrays import counts, floats
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import korn_graubard, unanimous
from proctor.study.stats.rates import cluster_rate

if TYPE_CHECKING:
    from proctor.study.stats.arrays import ArrayLike, Floats, Integers

STRATIFIED = "strata by their shares, Korn-Graubard"
WEIGHTED = "tasks by their weights, Korn-Graubard"
CONSTANT = "strata by their shares, exact bounds of strata without spread"


@frozen
class _Strata:
    """Per stratum: rate, tasks, runs, and the variance of the rate (nan with one task)."""

    rate: Floats
    tasks: Integers
    runs: Floats
    variance: Floats


def rate_by_stratum(
    successes: ArrayLike, trials: ArrayLike, strata: ArrayLike, count: int, level: float = LEVEL
) -> list[Estimate]:
    """The rate within each stratum 0 .. ``count`` - 1, with tasks as clusters."""
    import numpy as np

    x, n, code = floats(successes), floats(trials), np.asarray(strata)
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(count + 1))
    parts = [order[ends[stratum] : ends[stratum + 1]] for stratum in range(count)]
    return [cluster_rate(x[part], n[part], level) for part in parts]


def stratified_rate(
    successes: ArrayLike,
    trials: ArrayLike,
    strata: ArrayLike,
    shares: ArrayLike | None = None,
    level: float = LEVEL,
) -> Estimate:
    """The rate over strata 0, 1, ... of which ``shares`` says how much each counts; as many as runs if left out."""
    import numpy as np

    tried = floats(trials) > 0
    code = np.asarray(strata)[tried].astype(np.int64)
    x, n = counts(successes, trials)
    if not len(x):
        return undefined("there is no run", level=level, method=STRATIFIED)
    size = int(code.max()) + 1 if shares is None else len(floats(shares))
    found = _within(x, n, code, size)
    weight = found.runs if shares is None else floats(shares)
    weight = weight / weight.sum()
    empty = np.flatnonzero((weight > 0) & (found.tasks == 0))
    if len(empty):
        why = f"{len(empty)} of {size} strata that count have no run"
        return undefined(why, level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
    used = weight > 0
    return _combined(_chosen(found, used), weight[used], level)


def weighted_rate(successes: ArrayLike, trials: ArrayLike, weights: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate when each run of a task counts ``weights`` of that task: Hajek's ratio, with tasks as clusters."""
    import numpy as np

    weight = floats(weights)[floats(trials) > 0]
    x, n = counts(successes, trials)
    if not np.all(weight >= 0):
        raise ValueError("a weight is below 0")
    x, n, weight = x[weight > 0], n[weight > 0], weight[weight > 0]
    tasks, runs = len(x), float(n.sum())
    if tasks < 2:
        why = "one task only has weight and runs" if tasks else "no task has both weight and runs"
        return undefined(why, level=level, method=WEIGHTED, n=runs, clusters=tasks)
    total = float(weight @ n)
    value = float(weight @ x) / total
    off = weight * (x - value * n)
    error = math.sqrt(tasks / (tasks - 1) * float(off @ off)) / total
    if error <= 1e-12:
        # Fewer tasks carry the weight than there are tasks.
        carrying = float(weight.sum()) ** 2 / float(weight @ weight)
        low, high = unanimous(value, carrying, level)
    else:
        low, high = korn_graubard(value, error, runs, tasks - 1, level)
    return defined(value, low, high, level=level, method=WEIGHTED, n=runs, clusters=tasks)


def _within(x: Floats, n: Floats, code: Integers, size: int) -> _Strata:
    import numpy as np

    tasks = np.bincount(code, minlength=size)
    runs = floats(np.bincount(code, n, size))
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.bincount(code, x, size) / runs
        off = x - rate[code] * n
        variance = tasks / (tasks - 1) * np.bincount(code, off**2, size) / runs**2
    variance[tasks < 2] = np.nan
    return _Strata(rate, tasks.astype(np.int64), runs, variance)


def _chosen(found: _Strata, used: ArrayLike) -> _Strata:
    import numpy as np

    mask = np.asarray(used)
    return _Strata(found.rate[mask], found.tasks[mask], found.runs[mask], found.variance[mask])


def _combined(found: _Strata, weight: Floats, level: float) -> Estimate:
    """The sum over strata; alone standing tasks are compared with each other, or one of them with the whole."""
    import numpy as np

    value = float(weight @ found.rate)
    runs, tasks = float(found.runs.sum()), int(found.tasks.sum())
    alone = found.tasks == 1
    variance = float((weight[~alone] ** 2) @ found.variance[~alone])
    freedom = int((found.tasks[~alone] - 1).sum())
    lonely = int(alone.sum())
    if lonely:
        own, rates = weight[alone], found.rate[alone]
        centre = float(own @ rates / own.sum()) if lonely > 1 else value
        variance += lonely / max(1, lonely - 1) * float((own**2) @ (rates - centre) ** 2)
        freedom += lonely - 1
    if freedom < 1:
        return undefined("there is one task only", level=level, method=STRATIFIED, n=runs, clusters=tasks)
    if variance > 1e-24:
        low, high = korn_graubard(value, math.sqrt(variance), runs, freedom, level)
        return defined(value, low, high, level=level, method=STRATIFIED, n=runs, clusters=tasks)
    if float(np.ptp(found.rate)) <= 1e-12:
        low, high = unanimous(value, tasks, level)
    else:
        # Bonferroni: all strata's exact bounds hold together.
        strict = 1 - (1 - level) / len(weight)
        ends = [unanimous(float(rate), int(count), strict) for rate, count in zip(found.rate, found.tasks, strict=True)]
        low, high = (float(weight @ np.array(side)) for side in zip(*ends, strict=True))
    return defined(value, low, high, level=level, method=CONSTANT, n=runs, clusters=tasks)
