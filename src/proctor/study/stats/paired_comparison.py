"""Two agents on the same tasks.

The task is the unit: each has one difference, that of its two means. The t test over these differences decides from 20
tasks on, by Student's distribution or, where few tasks differ, by that of these differences. Flipping their signs,
which assumes no shape, is a second test; with fewer than 20 tasks both must agree.
McNemar's test is for single paired runs that are independent, and rejects too often when runs share a task.

The t statistic where few tasks differ.
Student's t assumes differences of many sizes. If two good agents are compared, most tasks show none and the rest are
coarse: t is then far from 0 less often than Student's distribution says, and that test leaves up to half of its 5%
unused. So t is compared with studies made of these differences: as many tasks, drawn from them with replacement, each
with a random sign, as it would be without a difference. The p value is how often such a study has a larger t, and half
of how often it has the same one; the observed one counts among them, so that it is never 0.

So many draws estimate a p value of 0.05 well, and one of 0.0001 not at all: the one draw or two that reach so far are
chance. Below ``THIN`` p is therefore the larger one of Student's t and of flipped signs, all patterns of which can be
tried. ``paired_difference`` does that.

The draws are the same for every comparison of so many tasks: an answer depends on the differences alone, and what is
simulated for a plan is decided just as a report decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import bdtr, chdtrc, ndtri

from proctor.study.statements import statement
from proctor.study.stats.arrays import ArrayLike, Flags, Floats, floats
from proctor.study.stats.confidence_limits import t_quantile, t_two_sided, unanimous
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

ENOUGH_DIFFER = 20
"""From so many tasks that differ on, Student's t keeps its level and uses it."""
RESAMPLED_DRAWS = 9_999
THIN = 0.005
"""Below this p value fewer than 50 draws reach as far as the observed value, too few to rely on."""
SEED = 20260307
CELLS = 2**21
RESAMPLED_TIE = 1e-9
"""Values of t that differ by less than this share are the same, added up in another order."""


def few_differ(differences: Floats) -> Flags:
    """Which lines have too few tasks that differ for Student's t."""
    few: Flags = np.count_nonzero(differences, axis=1) < ENOUGH_DIFFER
    return few


