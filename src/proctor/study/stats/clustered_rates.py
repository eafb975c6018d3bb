"""The rate of one agent, with tasks as clusters.

Runs of one task are alike: five runs of twenty tasks are not a hundred independent runs. Every interval here takes its
spread from the differences between tasks, except Wilson's, which is for runs that are independent. ``cluster_rate`` is
the one that reports use; the others are there to be compared with it.

Korn and Graubard's interval goes wrong where all tasks but one or two are alike: the spread is then a guess that looks
precise. So the degrees of freedom are those that the tasks' differences leave (from how peaked they are, after
Satterthwaite), and the effective sample size is no less than the tasks, since values between 0 and 1 never vary
more than a coin does, and no more than the runs.

The value of several attempts at a task: at least one success in k, or k successes in k.
Both are unbiased for each task (Chen et al., "Evaluating large language models trained on code", 2021): of all ways to
choose k of a task's n runs, the share with a success, or with successes only. A task with fewer than k runs has no such
share and is left out. Tasks count alike, and the interval comes from the differences between them.

Rates when tasks are in strata, or have different weights.
A stratified rate is the sum of the strata's rates, each by its share. The shares may be those of the sample, those that
the design gave, or those of the population that is meant, which is post-stratification: the error is then the one given
how many tasks fell into each stratum. Strata with one task show no spread of their own; they are collapsed into one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from proctor.study.statements import statement
from proctor.study.stats.arrays import ArrayLike, Floats, Integers, counts, floats, inner
from proctor.study.stats.confidence_limits import korn_graubard, t_quantile, unanimous, wilson_limits
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

KORN_GRAUBARD = "korn-graubard"
PLAIN = "korn-graubard-plain"
EXACT = "exact-all-alike"
CLUSTER_T = "t-over-tasks"
LOGIT = "t-over-tasks-logit"
WILSON = "wilson"


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
    by leaving out one cluster at a time: a cluster with most of the runs dominates the mean, and its distance from
    the others shows only when it is left out. ``plain`` linearises instead, with the factor G / (G - 1), which is
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
    return Spread(value, error, n, clusters, degrees_of_freedom(off, clusters - 1), least)


def degrees_of_freedom(off: Floats, most: float) -> float:
    """The degrees of freedom of a variance made of these deviations: few where one of them outweighs the others."""
    square = off**2
    peaked = len(off) * inner(square, square) / float(square.sum()) ** 2 - 1
    return most if peaked * most <= 2 * len(off) else max(1.0, 2 * len(off) / peaked)


def cluster_rate(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL, *, plain: bool = False) -> Estimate:
    """The success rate with Korn and Graubard's interval, from successes and trials of each task.

    With ``plain`` it is exactly theirs, as in R's survey package: G - 1 degrees of freedom, no bounds.
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
        why = statement("all-runs-alike", runs=int(found.n), rate=found.value)
        return undefined(why, level=level, method=LOGIT, n=found.n, clusters=found.clusters)
    centre = math.log(found.value / (1 - found.value))
    half = t_quantile((1 + level) / 2, found.clusters - 1) * found.error / (found.value * (1 - found.value))
    low, high = (1 / (1 + math.exp(-end)) for end in (centre - half, centre + half))
    return defined(found.value, low, high, level=level, method=LOGIT, n=found.n, clusters=found.clusters)


def wilson(successes: float, trials: float, level: float = LEVEL) -> Estimate:
    """The rate of runs that are independent of each other."""
    if trials <= 0:
        return undefined("no-run", level=level, method=WILSON)
    low, high = wilson_limits(successes, trials, level)
    return defined(successes / trials, low, high, level=level, method=WILSON, n=trials, clusters=trials)


def _too_few(found: Spread | None, method: str, level: float, *, rate: bool = True) -> Estimate:
    if found is None:
        return undefined("no-run", level=level, method=method)
    why = statement("one-task", rate=found.value if rate else None, runs=int(found.n))
    return undefined(why, level=level, method=method, n=found.n, clusters=1)


ANY = "unbiased-per-task"


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
        return undefined(statement("no-task-with-runs", runs=k), level=level, method=ANY)
    if tasks == 1:
        return undefined(statement("one-task-with-runs", runs=k), level=level, method=ANY, n=runs, clusters=1)
    # The tasks' shares are based on all runs, not on one run for each task.
    return bounded_mean(replace(found, n=runs), level, ANY)


STRATIFIED = "stratified"
WEIGHTED = "weighted-tasks"
CONSTANT = "stratified-exact"


