"""The ends of intervals, from a value and how much it varies. Numbers in, numbers out.

Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated from
survey data" (1998): the exact binomial interval of Clopper and Pearson at the sample size that would, without clusters,
vary as much.
"""

from __future__ import annotations

import math

from scipy.special import betaincinv, ndtri, stdtr, stdtrit


def normal_quantile(probability: float) -> float:
    return float(ndtri(probability))


def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t; the normal one for very many degrees of freedom."""
    return normal_quantile(probability) if math.isinf(freedom) else float(stdtrit(freedom, probability))


def t_two_sided(statistic: float, freedom: float) -> float:
    """The two-sided p value of a t statistic."""
    return min(1.0, 2 * float(stdtr(freedom, -abs(statistic))))


def clopper_pearson(successes: float, trials: float, level: float) -> tuple[float, float]:
    """The exact binomial interval; the counts need not be whole."""
    tail, failures = (1 - level) / 2, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return low, high


def korn_graubard(
    rate: float,
    error: float,
    n: float,
    freedom: float,
    level: float,
    *,
    least: float = 0.0,
    most: float = math.inf,
) -> tuple[float, float]:
    """The interval of a ``rate`` strictly between 0 and 1 that has a standard ``error`` above 0.

    The effective sample size is limited to ``least`` and ``most``.
    """
    tail = (1 - level) / 2
    ratio = t_quantile(tail, n - 1) / t_quantile(tail, freedom)
    effective = rate * (1 - rate) / error**2 * ratio**2
    effective = max(least, min(most, effective))
    return clopper_pearson(rate * effective, effective, level)


def unanimous(
    value: float, clusters: float, level: float, floor: float = 0.0, ceiling: float = 1.0
) -> tuple[float, float]:
    """The interval of a bounded mean when every cluster shows the same ``value``, so that no spread can be estimated.

    For the mean to be higher, some share of all clusters must be above it, at most at the ceiling; that none of those
    was drawn has a known probability. At 0 or 1 this is Clopper and Pearson's with each cluster as one trial.
    """
    kept = ((1 - level) / 2) ** (1 / clusters)
    return floor + (value - floor) * kept, ceiling - (ceiling - value) * kept


def wilson_limits(successes: float, trials: float, level: float) -> tuple[float, float]:
    """Wilson's score interval (1927), for trials that are independent."""
    z = -normal_quantile((1 - level) / 2)
    rate, weight = successes / trials, z * z / trials
    centre = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials))
    low = 0.0 if successes == 0 else centre - half
    return low, 1.0 if successes == trials else centre + half