def resampled_p(differences: Floats) -> Floats:
    """The two-sided p value of each line of differences, few of which are not 0."""
    seen = _reach(*_sums(differences))
    found = np.ones(len(seen))
    rows = max(1, CELLS // RESAMPLED_DRAWS)
    for start in range(0, len(seen), rows):
        part = slice(start, start + rows)
        totals, squares = _drawn(differences[part])
        reached, squares = totals**2, squares * seen[part]
        at_least = np.count_nonzero(reached > squares * (1 - RESAMPLED_TIE), axis=0)
        above = np.count_nonzero(reached > squares * (1 + RESAMPLED_TIE), axis=0)
        found[part] = (above + at_least + 1) / (2 * (RESAMPLED_DRAWS + 1))
    return np.where(seen > 0, found, 1.0)


def resampled_limit(differences: Floats, alpha: float) -> float:
    """The value of t whose p value is ``alpha``, between the values that t can have, so no p value is ambiguous."""
    line, tasks = differences[None, :], len(differences)
    drawn = np.sort(_reach(*(np.append(drawn, own) for drawn, own in zip(_drawn(line), _sums(line), strict=True))))
    first = np.flatnonzero(np.diff(drawn, prepend=-1.0) > RESAMPLED_TIE * drawn)
    at_least = len(drawn) - first
    above = np.append(at_least[1:], 0)
    reach = np.interp(alpha, ((above + at_least) / (2 * len(drawn)))[::-1], drawn[first][::-1])
    return float(np.sqrt(reach * (tasks - 1) / max(tasks - reach, RESAMPLED_TIE)))


def _sums(differences: Floats) -> tuple[Floats, Floats]:
    return differences.sum(axis=1), (differences**2).sum(axis=1)


def _reach(total: Floats, squares: Floats) -> Floats:
    """How far a sum goes for its squares: t squared in another measure, 0 at 0 and the number of tasks at infinity."""
    found: Floats = np.divide(total**2, squares, out=np.zeros_like(total), where=total**2 > RESAMPLED_TIE * squares)
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
    times = rng.multinomial(tasks, shares, RESAMPLED_DRAWS)[:, :places]
    plus = rng.binomial(times, 0.5)
    return (2 * plus - times).astype(np.float64), times.astype(np.float64)


PAIRED_T = "paired-t"
RESAMPLED_T = "paired-t-resampled"
ALL_ALIKE = "exact-differences-alike"
ENOUGH_TASKS = 20
"""From so many tasks on the t test keeps its level, of whatever sizes differences of rates are."""
EXACT_TASKS = 20
"""Up to so many tasks that differ, every pattern of signs is looked at."""
DRAWS = 9_999
TIE = 1e-9
"""Sums that differ by less than this share of the largest are the same sum, added in another order."""


@dataclass(frozen=True)
class Comparison:
    """The difference of two agents and the two-sided p value of there being none; ``None`` where it is undefined."""

    difference: Estimate
    p: float | None


@dataclass(frozen=True)
class SignFlip:
    """How often random signs give a sum as large as the observed one."""

    p: float | None
    exact: bool
    patterns: int
    tasks: int


@dataclass(frozen=True)
class McNemar:
    """The statistic, the one with Edwards' correction, and the p values of both and of the exact test."""

    chi2: float | None
    corrected: float | None
    p: float | None
    p_corrected: float | None
    p_exact: float


def paired_difference(
    mean_a: ArrayLike, mean_b: ArrayLike, level: float = LEVEL, *, bound: float | None = 1.0
) -> Comparison:
    """The mean difference a - b over tasks that both have; nan marks a task that an agent does not have.

    ``bound`` is the largest difference that a task can have: 1 for rates, ``None`` for what has no limit. If all
    tasks differ alike there is no spread for a t: the interval is an exact bound, the p value that of signs.
    Where few tasks differ, what holds for no difference holds for no other: only the p value, and with it on which side
    of 0 the interval ends, is by resampling.
    """
    differences = floats(mean_a) - floats(mean_b)
    differences = differences[~np.isnan(differences)]
    tasks = len(differences)
    if tasks < 2:
        return Comparison(_too_few(tasks, level), None)
    # Added up exactly, so that the order of tasks has no effect, and sums that cancel except for rounding are 0.
    largest = float(np.abs(differences).max())
    differences[np.abs(differences) <= TIE * largest] = 0.0
    value = math.fsum(differences.tolist()) / tasks
    value = 0.0 if abs(value) <= TIE * largest else value
    if float(np.abs(differences - value).max()) <= TIE * largest:
        return _alike(value, tasks, level, bound)
    error = float(differences.std(ddof=1)) / math.sqrt(tasks)
    p, method = t_two_sided(value / error, tasks - 1), PAIRED_T
    towards_0 = away = t_quantile((1 + level) / 2, tasks - 1)
    if tasks >= ENOUGH_TASKS and few_differ(differences[None, :])[0]:
        p, method = _of_few(differences, p), RESAMPLED_T
        if (abs(value) > towards_0 * error) != (p < 1 - level):
            towards_0 = _crossing(differences, abs(value) / error, p, 1 - level)
    below, above = (towards_0, away) if value > 0 else (away, towards_0)
    edge = math.inf if bound is None else bound
    low, high = max(-edge, value - below * error), min(edge, value + above * error)
    return Comparison(defined(value, low, high, level=level, method=method, n=tasks, clusters=tasks), p)


def _of_few(differences: Floats, by_student: float) -> float:
    """The p value where few tasks differ: by resampling, and far out, where draws are few, by Student and signs."""
    drawn = float(resampled_p(differences[None, :])[0])
    return drawn if drawn >= THIN else min(THIN, max(by_student, _all_patterns(differences[differences != 0])))


def _crossing(differences: Floats, t: float, p: float, alpha: float) -> float:
    """The t at which the p value would be ``alpha``, where few tasks differ; ``p`` is that of ``t``."""
    return resampled_limit(differences, alpha) if alpha > THIN else t * float(ndtri(alpha / 2) / ndtri(p / 2))


def decisive(by_t: float | None, by_signs: float | None, tasks: int) -> float | None:
    """The p value that decides: of the t test with 20 tasks or more, else the larger one; undefined where either is.

    Signs at the same level would halve the false alarms that are allowed, since few runs leave them few steps.
    """
    if by_t is None or by_signs is None:
        return None
    return by_t if tasks >= ENOUGH_TASKS else max(by_t, by_signs)


def sign_flip(differences: ArrayLike, rng: np.random.Generator, draws: int = DRAWS) -> SignFlip:
    """The two-sided p value of a sum of differences when each could as well have had the other sign.

    Exact up to 20 tasks that differ at all. Beyond that, ``draws`` patterns at random, with the observed pattern
    counted among them, so that the p value is never 0.
    """
    values = floats(differences)
    values = values[~np.isnan(values)]
    tasks, values = len(values), values[values != 0]
    if not tasks:
        return SignFlip(None, True, 0, 0)
    if len(values) <= EXACT_TASKS:
        return SignFlip(_all_patterns(values), True, 2 ** len(values), tasks)
    limit = _reached(values)
    hits = sum(int(np.count_nonzero(np.abs(sums) >= limit)) for sums in _drawn_sums(values, draws, rng))
    return SignFlip((hits + 1) / (draws + 1), False, draws, tasks)


def _reached(values: Floats) -> float:
    """The size from which a sum is as large as the observed one, except for rounding."""
    return abs(float(values.sum())) - TIE * float(np.abs(values).sum())


def _all_patterns(values: Floats) -> float:
    """The share of all patterns of signs whose sums are as large as the observed one."""
    sums = np.zeros(1)
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    # The other half, with the first sign turned, has the same sizes.
    first = values[0] if len(values) else 0.0
    return float(np.mean(np.abs(sums + first) >= _reached(values)))


def sign_blocks(tasks: int, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """``draws`` rows of random signs, a bounded number of rows at a time."""
    rows = max(1, 2**22 // tasks)
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        data = rng.integers(0, 256, size=(count, -(-tasks // 8)), dtype=np.uint8)
        yield np.unpackbits(data, axis=1, count=tasks).astype(np.float64) * 2 - 1


def _drawn_sums(values: Floats, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Sums under ``draws`` patterns of signs, a bounded number at a time.

    Rates of few runs differ by few amounts. How many tasks of one amount get a plus is then one binomial number, which
    spares drawing a sign for each of ten thousand tasks.
    """
    sizes, repeats = np.unique(np.abs(values).round(12), return_counts=True)
    if len(sizes) > len(values) // 8:
        for signs in sign_blocks(len(values), draws, rng):
            yield signs @ values
        return
    rows = max(1, 2**20 // len(sizes))
    for start in range(0, draws, rows):
        plus = rng.binomial(repeats, 0.5, (min(rows, draws - start), len(sizes)))
        yield (2.0 * plus - repeats) @ sizes


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """The test of the pairs of single runs in which just one of two agents succeeded."""
    total = only_a + only_b
    if not total:
        return McNemar(None, None, None, None, 1.0)
    chi2 = (only_a - only_b) ** 2 / total
    corrected = max(0, abs(only_a - only_b) - 1) ** 2 / total
    exact = min(1.0, 2 * float(bdtr(min(only_a, only_b), total, 0.5)))
    return McNemar(chi2, corrected, float(chdtrc(1, chi2)), float(chdtrc(1, corrected)), exact)


def _alike(value: float, tasks: int, level: float, bound: float | None) -> Comparison:
    p = 1.0 if value == 0 else 2.0 ** (1 - tasks)
    if bound is None:
        why = statement("all-tasks-differ-alike", tasks=tasks, difference=value)
        return Comparison(undefined(why, level=level, method=PAIRED_T, n=tasks, clusters=tasks), p)
    low, high = unanimous(value, tasks, level, -bound, bound)
    return Comparison(defined(value, low, high, level=level, method=ALL_ALIKE, n=tasks, clusters=tasks), p)


def _too_few(tasks: int, level: float) -> Estimate:
    why = "one-shared-task" if tasks else "no-shared-task"
    return undefined(why, level=level, method=PAIRED_T, n=tasks, clusters=tasks)
