"""Rates when tasks come in strata, or stand for more or fewer tasks than they are.

A stratified rate is the sum of the strata's rates, each by its share. The shares may be those of the sample, those that
the design gave, or those of the population that is meant, which is post-stratification: the error is then the one given
how many tasks fell into each stratum. Strata with one task show no spread of their own; they are collapsed into one.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Floats, Integers, counts, floats, inner
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import unanimous
from proctor.study.stats.rates import Spread, bounded_mean, cluster_rate, freedom_left, spread

STRATIFIED = "strata by their shares, Korn-Graubard"
WEIGHTED = "tasks by their weights, Korn-Graubard"
CONSTANT = "strata by their shares, exact bounds of strata without spread"


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
        return undefined("there is no run", level=level, method=STRATIFIED)
    size = int(code.max()) + 1 if shares is None else len(floats(shares))
    if code.min() < 0 or code.max() >= size:
        raise ValueError(f"strata are numbered from 0 to {size - 1}, not {code.min()} to {code.max()}")
    weight = floats(np.bincount(code, n, size) if shares is None else shares)
    if not np.all((weight >= 0) & np.isfinite(weight)):
        raise ValueError("the share of a stratum is a number that is not below 0")
    if not weight.any():
        return undefined("no stratum counts", level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
    weight = weight / weight.sum()
    empty = np.count_nonzero((weight > 0) & (np.bincount(code, minlength=size) == 0))
    if empty:
        why = f"{empty} of {size} strata that count have no run"
        return undefined(why, level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
    used = weight[code] > 0
    x, n, code = x[used], n[used], code[used]
    share = weight[code] * n / np.bincount(code, n, size)[code]
    rates = np.bincount(code, share * x / n, size) / np.where(weight > 0, weight, 1.0)
    found = _spread(x, n, code, share, rates)
    if found is None:
        return undefined("there is one task only", level=level, method=STRATIFIED, n=n.sum(), clusters=len(x))
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
        why = "one task only has weight and runs" if tasks else "no task has both weight and runs"
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
    return Spread(value, math.sqrt(inner(off, off)), runs, len(x), freedom_left(off, freedom), least, most)
