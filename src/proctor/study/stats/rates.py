"""The rate of one agent, with tasks as clusters.

Runs of one task are alike: five runs of twenty tasks are not a hundred independent runs. Every interval here takes its
spread from the differences between tasks, except Wilson's, which is for runs that are independent. ``cluster_rate`` is
the one that reports use; the others are there to be compared with it.

Korn and Graubard's interval goes wrong where all tasks but one or two are alike: the spread is then a guess that looks
precise. So the degrees of freedom are those that the tasks' differences leave (from how peaked they are, after
Satterthwaite), and the effective sample size is no less than the tasks, since what lies between 0 and 1 never varies
more than heads and tails, and no more than the runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Floats, counts, floats, inner
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import korn_graubard, t_quantile, unanimous, wilson_limits

KORN_GRAUBARD = "Korn-Graubard, tasks as clusters"
PLAIN = "Korn-Graubard to the letter"
EXACT = "exact bound, all tasks alike"
CLUSTER_T = "t over tasks"
LOGIT = "t over tasks on the logit scale"
WILSON = "Wilson, independent runs"


@dataclass(frozen=True)
class Spread:
    """A mean over clusters with its standard error.

    ``freedom`` is how well that error is known, ``least`` to how many independent runs the clusters amount at worst,
    and ``most`` at best: to all ``n`` if left out, to fewer where they do not count alike.
    """

    value: float
    error: float
    n: float
    clusters: int
    freedom: float
    least: float
    most: float | None = None


def spread(totals: ArrayLike, sizes: ArrayLike, *, plain: bool = False) -> Spread | None:
    """The mean over all runs, and its standard error from the differences between clusters; ``None`` without any run.

    ``totals`` and ``sizes`` hold the sum and the number of runs of each cluster. The error is that of a ratio of sums
    by leaving out one cluster at a time: a cluster with most of the runs pulls the mean towards itself, and how far it
    lies from the others is seen without it only. ``plain`` linearises instead, with the factor G / (G - 1), which is
    the same where clusters are of one size. The error is nan for a single cluster.
    """
    total, size = floats(totals), floats(sizes)
    total, size = total[size > 0], size[size > 0]
    clusters, n = len(size), float(size.sum())
    if not clusters:
        return None
    value = float(total.sum()) / n
    least = n**2 / inner(size, size)
    if clusters == 1:
        return Spread(value, math.nan, n, 1, 0, least)
    off = total - value * size
    if float(np.abs(off).max()) <= 1e-12 * max(1.0, float(np.abs(total).max())):
        return Spread(value, 0.0, n, clusters, clusters - 1, least)
    kept = (clusters - 1) / clusters
    off = off / kept if plain else off / (1 - size / n)
    error = math.sqrt(kept * inner(off, off)) / n
    return Spread(value, error, n, clusters, freedom_left(off, clusters - 1), least)


def freedom_left(off: Floats, most: float) -> float:
    """The degrees of freedom of a variance made of these deviations: few where one of them outweighs the others."""
    square = off**2
    peaked = len(off) * inner(square, square) / float(square.sum()) ** 2 - 1
    return most if peaked * most <= 2 * len(off) else max(1.0, 2 * len(off) / peaked)


def cluster_rate(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL, *, plain: bool = False) -> Estimate:
    """The success rate with Korn and Graubard's interval, from successes and trials of each task.

    With ``plain`` it is theirs to the letter, as in R's survey package: G - 1 degrees of freedom, no bounds.
    """
    x, n = counts(successes, trials)
    found = spread(x, n, plain=plain)
    if found is None or found.clusters == 1:
        return _too_few(found, KORN_GRAUBARD, level)
    if plain and found.error > 0:
        low, high = korn_graubard(found.value, found.error, found.n, found.clusters - 1, level)
        return defined(found.value, low, high, level=level, method=PLAIN, n=found.n, clusters=found.clusters)
    return bounded_mean(found, level, KORN_GRAUBARD)


def bounded_mean(found: Spread, level: float, method: str) -> Estimate:
    """The interval of any mean between 0 and 1 whose error comes from clusters."""
    if found.error == 0:
        low, high = unanimous(found.value, found.least, level)
        method = EXACT
    else:
        most = found.n if found.most is None else found.most
        low, high = korn_graubard(found.value, found.error, found.n, found.freedom, level, least=found.least, most=most)
    return defined(found.value, low, high, level=level, method=method, n=found.n, clusters=found.clusters)


def cluster_mean(totals: ArrayLike, sizes: ArrayLike, level: float = LEVEL, *, floor: float = -math.inf) -> Estimate:
    """The mean of anything over all runs, such as a cost, by t over tasks, not below ``floor``."""
    return _by_t(spread(totals, sizes), level, floor, math.inf)


def _by_t(found: Spread | None, level: float, floor: float, ceiling: float) -> Estimate:
    if found is None or found.clusters == 1:
        return _too_few(found, CLUSTER_T, level, rate=ceiling == 1)
    half = t_quantile((1 + level) / 2, found.clusters - 1) * found.error
    low, high = max(floor, found.value - half), min(ceiling, found.value + half)
    return defined(found.value, low, high, level=level, method=CLUSTER_T, n=found.n, clusters=found.clusters)


def cluster_t(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate with the plain t interval, which covers too rarely near 0 and 1; within 0 and 1."""
    return _by_t(spread(*counts(successes, trials), plain=True), level, 0.0, 1.0)


def logit(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate with a t interval on the logit scale; undefined where that scale ends."""
    found = spread(*counts(successes, trials), plain=True)
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


def _too_few(found: Spread | None, method: str, level: float, *, rate: bool = True) -> Estimate:
    if found is None:
        return undefined("there is no run", level=level, method=method)
    runs = "1 run" if found.n == 1 else f"{found.n:.0f} runs"
    told = f" ({100 * found.value:.1f}% of {runs})" if rate else ""
    why = f"there is one task only{told}, which says nothing about other tasks"
    return undefined(why, level=level, method=method, n=found.n, clusters=1)
