"""Intervals for anything that is computed from tasks, by drawing tasks again.

The limits are those of Efron's BCa (1987): percentiles of the draws, corrected for bias and for an error that changes
with the value. For plain rates near 0 or 1 they cover too rarely (62% of the time at worst in our simulations), so
rates do not use them; ratios such as the cost of one success do.

What one success costs: the cost of all runs over the number of successes, with tasks as the unit.
Failures are paid for as well, so that it is a ratio of sums and not a mean of costs. A run whose cost is not known was
paid for, too: it counts with the mean of those that are known, in the value as in every draw. The interval comes from
drawing tasks again (BCa). With very many tasks the ratio is nearly linear, and t over tasks gives the same result for
far less work.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from proctor.study.statements import statement
from proctor.study.stats.arrays import ArrayLike, Floats, floats, inner
from proctor.study.stats.confidence_limits import t_quantile
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

BCA = "bootstrap-bca"
DRAWS = 2_000
CELLS = 2**22
"""How many numbers are drawn at a time."""


def bca(
    data: ArrayLike,
    statistic: Callable[[Floats], Floats],
    rng: np.random.Generator,
    level: float = LEVEL,
    draws: int = DRAWS,
) -> Estimate:
    """The interval of ``statistic``, which takes samples (sample, task[, column]) and gives one number for each."""
    table = np.asarray(data, dtype=np.float64)
    size = len(table)
    if size < 2:
        return undefined("fewer-than-two-tasks", level=level, method=BCA, n=size, clusters=size)
    value = float(statistic(table[None])[0])
    if not math.isfinite(value):
        return undefined("not-a-number", level=level, method=BCA, n=size, clusters=size)
    drawn = np.concatenate([statistic(table[block]) for block in _blocks(size, draws, rng)])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < draws * 0.99:
        why = statement("undefined-in-draws", missing=draws - len(drawn), draws=draws)
        return undefined(why, level=level, method=BCA, n=size, clusters=size)
    low, high = _limits(drawn, value, acceleration(table, statistic), level)
    return defined(value, low, high, level=level, method=BCA, n=size, clusters=size)


def acceleration(data: ArrayLike, statistic: Callable[[Floats], Floats]) -> float:
    """How fast the error changes with the value, from leaving out one task at a time."""
    table = np.asarray(data, dtype=np.float64)
    size = len(table)
    rows = max(1, CELLS // size)
    left = []
    for start in range(0, size, rows):
        out = np.arange(start, min(size, start + rows))
        others = np.arange(size - 1)[None, :]
        left.append(statistic(table[others + (others >= out[:, None])]))
    without = np.concatenate(left)
    off = without.mean() - without
    scale = float((off**2).sum()) ** 1.5
    return float((off**3).sum()) / (6 * scale) if scale > 0 else 0.0


def _blocks(size: int, draws: int, rng: np.random.Generator) -> list[np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    rows = max(1, CELLS // size)
    return [rng.integers(0, size, (min(rows, draws - start), size)) for start in range(0, draws, rows)]


def _limits(drawn: Floats, value: float, accelerated: float, level: float) -> tuple[float, float]:
    count = len(drawn)
    below = (np.count_nonzero(drawn < value) + 0.5 * np.count_nonzero(drawn == value)) / count
    bias = float(ndtri(min(1 - 0.5 / count, max(0.5 / count, below))))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        moved = bias + float(ndtri(tail))
        ends.append(float(ndtr(bias + moved / (1 - accelerated * moved))))
    low, high = np.quantile(drawn, ends)
    return float(low), float(high)


MOST_DRAWN = 500
"""Up to so many tasks are drawn again."""
LINEAR = "t-ratio-of-sums"


def success_price(
    costs: ArrayLike,
    successes: ArrayLike,
    rng: np.random.Generator,
    level: float = LEVEL,
    *,
    counts: tuple[ArrayLike, ArrayLike] | None = None,
) -> Estimate:
    """The price of a success, from what the runs of each task cost together and how many of them succeeded.

    ``counts`` says how many runs of each task have a known cost, and how many there are; all have if it is left out.
    """
    spent, won = floats(costs), floats(successes)
    metered, runs = (floats(part) for part in counts) if counts is not None else (np.ones(0), np.ones(0))
    if np.array_equal(metered, runs):
        metered = runs = np.ones(len(spent))
    elif not metered.any():
        return undefined("no-cost-known", level=level, method=BCA, n=len(spent), clusters=len(spent))
    tasks, solved = len(spent), float(won.sum())
    if not solved:
        return undefined("no-success", level=level, method=BCA, n=tasks, clusters=tasks)
    if tasks < 2:
        return undefined("fewer-than-two-tasks", level=level, method=BCA, n=tasks, clusters=tasks)
    if tasks <= MOST_DRAWN:
        if metered is runs:
            return bca(np.column_stack((spent, won)), _ratio, rng, level)
        return bca(np.column_stack((spent, won, metered, runs)), _ratio, rng, level)
    mean, more = float(spent.sum()) / float(metered.sum()), float(runs.sum()) / float(metered.sum())
    value = float(spent.sum()) / solved * more
    off = more * spent + mean * (runs - more * metered) - value * won
    error = math.sqrt(tasks / (tasks - 1) * inner(off, off)) / solved
    half = t_quantile((1 + level) / 2, tasks - 1) * error
    return defined(value, max(0.0, value - half), value + half, level=level, method=LINEAR, n=tasks, clusters=tasks)


def _ratio(samples: Floats) -> Floats:
    sums = samples.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = sums[:, 0] / sums[:, 1]
        if sums.shape[1] > 2:
            found = found * sums[:, 3] / sums[:, 2]
    return found
