"""Many comparisons at once: adjusted p values, and the ranks that they leave open.

Holm (1979) limits the chance of any false claim under every dependence, and is for agents that are each compared with
their own earlier study. Westfall and Young's step-down maximum (1993) has the same limit and takes into account how
comparisons of agents on the same tasks depend on each other, because the signs of whole tasks are flipped for all pairs
together; it is for agents that are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Flags, Floats, floats
from proctor.study.stats.paired_comparison import DRAWS, TIE, sign_blocks


@dataclass(frozen=True)
class MaxT:
    """For each pair of columns (a, b), a < b: the p value by itself, and among all pairs; nan without a shared task.

    ``draws`` is the number of patterns of signs, which are all that there are where it is ``exact``.
    """

    pairs: tuple[tuple[int, int], ...]
    tasks: tuple[int, ...]
    p: tuple[float, ...]
    p_adjusted: tuple[float, ...]
    draws: int
    exact: bool = False
    method: str = "step-down maximum of all pairs, signs of whole tasks"


def holm(p: ArrayLike) -> Floats:
    """Holm's adjusted p values in the order of ``p``; nan stays nan and counts for nothing."""
    values = floats(p)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    result = np.full(values.shape, np.nan)
    result[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return result


def max_t(means: ArrayLike, rng: np.random.Generator, draws: int = DRAWS) -> MaxT:
    """Compare every pair of columns of ``means`` (one line for each task, one column for each agent; nan: not run).

    The statistic of a pair is the sum of its differences over the root of the sum of their squares, which orders sign
    patterns as the t statistic does and costs one product of matrices for all pairs. Where the tasks that differ have
    no more than ``draws`` patterns, each is tried and the result is exact. Otherwise so many are drawn, and the
    observed one counts among them.
    """
    table = np.asarray(means, dtype=np.float64)
    pairs = tuple(combinations(range(table.shape[1]), 2))
    left, right = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    differences = table[:, left] - table[:, right]
    tasks = np.count_nonzero(~np.isnan(differences), axis=0)
    differences = np.nan_to_num(differences, nan=0.0)
    scale = np.sqrt((differences**2).sum(axis=0))
    # A pair that never differs has statistic 0 under every pattern, and so a p value of 1.
    differences = differences / np.where(scale > 0, scale, 1.0)
    seen = np.abs(differences.sum(axis=0)) - TIE * np.abs(differences).sum(axis=0)
    order = np.argsort(-seen, kind="stable")
    differing = differences[differences.any(axis=1)]
    exact = 2 ** len(differing) <= draws
    if exact:
        draws = 2 ** len(differing)
        single, joint = _shares(differing[:, order], seen[order], _patterns(len(differing)))
    else:
        single, joint = _shares(differences[:, order], seen[order], sign_blocks(len(table), draws, rng), 1)
    p, adjusted = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    p[order], adjusted[order] = single, np.maximum.accumulate(joint)
    p[tasks == 0], adjusted[tasks == 0] = np.nan, np.nan
    return MaxT(pairs, tuple(tasks.tolist()), tuple(p.tolist()), tuple(adjusted.tolist()), draws, exact)


def _shares(differences: Floats, seen: Floats, blocks: Iterator[Floats], more: int = 0) -> tuple[Floats, Floats]:
    """The share of patterns in which a pair, or any from it on, is as far apart as observed; ``more`` are certain."""
    single, joint = np.full(len(seen), float(more)), np.full(len(seen), float(more))
    of = more
    for signs in blocks:
        drawn = np.abs(signs @ differences)
        single += np.count_nonzero(drawn >= seen, axis=0)
        highest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        joint += np.count_nonzero(highest >= seen, axis=0)
        of += len(signs)
    return single / of, joint / of


def _patterns(tasks: int) -> Iterator[Floats]:
    """Every pattern of signs that begins with a plus, so many at a time; turned round, sums have the same sizes."""
    rows, free = max(1, 2**22 // max(1, tasks)), max(0, tasks - 1)
    for start in range(0, 2**free, rows):
        numbers = np.arange(start, min(2**free, start + rows))
        signs = np.ones((len(numbers), tasks))
        signs[:, 1:] = (numbers[:, None] >> np.arange(free) & 1) * 2 - 1
        yield signs


def rank_ranges(better: Flags) -> list[tuple[int, int]]:
    """The best and worst rank that each agent may have; ``better[a, b]``: a was shown to be better than b."""
    beaten_by, beats = better.sum(axis=0), better.sum(axis=1)
    return [(1 + int(up), len(better) - int(down)) for up, down in zip(beaten_by, beats, strict=True)]
