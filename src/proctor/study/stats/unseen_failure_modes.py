"""How many kinds of failure a study has found, how many it has not, and what one more costs.

Each run shows some failure modes or none. The expected number of modes after fewer runs is exact (rarefaction); modes
never seen are estimated from those seen once and twice (Chao 1987); the chance that the next run shows something new is
the number seen in one run only over the number of runs (Good 1953), and the price of one more mode follows from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, gammaln

from proctor.study.stats.arrays import ArrayLike, Floats, floats
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

MARGINAL = "good-turing"


@dataclass(frozen=True)
class Discovery:
    """What was found in how many runs, what is estimated to be left, and the price of one more."""

    runs: int
    found: int
    once: int
    twice: int
    unseen: float | None
    next_new: float | None
    marginal_cost: Estimate
    curve: tuple[tuple[int, float, float], ...]


def discover(
    run: ArrayLike, mode: ArrayLike, runs: int, cost: float, level: float = LEVEL, points: int = 200
) -> Discovery:
    """From one line for each mode that a run showed (codes of both), of ``runs`` runs that cost ``cost`` together.

    A mode that a run shows twice counts once. The curve has (runs, cost, expected modes), at most ``points`` of them.
    """
    shown = np.column_stack((np.asarray(run, dtype=np.int64), np.asarray(mode, dtype=np.int64)))
    seen_in = np.bincount(np.unique(shown, axis=0)[:, 1]) if len(shown) else np.zeros(0, dtype=np.int64)
    seen_in = seen_in[seen_in > 0]
    once, twice = int((seen_in == 1).sum()), int((seen_in == 2).sum())
    sizes = np.unique(np.linspace(1, runs, min(points, runs)).round().astype(np.int64)) if runs else np.zeros(0)
    modes = expected_modes(seen_in, runs, sizes)
    curve = tuple((int(size), cost * int(size) / runs, float(count)) for size, count in zip(sizes, modes, strict=True))
    unseen = (runs - 1) / runs * math.comb(once, 2) / (twice + 1) if runs else None
    price = marginal_cost(once, runs, cost, level)
    return Discovery(runs, len(seen_in), once, twice, unseen, once / runs if runs else None, price, curve)


def expected_modes(seen_in: ArrayLike, runs: int, sizes: ArrayLike) -> Floats:
    """How many modes so many of the runs show on average, when each mode was seen in ``seen_in`` of all ``runs``."""
    counts, kinds = np.unique(floats(seen_in), return_counts=True)
    size, missed = floats(sizes)[:, None], runs - counts[None, :]
    with np.errstate(invalid="ignore"):
        # The chance that a mode is in none of the runs: C(missed, size) / C(runs, size).
        logs = gammaln(missed + 1) - gammaln(missed - size + 1) - gammaln(runs + 1) + gammaln(runs - size + 1)
    never = np.where(size > missed, 0.0, np.exp(np.where(size > missed, 0.0, logs)))
    return floats((1 - never) @ kinds)


def marginal_cost(once: int, runs: int, cost: float, level: float = LEVEL) -> Estimate:
    """What the next new mode is expected to cost, at the mean cost of a run."""
    if not runs:
        return undefined("no-run", level=level, method=MARGINAL)
    if not math.isfinite(cost):
        return undefined("no-cost-known", level=level, method=MARGINAL, n=runs, clusters=runs)
    if not once:
        why = "no-mode-seen-once"
        return undefined(why, level=level, method=MARGINAL, n=runs, clusters=runs)
    tail = (1 - level) / 2
    fewest, most = float(gammaincinv(once, tail)), float(gammaincinv(once + 1, 1 - tail))
    return defined(cost / once, cost / most, cost / fewest, level=level, method=MARGINAL, n=runs, clusters=runs)
