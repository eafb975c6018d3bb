"""Intervals for anything that is computed from tasks, by drawing tasks again.

The limits are those of Efron's BCa (1987): percentiles of the draws, corrected for bias and for an error that changes
with the value. For plain rates near 0 or 1 they cover too rarely (62% of the time at worst in our simulations), so
rates do not use them; ratios such as the cost of one success do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from proctor.study.stats.arrays import ArrayLike, Floats
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

BCA = "bootstrap over tasks, BCa"
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
        return undefined("there are fewer than two tasks", level=level, method=BCA, n=size, clusters=size)
    value = float(statistic(table[None])[0])
    if not math.isfinite(value):
        return undefined("the value itself is not a number", level=level, method=BCA, n=size, clusters=size)
    drawn = np.concatenate([statistic(table[block]) for block in _blocks(size, draws, rng)])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < draws * 0.99:
        why = f"in {draws - len(drawn)} of {draws} draws it has no value"
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
