"""What one success costs: the cost of all runs over the number of successes, with tasks as the unit.

Failures are paid for as well, so that it is a ratio of sums and no mean of costs. A run whose cost nobody knows was
paid for, too: it counts with the mean of those that are known, in the value as in every draw. The interval comes from
drawing tasks again (BCa). With very many tasks the ratio is as good as linear, and t over tasks says the same for far
less work.
"""

from __future__ import annotations

import math

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Floats, floats, inner
from proctor.study.stats.bootstrap import BCA, bca
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import t_quantile

MOST_DRAWN = 500
"""Up to so many tasks are drawn again."""
LINEAR = "t over tasks, ratio of sums"


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
        return undefined("no cost is known", level=level, method=BCA, n=len(spent), clusters=len(spent))
    tasks, solved = len(spent), float(won.sum())
    if not solved:
        return undefined("there is no success", level=level, method=BCA, n=tasks, clusters=tasks)
    if tasks < 2:
        return undefined("there is one task only", level=level, method=BCA, n=tasks, clusters=tasks)
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
