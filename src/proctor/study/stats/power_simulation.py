"""Power by simulation, and the checks that a power analysis must pass before anybody relies on it.

Tasks get a rate for each agent from beta distributions, tied together by a normal copula so that the rates correlate as
the design says; runs are drawn from those rates; the comparison is the one that reports decide by, the paired t test
over tasks, with flipped signs where tasks are few or agents many. Formula and simulation share only the question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from proctor.base.fields import items
from proctor.study.stats.arrays import Flags, Floats
from proctor.study.stats.limits import t_quantile, wilson_limits
from proctor.study.stats.paired import ENOUGH_TASKS
from proctor.study.stats.power import Design, paired_power
from proctor.study.stats.resampled import THIN, few_differ, resampled_p
from proctor.study.stats.signs import flipped_p

Test = Callable[[Floats, float, int], Flags]
"""Which lines of differences of means of so many runs are called different at a level."""

DRAWS = 2_000
CELLS = 2**20
SCORES = 200
"""Into so many equal parts a normal distribution is cut to compute a correlation."""
FAR = 3
"""By more than this factor a p value of Student's t is not brought down by another distribution; 1.8 was the most."""
RISING = ("tasks", "runs", "effect", "correlation")
"""With more of any of these, power does not fall."""


@dataclass(frozen=True)
class Point:
    """The power at one design: by formula, where ``low`` equals ``high``, or simulated with the error of that."""

    tasks: int
    runs: int
    icc: float
    correlation: float
    effect: float
    power: float
    low: float
    high: float


@dataclass(frozen=True)
class Check:
    """One thing that must hold of a power analysis, and what was seen."""

    name: str
    held: bool
    seen: str


def formula_point(design: Design, effect: float) -> Point:
    """The power by formula as a point of a curve."""
    power = paired_power(design, effect)
    return _point(design, effect, power, power, power)


