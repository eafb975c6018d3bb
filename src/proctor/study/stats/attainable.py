"""How much of its 5% a comparison could use at all, whatever its rule. Exact, from binomials; nothing is simulated.

Two agents without a difference have one run of each task. A task then differs with some chance, the *share*, and
points either way alike; w differ one way and l the other, and a rule says for which w:l it claims a difference. Any
sensible rule treats both agents alike, and what it claims for w:l with w > l it claims as well when one more points the
winner's way, or one fewer the loser's. So each claim brings others along, and a rule that makes it errs at least as
often as all of these come up. Whatever errs too often by that at some share cannot be claimed by a rule that keeps its
level at every share, and what is left bounds the errors of all such rules. t, flipped signs and McNemar are among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from proctor.study.stats.arrays import Floats

SHARES = tuple(step / 200 for step in range(1, 200))
"""Where a claim is held against a limit. More places would leave fewer claims, and make the bounds lower."""


def differing_share(rate: float, icc: float, correlation: float) -> float:
    """The share of tasks on which single runs of two agents with the same rate come out differently."""
    return 2 * rate * (1 - rate) * (1 - icc * correlation)


def chances(tasks: int, shares: Sequence[float]) -> Floats:
    """How likely w:l is at each share, at ``[share, w, l]``."""
    counts = range(tasks + 1)
    ways = np.array([[comb(tasks, won) * comb(tasks - won, lost) for lost in counts] for won in counts], dtype=float)
    differing = np.add.outer(np.arange(tasks + 1), np.arange(tasks + 1))
    share = np.array(shares, dtype=float)[:, None, None]
    found: Floats = ways * (share / 2) ** differing * (1 - share) ** np.maximum(tasks - differing, 0)
    return found


def least_errors(tasks: int, shares: Sequence[float]) -> Floats:
    """How often a rule that claims w:l errs at least at each share, at ``[share, w, l]`` where w > l.

    It claims what has at least w one way and at most l the other, for either agent.
    """
    won = np.cumsum(chances(tasks, shares)[:, ::-1], axis=1)[:, ::-1]
    found: Floats = 2 * np.cumsum(won, axis=2)
    return found


def most_errors(tasks: int, share: float, limit: float) -> float:
    """The most that a rule can err at ``share`` which errs at no share more often than ``limit``."""
    ahead = np.greater.outer(np.arange(tasks + 1), np.arange(tasks + 1))
    possible = ahead & (least_errors(tasks, SHARES).max(axis=0) <= limit)
    return min(limit, 2 * float(chances(tasks, (share,))[0][possible].sum()))
