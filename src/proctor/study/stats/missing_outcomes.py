"""Rates when outcomes are unknown or wrong: bounds, multiple imputation, and correction for the oracle's errors.

First the bounds that need no assumption (Manski 1989): all of them failed, all of them succeeded. Then multiple
imputation as a sensitivity analysis: unknown runs are drawn like the known runs of the same task, many times, and the
results are joined by Rubin's rules (1987) with the degrees of freedom of Barnard and Rubin (1999). ``odds`` says how
much likelier or less likely success is for an unknown run than for a known one.

Rogan and Gladen (1978). ``sensitivity`` is the share of correct patches that the oracle accepts, ``specificity`` the
share of defective ones that it rejects. With the number of patches that each was measured on, their own uncertainty
goes into the interval by the delta method; without, they are assumptions. The variance of a measured share is that of
one success and one failure more (Lang and Reiczigel 2014): an oracle that was right ten times of ten may still err.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proctor.study.statements import statement
from proctor.study.stats.arrays import ArrayLike, Floats, Integers, counts, floats
from proctor.study.stats.clustered_rates import Spread, bounded_mean, cluster_rate, spread
from proctor.study.stats.confidence_limits import normal_quantile
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.icc_and_regression import icc_anova

IMPUTATIONS = 50
IMPUTED = "multiple-imputation"
LEAST_ICC, MOST_ICC = 0.01, 0.99
"""The limits of the correlation within tasks when outcomes are drawn; beyond them there is no distribution."""


@dataclass(frozen=True)
class Bounds:
    """The lowest and the highest rate that the unknown runs allow; ``None`` without any run."""

    low: float | None
    high: float | None
    unknown: int
    n: int


@dataclass(frozen=True)
class Pooled:
    """Several completed results as one, after Rubin."""

    value: float
    within: float
    between: float
    total: float
    freedom: float


def manski(successes: int, unknown: int, n: int) -> Bounds:
    """The bounds of a rate over ``n`` runs of which ``unknown`` have no known outcome."""
    if min(successes, unknown) < 0 or successes + unknown > n:
        raise ValueError(f"{successes} successes and {unknown} unknown do not fit into {n} runs")
    if not n:
        return Bounds(None, None, 0, 0)
    return Bounds(successes / n, (successes + unknown) / n, unknown, n)


def rubin(values: ArrayLike, variances: ArrayLike, complete: float = math.inf) -> Pooled:
    """Join the results of completed data; ``complete`` are the degrees of freedom if nothing had been missing."""
    estimates, inside = floats(values), floats(variances)
    count = len(estimates)
    if count < 2:
        raise ValueError("two imputations are the least")
    within, between = float(inside.mean()), float(estimates.var(ddof=1))
    added = (1 + 1 / count) * between
    total = within + added
    if added <= 1e-24:
        return Pooled(float(estimates.mean()), within, between, total, complete)
    share = added / total
    freedom = (count - 1) / share**2
    if not math.isinf(complete):
        observed = (complete + 1) / (complete + 3) * complete * (1 - share)
        freedom = 1 / (1 / freedom + 1 / observed) if observed > 0 else 0.0
    return Pooled(float(estimates.mean()), within, between, total, max(1.0, freedom))


def imputed_rate(
    successes: ArrayLike,
    known: ArrayLike,
    unknown: ArrayLike,
    rng: np.random.Generator,
    level: float = LEVEL,
    *,
    draws: int = IMPUTATIONS,
    odds: float = 1.0,
) -> Estimate:
    """The rate over all runs, from successes, known and unknown runs of each task.

    Each draw takes tasks again at random, fits how success varies between them, and draws a rate for every task given
    its own known runs, so that what is not known about the model is in the interval too.
    """
    if not 0 < odds < math.inf:
        raise ValueError(f"odds are multiplied by a number above 0, not by {odds:g}")
    method = IMPUTED
    x, n, u = floats(successes), floats(known), floats(unknown)
    present = n + u > 0
    x, n, u = x[present], n[present], u[present]
    if not u.any():
        return cluster_rate(x, n, level)
    tasks, runs = len(n), float((n + u).sum())
    if tasks < 2 or not n.any():
        why = statement("one-task", rate=None, runs=int(runs)) if tasks < 2 else "no-outcome"
        return undefined(why, level=level, method=method, n=runs, clusters=tasks)
    values, variances = np.empty(draws), np.empty(draws)
    gaps = np.flatnonzero(u)
    for draw in range(draws):
        filled = x.copy()
        filled[gaps] += _drawn(x, n, u.astype(np.int64), gaps, rng, odds)
        found = spread(filled, n + u)
        assert found is not None
        values[draw], variances[draw] = found.value, found.error**2
    pooled = rubin(values, variances, tasks - 1)
    value = min(1.0, max(0.0, pooled.value))
    # Imputed outcomes may weigh more than any task, so no lower bound is assumed.
    least = 0.0 if pooled.total > 0 else tasks
    return bounded_mean(Spread(value, math.sqrt(pooled.total), runs, tasks, pooled.freedom, least), level, method)


def _drawn(x: Floats, n: Floats, u: Integers, gaps: Integers, rng: np.random.Generator, odds: float) -> Floats:
    """Successes among the unknown runs of the tasks that have any, from what their known runs and other tasks say."""
    seen = np.flatnonzero(n > 0)
    again = rng.choice(seen, len(seen))
    a, b = _shape(*counts(x[again], n[again]))
    rate = rng.beta(a + x[gaps], b + n[gaps] - x[gaps])
    return rng.binomial(u[gaps], odds * rate / (1 - rate + odds * rate)).astype(np.float64)


def _shape(x: Floats, n: Floats) -> tuple[float, float]:
    """How rates vary between tasks, by moments; half a success and half a failure keep it away from 0 and 1."""
    mean = (float(x.sum()) + 0.5) / (float(n.sum()) + 1)
    icc = icc_anova(x, n)
    icc = MOST_ICC if icc is None else min(MOST_ICC, max(LEAST_ICC, icc))
    size = (1 - icc) / icc
    return mean * size, (1 - mean) * size


ROGAN_GLADEN = "rogan-gladen"


def rogan_gladen(
    rate: Estimate,
    sensitivity: float,
    specificity: float,
    sensitivity_n: int | None = None,
    specificity_n: int | None = None,
) -> Estimate:
    """The ``rate`` of accepted runs as a rate of correct ones, limited to 0 and 1."""
    for name, share in (("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= share <= 1:
            raise ValueError(f"a {name} is between 0 and 1, not {share}")
    worth = sensitivity + specificity - 1
    if rate.undefined is not None or rate.value is None or rate.low is None or rate.high is None:
        return Estimate(None, None, None, rate.level, ROGAN_GLADEN, rate.n, rate.clusters, rate.undefined)
    if worth <= 1e-9:
        why = "checks-too-unreliable"
        return undefined(why, level=rate.level, method=ROGAN_GLADEN, n=rate.n, clusters=rate.clusters)
    value, low, high = ((end + specificity - 1) / worth for end in (rate.value, rate.low, rate.high))
    z = -normal_quantile((1 - rate.level) / 2)
    doubt = 0.0
    if sensitivity_n:
        doubt += _variance(sensitivity, sensitivity_n) * value**2
    if specificity_n:
        doubt += _variance(specificity, specificity_n) * (1 - value) ** 2
    # Both parts are independent: the distance of each side and the uncertainty of the oracle add up as squares.
    extra = z * math.sqrt(doubt) / worth
    low, high = value - math.hypot(value - low, extra), value + math.hypot(high - value, extra)
    value, low, high = (min(1.0, max(0.0, end)) for end in (value, low, high))
    return defined(value, low, high, level=rate.level, method=ROGAN_GLADEN, n=rate.n, clusters=rate.clusters)


def _variance(share: float, n: int) -> float:
    """The variance of a share that was measured ``n`` times, never 0."""
    drawn = (share * n + 1) / (n + 2)
    return drawn * (1 - drawn) / (n + 2)