def simulated_point(
    design: Design, effect: float, rng: np.random.Generator, draws: int = DRAWS, test: Test | None = None
) -> Point:
    """The share of simulated studies that find ``effect``, with its 99.9% interval."""
    rows, test = max(1, CELLS // design.tasks), test or decisions
    found = 0
    for start in range(0, draws, rows):
        a, b = simulated_means(design, effect, min(rows, draws - start), rng)
        found += int(np.count_nonzero(test(b - a, design.alpha, design.runs)))
    low, high = wilson_limits(found, draws, 0.999)
    return _point(design, effect, found / draws, low, high)


def simulated_means(design: Design, effect: float, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The task means of both agents in ``draws`` studies, each as lines of studies and columns of tasks."""
    quantiles = [_beta_quantile(min(1.0, max(0.0, rate)), design.icc) for rate in (design.rate, design.rate + effect)]
    tied = _score_correlation(quantiles[0], quantiles[1], design.correlation)
    shape = (draws, design.tasks)
    first, own = rng.standard_normal(shape), rng.standard_normal(shape)
    second = tied * first + math.sqrt(1 - tied**2) * own
    a, b = (
        rng.binomial(design.runs, quantile(ndtr(normal))).astype(np.float64) / design.runs
        for normal, quantile in zip((first, second), quantiles, strict=True)
    )
    return a, b


def rejections(differences: Floats, alpha: float, runs: int = 1) -> Flags:
    """Which lines the paired t test calls different from 0, of any ``runs``; all alike is decided by signs alone."""
    tasks = differences.shape[1]
    mean, error = differences.mean(axis=1), differences.std(axis=1, ddof=1) / math.sqrt(tasks)
    alike = error <= 1e-12
    limit = t_quantile(1 - alpha / 2, tasks - 1)
    by_signs = (np.abs(mean) > 1e-12) & (2.0 ** (1 - tasks) < alpha)
    found: Flags = np.where(alike, by_signs, np.abs(mean) >= limit * error)
    return found


def decisions(differences: Floats, alpha: float, runs: int) -> Flags:
    """Which lines a report of two agents would call different, by the rule of ``paired.decisive``."""
    if differences.shape[1] < ENOUGH_TASKS:
        return confirmed(differences, alpha, runs)
    found = rejections(differences, alpha)
    # What is far from different by Student's t is not different by any other distribution.
    doubtful = np.flatnonzero(few_differ(differences) & rejections(differences, min(0.99, FAR * alpha)))
    found[doubtful] = resampled_p(differences[doubtful]) < max(alpha, THIN)
    if alpha <= THIN:
        found[doubtful] &= confirmed(differences[doubtful], alpha, runs)
    return found


def confirmed(differences: Floats, alpha: float, runs: int) -> Flags:
    """Which lines the t test calls different and flipped signs confirm, which decide where there are many agents."""
    found = np.flatnonzero(rejections(differences, alpha))
    flags = np.zeros(len(differences), dtype=bool)
    flags[found] = flipped_p(differences[found], runs) < alpha
    return flags


def curve(
    design: Design,
    effects: Sequence[float],
    *,
    tasks: Iterable[int],
    correlations: Sequence[float],
    iccs: Sequence[float],
) -> list[Point]:
    """The power by formula at every combination."""
    designs = [
        replace(design, tasks=count, correlation=correlation, icc=icc)
        for icc in iccs
        for correlation in correlations
        for count in tasks
    ]
    return [formula_point(each, effect) for each in designs for effect in effects]


def not_monotone(points: Sequence[Point]) -> list[str]:
    """Every place where power falls although more was put in; simulated points may differ by their error."""
    faults: list[str] = []
    for axis in RISING:
        groups: dict[tuple[float, ...], list[Point]] = {}
        for point in points:
            rest = tuple(value for name, value in items(point) if name not in (axis, "power", "low", "high"))
            groups.setdefault(rest, []).append(point)
        for group in groups.values():
            ordered = sorted(group, key=lambda point: float(getattr(point, axis)))
            for less, more in pairwise(ordered):
                if more.high < less.low - 1e-9:
                    fall = f"from {less.power:.4f} to {more.power:.4f}"
                    faults.append(
                        f"power falls {fall} as {axis} rise {getattr(less, axis):g} to {getattr(more, axis):g}"
                    )
    return faults


def sanity(design: Design, effect: float, rng: np.random.Generator, draws: int = DRAWS) -> list[Check]:
    """Does the formula agree with the simulation, keep its alpha without an effect, and rise where it must?

    The formula is that of the t test, so it is held against simulated studies that the t test alone decides.
    """
    formula, simulated = formula_point(design, effect), simulated_point(design, effect, rng, draws, rejections)
    null = simulated_point(design, 0.0, rng, draws, rejections)
    off = abs(formula.power - simulated.power)
    room = 0.05 + (simulated.high - simulated.low) / 2
    steps = [replace(design, tasks=max(2, design.tasks * factor // 4)) for factor in (1, 2, 4, 8)]
    faults = not_monotone([formula_point(each, effect) for each in steps])
    seen_null = f"{null.power:.3f} ({null.low:.3f} to {null.high:.3f}) without an effect, {design.alpha:g} wanted"
    return [
        Check("formula and simulation agree", off <= room, f"{formula.power:.3f} and {simulated.power:.3f}"),
        Check("no more false alarms than alpha", null.low <= design.alpha, seen_null),
        Check("power rises with tasks", not faults, "; ".join(faults) or "at every step"),
    ]


def _point(design: Design, effect: float, power: float, low: float, high: float) -> Point:
    return Point(design.tasks, design.runs, design.icc, design.correlation, effect, power, low, high)


def _beta_quantile(mean: float, icc: float) -> Callable[[Floats], Floats]:
    """Rates with this mean and correlation of runs, by rank; all the same without any, all 0 or 1 with a full one."""
    if icc <= 0 or mean in (0.0, 1.0):
        return lambda ranks: np.full(ranks.shape, mean)
    if icc >= 0.995:
        return lambda ranks: (ranks > 1 - mean).astype(np.float64)
    size = (1 - icc) / icc
    # The quantile function costs far more than looking it up, and is smooth between 4,001 places.
    places = np.concatenate(([0.0], np.exp(np.linspace(-16, math.log(0.5), 2000))))
    places = np.concatenate((places, 1 - places[-2::-1]))
    heights = betaincinv(mean * size, (1 - mean) * size, places)
    return lambda ranks: np.interp(ranks, places, heights)


def _score_correlation(first: Callable[[Floats], Floats], second: Callable[[Floats], Floats], wanted: float) -> float:
    """The correlation of normal scores that gives rates the ``wanted`` one, or comes nearest to it."""
    ranks = (np.arange(SCORES) + 0.5) / SCORES
    scores, a, b = ndtri(ranks), first(ranks), second(ranks)
    scale = float(a.std() * b.std())
    if scale <= 0 or wanted == 0:
        return 0.0

    def reached(tied: float) -> float:
        drawn = second(ndtr(tied * scores[:, None] + math.sqrt(1 - tied**2) * scores[None, :]))
        return float((a - a.mean()) @ drawn.mean(axis=1)) / SCORES / scale

    low, high = (0.0, 1.0) if wanted > 0 else (-1.0, 0.0)
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < wanted else (low, middle)
    return (low + high) / 2