def rate_by_stratum(
    successes: ArrayLike, trials: ArrayLike, strata: ArrayLike, count: int, level: float = LEVEL
) -> list[Estimate]:
    """The rate within each stratum 0 .. ``count`` - 1, with tasks as clusters."""
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
    code = np.asarray(strata)[floats(trials) > 0].astype(np.int64)
    x, n = counts(successes, trials)
    if not len(x):
        return undefined("no-run", level=level, method=STRATIFIED)
    size = int(code.max()) + 1 if shares is None else len(floats(shares))
    if code.min() < 0 or code.max() >= size:
        raise ValueError(f"strata are numbered from 0 to {size - 1}, not {code.min()} to {code.max()}")
    weight = floats(np.bincount(code, n, size) if shares is None else shares)
    if not np.all((weight >= 0) & np.isfinite(weight)):
        raise ValueError("the share of a stratum is a number that is not below 0")
    if not weight.any():
        return undefined("no-stratum-counts", level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
    weight = weight / weight.sum()
    empty = np.count_nonzero((weight > 0) & (np.bincount(code, minlength=size) == 0))
    if empty:
        why = statement("empty-strata", empty=int(empty), strata=size)
        return undefined(why, level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
    used = weight[code] > 0
    x, n, code = x[used], n[used], code[used]
    share = weight[code] * n / np.bincount(code, n, size)[code]
    rates = np.bincount(code, share * x / n, size) / np.where(weight > 0, weight, 1.0)
    found = _spread(x, n, code, share, rates)
    if found is None:
        return undefined(
            statement("one-task", rate=None, runs=int(n.sum())),
            level=level,
            method=STRATIFIED,
            n=n.sum(),
            clusters=len(x),
        )
    if found.error > 0 or float(np.ptp(rates[weight > 0])) <= 1e-12:
        return bounded_mean(found, level, STRATIFIED)
    # Strata that differ, each without spread: all their exact bounds hold together (Bonferroni).
    strict = 1 - (1 - level) / np.count_nonzero(weight > 0)
    kinds = [(weight[each], unanimous(rates[each], int((code == each).sum()), strict)) for each in np.unique(code)]
    low, high = (sum(part * ends[side] for part, ends in kinds) for side in (0, 1))
    return defined(found.value, low, high, level=level, method=CONSTANT, n=found.n, clusters=found.clusters)


def weighted_rate(successes: ArrayLike, trials: ArrayLike, weights: ArrayLike, level: float = LEVEL) -> Estimate:
    """The rate when each run of a task counts ``weights`` of that task: Hajek's ratio, with tasks as clusters."""
    weight = floats(weights)[floats(trials) > 0]
    x, n = counts(successes, trials)
    if not np.all((weight >= 0) & np.isfinite(weight)):
        raise ValueError("the weight of a task is a number that is not below 0")
    runs, tasks = float(n[weight > 0].sum()), int((weight > 0).sum())
    found = spread(weight * x, weight * n)
    if found is None or tasks < 2:
        why = "one-weighted-task" if tasks else "no-weighted-task"
        return undefined(why, level=level, method=WEIGHTED, n=runs, clusters=tasks)
    # What single runs are worth that do not count alike (Kish 1965).
    most = inner(weight, n) ** 2 / inner(weight**2, n)
    return bounded_mean(replace(found, n=runs, most=most), level, WEIGHTED)


def _spread(x: Floats, n: Floats, code: Integers, share: Floats, rates: Floats) -> Spread | None:
    """The mean and its error within strata, by leaving out one task at a time; ``None`` with one task in all.

    Tasks that are alone in their stratum are compared with each other, a single one of them with the whole.
    """
    tasks, part = np.bincount(code)[code], share / np.bincount(code, share)[code]
    value, alone = inner(share, x / n), tasks == 1
    lonely = int(alone.sum())
    centre = rates[code]
    if lonely:
        centre[alone] = value if lonely == 1 else inner(share[alone], (x / n)[alone]) / share[alone].sum()
        tasks, part = np.where(alone, lonely, tasks), np.where(alone, share / share[alone].sum(), part)
    single = tasks == 1
    # A single one is part of the whole that it is compared with, and the more so the more it counts.
    left = np.maximum(1 - np.where(single, share, part), 1e-12)
    off = np.sqrt(1 - 1 / np.where(single, np.inf, tasks)) / left * share * (x / n - centre)
    freedom = len(x) - len(np.unique(code[~alone])) - min(1, lonely)
    if freedom < 1:
        return None
    least, most, runs = 1 / inner(share, share), 1 / inner(share, share / n), float(n.sum())
    if float(np.abs(off).max()) <= 1e-12:
        return Spread(value, 0.0, runs, len(x), freedom, least)
    return Spread(value, math.sqrt(inner(off, off)), runs, len(x), degrees_of_freedom(off, freedom), least, most)
