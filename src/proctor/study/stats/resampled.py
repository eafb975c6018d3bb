"""The t statistic where few tasks differ.

Student's t wants differences of many sizes. Where two good agents meet, most tasks show none and the rest are coarse:
t then goes far from 0 less often than Student says, and a test by him leaves up to half of its 5% unused. So t is held
against studies made of these very differences: as many tasks, drawn from them with replacement, each with a sign at
random, as it would be without a difference. The p value is how often such a study has a larger t, and half of how often
it has the same one; the one that was seen counts among them, so that it is never 0.

So many draws tell a p value of 0.05 well, and one of 0.0001 not at all: the one draw or two that reach so far are
chance. Below ``THIN`` p is therefore the larger one of Student's t and of flipped signs, all patterns of which can be
looked at. That is for :mod:`proctor.study.stats.paired` to do.

The draws are the same for every comparison of so many tasks: an answer depends on the differences alone, and what is
simulated for a plan is decided just as a report decides.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from proctor.study.stats.arrays import Flags, Floats

ENOUGH_DIFFER = 20
"""From so many tasks that differ on, Student's t keeps its level and uses it."""
DRAWS = 9_999
THIN = 0.005
"""Below this p value fewer than 50 draws reach as far as what was seen, too few to count on."""
SEED = 20260307
CELLS = 2**21
TIE = 1e-9
"""Values of t that differ by less than this share are the same, added up in another order."""


def few_differ(differences: Floats) -> Flags:
    """Which lines have too few tasks that differ for Student's t."""
    few: Flags = np.count_nonzero(differences, axis=1) < ENOUGH_DIFFER
    return few


def resampled_p(differences: Floats) -> Floats:
    """The two-sided p value of each line of differences, few of which are not 0."""
    seen = _reach(*_sums(differences))
    found = np.ones(len(seen))
    rows = max(1, CELLS // DRAWS)
    for start in range(0, len(seen), rows):
        part = slice(start, start + rows)
        totals, squares = _drawn(differences[part])
        reached, squares = totals**2, squares * seen[part]
        at_least = np.count_nonzero(reached > squares * (1 - TIE), axis=0)
        above = np.count_nonzero(reached > squares * (1 + TIE), axis=0)
        found[part] = (above + at_least + 1) / (2 * (DRAWS + 1))
    return np.where(seen > 0, found, 1.0)


def resampled_limit(differences: Floats, alpha: float) -> float:
    """The value of t whose p value is ``alpha``, between the values that t can have: no p value on it is in doubt."""
    line, tasks = differences[None, :], len(differences)
    drawn = np.sort(_reach(*(np.append(drawn, own) for drawn, own in zip(_drawn(line), _sums(line), strict=True))))
    first = np.flatnonzero(np.diff(drawn, prepend=-1.0) > TIE * drawn)
    at_least = len(drawn) - first
    above = np.append(at_least[1:], 0)
    reach = np.interp(alpha, ((above + at_least) / (2 * len(drawn)))[::-1], drawn[first][::-1])
    return float(np.sqrt(reach * (tasks - 1) / max(tasks - reach, TIE)))


def _sums(differences: Floats) -> tuple[Floats, Floats]:
    return differences.sum(axis=1), (differences**2).sum(axis=1)


def _reach(total: Floats, squares: Floats) -> Floats:
    """How far a sum goes for its squares: t squared in another measure, 0 at 0 and the number of tasks at infinity."""
    found: Floats = np.divide(total**2, squares, out=np.zeros_like(total), where=total**2 > TIE * squares)
    return found


def _drawn(differences: Floats) -> tuple[Floats, Floats]:
    """Sums, and sums of squares, of the studies drawn from each line: a line for a draw, a column for each line."""
    tasks = differences.shape[1]
    signed, times = _draws(tasks)
    sizes = -np.sort(-np.abs(differences), axis=1)[:, : signed.shape[1]].T
    return signed @ sizes, times @ sizes**2


@lru_cache(maxsize=8)
def _draws(tasks: int) -> tuple[Floats, Floats]:
    """How often each of the tasks that differ is drawn, and by how much more often with a plus than with a minus.

    Which task has which difference does not matter, so that the same draws do for all of them.
    """
    rng = np.random.default_rng(SEED)
    places = min(tasks, ENOUGH_DIFFER - 1)
    shares = np.full(places + 1, 1 / tasks)
    shares[-1] = 1 - places / tasks
    times = rng.multinomial(tasks, shares, DRAWS)[:, :places]
    plus = rng.binomial(times, 0.5)
    return (2 * plus - times).astype(np.float64), times.astype(np.float64)
