"""The rate of one agent, with tasks as clusters.

Runs of one task are alike: five runs of twenty tasks are not a hundred independent runs. Every interval here takes its
spread from the differences between tasks, except Wilson's, which is for runs that are independent. ``cluster_rate`` is
the one that reports use; the others are there to be compared with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proctor.base.frozen import frozen
from proctor.study.stats.arrays import counts, floats
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import korn_graubard, t_quantile, unanimous, wilson_limits

if TYPE_CHECKING:
    from proctor.study.stats.arrays import ArrayLike

KORN_GRAUBARD = "Korn-Graubard, tasks as clusters"
EXACT = "exact bound, all tasks alike"
CLUSTER_T = "t over tasks"
LOGIT = "t over tasks on the logit scale"
WILSON = "Wilson, independent runs"


@frozen
class Spread:
    """A mean over clusters with its standard error."""

    value: float
    error: float
    n: float
    clusters: int


def spread(totals: ArrayLike, sizes: ArrayLike) -> Spread | None:
    """The mean over all runs, and its standard error from the differences between clusters; ``None`` without any run.

    ``totals`` and ``sizes`` hold the sum and the number of runs of each cluster. The error is that of a ratio of sums,
    linearised, with the factor G / (G - 1); it is nan for a single cluster.
    """
    import numpy as np

    total, size = floats(totals), floats(sizes)
    total, size = total[size > 0], size[size > 0]
    clusters, n = len(size), float(size.sum())
    if not clusters:
        return None
    value = float(total.sum()) / n
    if clusters == 1:
        return Spread(value, math.nan, n, 1)
    off = total - value * size
    if float(np.abs(off).max()) <= 1e-12 * max(1.0, float(np.abs(total).max())):
        return Spread(value, 0.0, n, clusters)
    return Spread(value, math.sqrt(clusters / (clusters - 1) * float(off @ off)) / n, n, clusters)


def cluster_rate(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL, *, capped: bool = True) -> Estimate:
    """The success rate with Korn and Graubard's interval, from successes and trials of each task."""
    x, n = counts(successes, trials)
    found = spread(x, n)
    if found is None or found.clusters == 1:
        return _too_few(found, KORN_GRAUBARD, level)
    return bounded_mean(found, found.clusters - 1, level, KORN_GRAUBARD, capped=capped)


def bounded_mean(found: Spread, freedom: float, level: float, method: str, *, capped: bool = True) -> Estimate:
    """The interval of any mean between 0 and 1 whose error comes from clusters."""
    if found.error == 0:
        low, high = unanimous(found.value, found.clusters, level)
        method = EXACT
    else:
        low, high = korn_graubard(found.value, found.error, found.n, freedom, level, capped=capped)
    return defined(found.value, low, high, level=level, method=method, n=found.n, clusters=found.clusters)


def cluster_mean(
    totals: ArrayLike, sizes: ArrayLike, level: float = LEVEL, *, floor: float = -math.inf, ceiling: float = math.inf
) -> Estimate:
    """The mean of anything over all runs, such as a cost, by t over tasks, held between ``floor`` and ``ceiling``."""
    found = spread(totals, sizes)
    if found is None or found.clusters == 1:
        return _too_few(found, CLUSTER_T, level)
    half = t_quantile((1 + level) / 2, found.clusters - 1) * found.error
    low, high = max(floor, found.value - half), min(ceiling, found.value + half)
    return defined(found.value, low, high, level=level, method=CLUSTER_T, n=found.n, clusters=found.clusters)


def cluster_t(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate with the plain t interval, which covers too rarely near 0 and 1; within 0 and 1."""
    return cluster_mean(*counts(successes, trials), level, floor=0.0, ceiling=1.0)


def logit(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate with a t interval on the logit scale; undefined where that scale ends."""
    found = spread(*counts(successes, trials))
    if found is None or found.clusters == 1:
        return _too_few(found, LOGIT, level)
    if not 0 < found.value < 1:
        why = f"all {found.n:.0f} runs ended alike, and the logit of {found.value:.0f} is infinite"
        return undefined(why, level=level, method=LOGIT, n=found.n, clusters=found.clusters)
    centre = math.log(found.value / (1 - found.value))
    half = t_quantile((1 + level) / 2, found.clusters - 1) * found.error / (found.value * (1 - found.value))
    low, high = (1 / (1 + math.exp(-end)) for end in (centre - half, centre + half))
    return defined(found.value, low, high, level=level, method=LOGIT, n=found.n, clusters=found.clusters)


def wilson(successes: float, trials: float, level: float = LEVEL) -> Estimate:
    """The rate of runs that are independent of each other."""
    if trials <= 0:
        return undefined("there is no run", level=level, method=WILSON)
    low, high = wilson_limits(successes, trials, level)
    return defined(successes / trials, low, high, level=level, method=WILSON, n=trials, clusters=trials)


def _too_few(found: Spread | None, method: str, level: float) -> Estimate:
    if found is None:
        return undefined("there is no run", level=level, method=method)
    why = f"there is one task only ({found.value:.3g} over {found.n:.0f} runs), which says nothing about other tasks"
    return undefined(why, level=level, method=method, n=found.n, clusters=1)
