"""The test that flips signs, for many simulated studies at once.

Means of the same number of runs differ by whole steps, so the sums of all patterns of signs are counted step by step
instead of pattern by pattern: the same exact p value as :func:`proctor.study.stats.paired.sign_flip`. Where more tasks
differ than are tried there one by one, the sum is taken as normal with the variance of its random signs, and with a
correction of one step. It is then made of more than 20 independent parts, each bounded, whose tails are lighter than
the normal ones; so a small level is met on the careful side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from proctor.study.stats.arrays import Floats
from proctor.study.stats.paired import EXACT_TASKS

MOST_STEPS = 100
"""So finely differences are told apart; with more runs than that they are rounded."""
CELLS = 2**21


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
    rows = max(1, CELLS // width)
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
