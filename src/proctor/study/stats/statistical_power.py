"""How many tasks and runs a comparison needs, by formula and by simulation, and checks that the two agree.

Runs of one task are alike, so m runs of a task are worth m / (1 + (m - 1) icc). A paired comparison gains from tasks
being hard or easy for both agents alike. ``Design`` holds what is assumed; nothing here is estimated. The variance of a
task's difference is that of Miller, "Adding error bars to evals" (2024): between tasks plus within tasks over runs.

Means of the same number of runs differ by whole steps, so the sums of all patterns of signs are counted step by step
instead of pattern by pattern: the same exact p value as :func:`proctor.study.stats.paired_comparison.sign_flip`.
Where more tasks
differ than are tried there one by one, the sum is taken as normal with the variance of its random signs, and with a
correction of one step. It is then made of more than 20 independent parts, each bounded, whose tails are lighter than
the normal ones; so a small level is met conservatively.

Tasks get a rate for each agent from beta distributions, joined by a normal copula so that the rates correlate as
the design says; runs are drawn from those rates; the comparison is the one that reports decide by, the paired t test
over tasks, with flipped signs where tasks are few or agents many. Formula and simulation share only the design.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, nctdtr, ndtr, ndtri

from proctor.base.dataclass_fields import field_items
from proctor.study.stats.arrays import Flags, Floats
from proctor.study.stats.confidence_limits import normal_quantile, t_quantile, wilson_limits
from proctor.study.stats.paired_comparison import ENOUGH_TASKS, EXACT_TASKS, THIN, few_differ, resampled_p

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True)
class Design:
    """Two agents on the same tasks: the rate of the lower one, how alike runs are, and how alike agents are on a task.

    ``icc`` correlates two runs of one agent on one task; ``correlation`` is that of the two agents' rates over tasks.
    """

    rate: float
    icc: float
    correlation: float
    tasks: int
    runs: int
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not (0 <= self.rate <= 1 and 0 <= self.icc <= 1 and -1 <= self.correlation <= 1 and 0 < self.alpha < 1):
            raise ValueError(f"no design has these shares: {self}")
        if self.tasks < 2 or self.runs < 1:
            raise ValueError(f"two tasks and one run each are the least, not {self.tasks} and {self.runs}")


def design_effect(runs: float, icc: float) -> float:
    """By how much the runs of one task inflate the variance of a mean."""
    return 1 + (runs - 1) * icc


def two_proportions_size(first: float, second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Independent runs for each of two agents to separate their rates, two-sided, unrounded."""
    if first == second:
        return math.inf
    middle = (first + second) / 2
    under_null = -normal_quantile(alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    beyond = normal_quantile(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return ((under_null + beyond) / (first - second)) ** 2


def two_proportions_tasks(
    first: float, second: float, runs: int, icc: float, alpha: float = ALPHA, power: float = POWER
) -> int:
    """Tasks for each of two agents that share none, with ``runs`` runs of each task."""
    size = two_proportions_size(first, second, alpha, power)
    return math.ceil(size * design_effect(runs, icc) / runs - 1e-9)


def paired_size(
    omega2: float,
    effect: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    runs_a: int = 1,
    runs_b: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """Miller's number of tasks: ``omega2`` is the variance of differences between tasks, ``sigma2`` within a task."""
    total = omega2 + sigma2_a / runs_a + sigma2_b / runs_b
    reach = normal_quantile(power) - normal_quantile(alpha / 2)
    return math.ceil(reach**2 * total / effect**2 - 1e-9)


def paired_variance(design: Design, effect: float) -> float:
    """The variance of one task's difference of means when the other agent's rate is higher by ``effect``."""
    spreads = [rate * (1 - rate) for rate in (design.rate, _raised(design, effect))]
    between = [design.icc * spread for spread in spreads]
    within = sum((1 - design.icc) * spread for spread in spreads) / design.runs
    return sum(between) - 2 * design.correlation * math.sqrt(between[0] * between[1]) + within


def paired_power(design: Design, effect: float) -> float:
    """The chance that the paired t test over tasks finds ``effect``."""
    variance = paired_variance(design, effect)
    if variance <= 0:
        return 1.0 if effect else design.alpha
    freedom, shift = design.tasks - 1, effect / math.sqrt(variance / design.tasks)
    limit = t_quantile(1 - design.alpha / 2, freedom)
    if shift > limit + 35:
        return 1.0
    return min(1.0, 1 - float(nctdtr(freedom, shift, limit)) + float(nctdtr(freedom, shift, -limit)))


def minimum_detectable(design: Design, power: float = POWER) -> float | None:
    """The smallest rise of the rate that is found with ``power``; ``None`` if not even the largest possible one is."""
    low, high = 0.0, 1 - design.rate
    if high <= 0 or paired_power(design, high) < power:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        if paired_power(design, middle) < power:
            low = middle
        else:
            high = middle
    return high


def tasks_needed(design: Design, effect: float, power: float = POWER, most: int = 1_000_000) -> int | None:
    """The fewest tasks that find ``effect`` with ``power``; ``None`` if even ``most`` do not."""

    def enough(tasks: int) -> bool:
        return paired_power(replace(design, tasks=tasks), effect) >= power

    if not enough(most):
        return None
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _raised(design: Design, effect: float) -> float:
    raised = design.rate + effect
    if not -1e-12 <= raised <= 1 + 1e-12:
        raise ValueError(f"a rate of {design.rate:g} cannot change by {effect:g}")
    return min(1.0, max(0.0, raised))


MOST_STEPS = 100
"""The number of steps of a difference; with more runs than that they are rounded."""
SIGN_CELLS = 2**21


def flipped_p(differences: Floats, runs: int) -> Floats:
    """The two-sided p value of each line of differences of means of ``runs`` runs."""
    steps = np.rint(differences * min(runs, MOST_STEPS)).astype(np.int64)
    seen, sizes = np.abs(steps.sum(axis=1)), np.sort(np.abs(steps), axis=1)[:, ::-1]
    few = np.count_nonzero(sizes, axis=1) <= EXACT_TASKS
    found = np.ones(len(steps))
    found[few] = _counted(sizes[few, :EXACT_TASKS], seen[few])
    found[~few] = _normal(sizes[~few], seen[~few])
    return found


def _counted(sizes: NDArray[np.int64], seen: NDArray[np.int64]) -> Floats:
    """By the share of patterns whose positive part is so large, a bounded number of lines at a time."""
    width = int(sizes.sum(axis=1).max(initial=0)) + 1
    rows = max(1, SIGN_CELLS // width)
    found = np.ones(len(sizes))
    for start in range(0, len(sizes), rows):
        lines, most = sizes[start : start + rows], seen[start : start + rows]
        shares = np.zeros((len(lines), width))
        shares[:, 0] = 1.0
        for column in lines.T:
            for size in np.unique(column[column > 0]).tolist():
                of = np.flatnonzero(column == size)
                half = shares[of] / 2
                shares[of] = half
                shares[of, size:] += half[:, :-size]
        tails = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
        positive = (lines.sum(axis=1) + most) // 2
        found[start : start + rows] = np.where(most > 0, 2 * tails[np.arange(len(lines)), positive], 1.0)
    return found


def _normal(sizes: NDArray[np.int64], seen: NDArray[np.int64]) -> Floats:
    spread = np.sqrt((sizes.astype(np.float64) ** 2).sum(axis=1))
    found: Floats = 2 * ndtr(-np.maximum(seen - 1, 0) / spread)
    return found


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
    """One condition of a power analysis, and what was found."""

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
    """Which lines the paired t test calls different from 0, of any ``runs``; equal differences are decided by signs."""
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
    """Every place where power falls although tasks, runs or effect rise; simulated points may differ by their error."""
    faults: list[str] = []
    for axis in RISING:
        groups: dict[tuple[float, ...], list[Point]] = {}
        for point in points:
            rest = tuple(value for name, value in field_items(point) if name not in (axis, "power", "low", "high"))
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

    The formula is that of the t test, so it is compared with simulated studies that the t test alone decides.
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
