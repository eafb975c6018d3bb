"""How far raters agree beyond chance, with intervals: Cohen for two, Fleiss for many, Krippendorff for any.

Krippendorff's alpha supports verdicts without an order (nominal), with one (ordinal) and with distances (interval), and
allows gaps. What was rated is the unit: intervals of Fleiss and Krippendorff leave out one unit at a time (jackknife).
Raters that always agreed show no spread. How often they may disagree elsewhere has then an exact bound, and the
interval reaches down to that disagreement, as large as it can be, over the one that chance would bring.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proctor.study.stats.arrays import ArrayLike, Floats, floats
from proctor.study.stats.confidence_limits import normal_quantile, t_quantile
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined

COHEN = "cohen-kappa"
FLEISS = "fleiss-kappa"
METRICS = ("nominal", "ordinal", "interval")


def cohen(table: ArrayLike, level: float = LEVEL) -> Estimate:
    """Kappa from a square table that counts how often the first rater said the row and the second the column."""
    seen = np.asarray(table, dtype=np.float64)
    n = float(seen.sum())
    if not n:
        return undefined("nothing-rated-twice", level=level, method=COHEN)
    shares = seen / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    if 1 - chance < 1e-12:
        return undefined("one-category", level=level, method=COHEN, n=n, clusters=n)
    kappa = (observed - chance) / (1 - chance)
    diagonal = np.diag(shares) * (1 - (rows + columns) * (1 - kappa)) ** 2
    elsewhere = shares * (columns[:, None] + rows[None, :]) ** 2
    beside = (1 - kappa) ** 2 * (elsewhere.sum() - np.trace(elsewhere))
    spread = float(diagonal.sum() + beside) - (kappa - chance * (1 - kappa)) ** 2
    half = -normal_quantile((1 - level) / 2) * math.sqrt(max(0.0, spread) / n) / (1 - chance)
    low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
    if 1 - observed < 1e-12:
        low = _unbroken(n, 1 - chance, level)
    return defined(kappa, low, high, level=level, method=COHEN, n=n, clusters=n)


def fleiss(table: ArrayLike, level: float = LEVEL) -> Estimate:
    """Kappa from a table with a line for each unit that counts its verdicts; every unit has as many."""
    seen = np.asarray(table, dtype=np.float64)
    raters = seen.sum(axis=1)
    if len(seen) and (raters.min() != raters.max() or raters[0] < 2):
        raise ValueError("every unit needs the same number of verdicts, two at least")

    def kappa(rows: Floats) -> float:
        total = rows.sum(axis=1)[0]
        agreed = float(((rows**2).sum(axis=1) - total).mean()) / (total * (total - 1))
        chance = float(((rows.sum(axis=0) / rows.sum()) ** 2).sum())
        return math.nan if 1 - chance < 1e-12 else (agreed - chance) / (1 - chance)

    shares = seen.sum(axis=0) / max(1.0, float(seen.sum()))
    return _jackknife(seen, kappa, FLEISS, level, 1 - float((shares**2).sum()))


def krippendorff(ratings: ArrayLike, metric: str = "nominal", level: float = LEVEL) -> Estimate:
    """Alpha from a table with a line for each unit and a column for each rater; nan where a rater gave no verdict."""
    if metric not in METRICS:
        raise ValueError(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
    table = np.asarray(ratings, dtype=np.float64)
    table = table[np.count_nonzero(~np.isnan(table), axis=1) > 1]
    values = np.unique(table[~np.isnan(table)])
    seen = np.stack([np.count_nonzero(table == value, axis=1) for value in values], axis=1) if len(values) else table
    rows = seen.astype(np.float64)
    return _jackknife(
        rows,
        lambda rows: _alpha(rows, values, metric),
        f"krippendorff-alpha-{metric}",
        level,
        _by_chance(rows, values, metric) if len(values) else 0.0,
    )


def _alpha(rows: Floats, values: Floats, metric: str) -> float:
    """Alpha of units that count their verdicts: one minus observed over expected disagreement."""
    size = rows.sum(axis=1)
    totals, distance = rows.sum(axis=0), _distances(rows, values, metric)
    pairs = (rows / (size - 1)[:, None]).T @ rows - np.diag((rows / (size - 1)[:, None]).sum(axis=0))
    expected = float(totals @ distance @ totals)
    if expected <= 0:
        return math.nan
    return 1 - (float(totals.sum()) - 1) * float((pairs * distance).sum()) / expected


def _distances(rows: Floats, values: Floats, metric: str) -> Floats:
    """How far apart any two verdicts are."""
    if metric == "nominal":
        return floats(1.0 - np.eye(len(values)))
    if metric == "ordinal":
        # Between two ranks are all verdicts in between, and half of those at either end.
        totals = rows.sum(axis=0)
        values = np.cumsum(totals) - totals / 2
    return floats((values[:, None] - values[None, :]) ** 2)


def _by_chance(rows: Floats, values: Floats, metric: str) -> float:
    """The disagreement that chance would bring, as a share of the largest that two verdicts can have."""
    totals, distance = rows.sum(axis=0), _distances(rows, values, metric)
    n, largest = float(totals.sum()), float(distance.max())
    return float(totals @ distance @ totals) / (n * (n - 1) * largest) if largest > 0 and n > 1 else 0.0


def _unbroken(units: float, by_chance: float, level: float) -> float:
    """How little raters may agree who agreed on all ``units``: as often as that can happen, they differ by the most."""
    differ = 1 - ((1 - level) / 2) ** (1 / units)
    return max(-1.0, 1 - differ / by_chance) if by_chance > 0 else -1.0


def _jackknife(
    rows: Floats, statistic: Callable[[Floats], float], method: str, level: float, by_chance: float
) -> Estimate:
    units = len(rows)
    n = int(rows.sum()) if units else 0
    if units < 2:
        why = "fewer-than-two-units"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    value = statistic(rows)
    if math.isnan(value):
        why = "one-category"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    if 1 - value < 1e-12:
        low = _unbroken(units, by_chance, level)
        return defined(value, low, value, level=level, method=method, n=n, clusters=units)
    without = np.array([statistic(np.delete(rows, unit, axis=0)) for unit in range(units)])
    if np.isnan(without).any():
        why = "one-category-without-a-unit"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    error = math.sqrt((units - 1) / units * float(((without - without.mean()) ** 2).sum()))
    half = t_quantile((1 + level) / 2, units - 1) * error
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return defined(value, low, high, level=level, method=method, n=n, clusters=units)
