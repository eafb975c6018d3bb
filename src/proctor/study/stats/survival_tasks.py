"""How sure a survival curve is when runs come in tasks: errors from what the runs of each task contribute together.

A run's contribution is how the logarithm of the curve, or the area below it, moves with the run's weight (infinitesimal
jackknife). Contributions are summed by task before they are squared, and count for more where a task has much of the
runs and so pulls the curve towards itself, as if that task were left out. Where every run is a task of its own, the
curve's error is Greenwood's but for the factor G / (G - 1).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from proctor.study.stats.arrays import ArrayLike, Floats, floats, inner
from proctor.study.stats.rates import freedom_left


def curve_errors(
    when: Floats, ended: Floats, codes: ArrayLike, stamps: Floats, dead: Floats, risk: Floats
) -> tuple[Floats, Floats, int]:
    """The error of the curve's logarithm at each stamp, its degrees of freedom there, and how many tasks there are.

    At a stamp a task has contributed C by runs that are gone, and H for each of its N runs that are still going, where
    H is the same for all. So sums over tasks of (C + H N) squared need sums of C C, C N and N N alone, and each of
    these changes only when a run goes: the whole curve costs one sorting, not tasks times stamps.
    """
    place, tasks = _places(codes)
    left = np.where(risk > dead, risk - dead, 1.0)
    height = np.cumsum(np.where(risk > dead, dead / (risk * left), 0.0))
    passed = np.searchsorted(stamps, when, side="right")
    share = np.concatenate(([0.0], height))[passed]
    at = np.maximum(passed - 1, 0)
    share = share - (np.where(ended > 0, 1 / left[at], 0.0) if len(stamps) else 0.0)
    order = np.lexsort((when, place))
    gone, going = _running(place[order], share[order], tasks)
    leaves = np.argsort(when[order], kind="stable")
    until = np.searchsorted(when[order][leaves], stamps, side="right")
    sizes = np.bincount(place, minlength=tasks).astype(np.float64)
    pull = _pull(sizes)

    def total(power: int) -> Floats:
        """The sum over tasks of (C + H N) to the ``power``, at each stamp."""
        found = np.zeros(len(stamps))
        for term in range(power + 1):
            after = gone[1] ** (power - term) * going[1] ** term
            change = (after - gone[0] ** (power - term) * going[0] ** term) * pull[place[order]] ** power
            change = change[leaves]
            start = float(((pull * sizes) ** power).sum()) if term == power else 0.0
            sums = np.concatenate(([start], start + np.cumsum(change)))[until]
            found += math.comb(power, term) * height**term * sums
        return np.maximum(found, 0.0)

    second, fourth = total(2), total(4)
    error = np.sqrt(second * (max(1, tasks - 1) / tasks))
    with np.errstate(divide="ignore", invalid="ignore"):
        peaked = np.nan_to_num(tasks * fourth / second**2 - 1, nan=0.0, posinf=0.0)
        few = np.maximum(1.0, 2 * tasks / np.where(peaked > 0, peaked, 1.0))
    freedom = np.where(peaked * (tasks - 1) <= 2 * tasks, float(max(1, tasks - 1)), few)
    return floats(error), floats(freedom), tasks


def mean_error(
    when: Floats, ended: Floats, codes: ArrayLike, stamps: Floats, ahead: Floats, dead: Floats, risk: Floats
) -> tuple[float, float, int]:
    """The error of the restricted mean, its degrees of freedom, and how many tasks there are; nan for a single one."""
    place, tasks = _places(codes)
    if tasks < 2:
        return math.nan, 0.0, tasks
    # Where all who are left end together, no weight moves the curve off 0.
    pull = np.where(risk > dead, ahead / np.where(risk > dead, risk - dead, 1.0), 0.0)
    passed = np.searchsorted(stamps, when, side="right")
    expected = np.concatenate(([0.0], np.cumsum(pull * dead / risk)))[passed]
    at = np.minimum(np.maximum(passed - 1, 0), max(0, len(stamps) - 1))
    observed = np.zeros(len(when))
    if len(stamps):
        counted = (ended > 0) & (when <= stamps[-1])
        observed[counted] = pull[at[counted]]
    sums = floats(np.bincount(place, expected - observed, tasks) * _pull(floats(np.bincount(place))))
    error = math.sqrt((tasks - 1) / tasks * inner(sums, sums))
    return error, freedom_left(sums, tasks - 1) if error > 0 else tasks - 1, tasks


def _pull(sizes: Floats) -> Floats:
    """By how much what a task contributes would be larger if the others were held against it alone."""
    return 1 / np.where(len(sizes) > 1, 1 - sizes / sizes.sum(), 1.0)


def _places(codes: ArrayLike) -> tuple[NDArray[np.int64], int]:
    names, place = np.unique(np.asarray(codes), return_inverse=True)
    return place.ravel(), len(names)


def _running(
    place: NDArray[np.int64], share: Floats, tasks: int
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """For runs by task and time: what their task has contributed, and how many are going, before and after each."""
    sizes = np.bincount(place, minlength=tasks)
    first = np.cumsum(sizes) - sizes
    added = np.cumsum(share)
    added = added - np.concatenate(([0.0], added))[first][place]
    rank = np.arange(len(place)) - first[place]
    going = (sizes[place] - rank).astype(np.float64)
    return (added - share, added), (going, going - 1)
