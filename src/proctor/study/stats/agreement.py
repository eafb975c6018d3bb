"""How far raters agree beyond chance, with intervals: Cohen for two, Fleiss for many, Krippendorff for any.

Krippendorff's alpha knows verdicts without an order (nominal), with one (ordinal) and with distances (interval), and
takes gaps. What was rated is the unit: intervals of Fleiss and Krippendorff leave out one unit at a time (jackknife).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import normal_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from proctor.study.stats.arrays import ArrayLike, Floats

COHEN = "Cohen's kappa, Fleiss-Cohen-Everitt error"
FLEISS = "Fleiss' kappa, jackknife over units"
METRICS = ("nominal", "ordinal", "interval")


def cohen(table: ArrayLike, level: float = LEVEL) -> Estimate:
    """Kappa from a square table that counts how often the first rater said the row and the second the column."""
    import numpy as np

    seen = np.asarray(table, dtype=np.float64)
    n = float(seen.sum())
    if not n:
        return undefined("nothing was rated by both", level=level, method=COHEN)
    shares = seen / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    if 1 - chance < 1e-12:
        return undefined("both said the same one thing throughout", level=level, method=COHEN, n=n, clusters=n)
    kappa = (observed - chance) / (1 - chance)
    diagonal = np.diag(shares) * (1 - (rows + columns) * (1 - kappa)) ** 2
    elsewhere = shares * (columns[:, None] + rows[None, :]) ** 2
    beside = (1 - kappa) ** 2 * (elsewhere.sum() - np.trace(elsewhere))
    spread = float(diagonal.sum() + beside) - (kappa - chance * (1 - kappa)) ** 2
    half = -normal_quantile((1 - level) / 2) * math.sqrt(max(0.0, spread) / n) / (1 - chance)
    low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
    return defined(kappa, low, high, level=level, method=COHEN, n=n, clusters=n)


def fleiss(table: ArrayLike, level: float = LEVEL) -> Estimate:
    """Kappa from a table with a line for each unit that counts its verdicts; every unit has as many."""
    import numpy as np

    seen = np.asarray(table, dtype=np.float64)
    raters = seen.sum(axis=1)
    if len(seen) and (raters.min() != raters.max() or raters[0] < 2):
        raise ValueError("every unit needs the same number of verdicts, two at least")

    def kappa(rows: Floats) -> float:
        total = rows.sum(axis=1)[0]
        agreed = float(((rows**2).sum(axis=1) - total).mean()) / (total * (total - 1))
        chance = float(((rows.sum(axis=0) / rows.sum()) ** 2).sum())
        return math.nan if 1 - chance < 1e-12 else (agreed - chance) / (1 - chance)

    return _jackknife(seen, kappa, FLEISS, level)


def krippendorff(ratings: ArrayLike, metric: str = "nominal", level: float = LEVEL) -> Estimate:
    """Alpha from a table with a line for each unit and a column for each rater; nan where a rater was silent."""
    import numpy as np

    if metric not in METRICS:
        raise ValueError(f"there is no metric {metric!r}; there are {', '.join(METRICS)}")
    table = np.asarray(ratings, dtype=np.float64)
    table = table[np.count_nonzero(~np.isnan(table), axis=1) > 1]
    values = np.unique(table[~np.isnan(table)])
    seen = np.stack([np.count_nonzero(table == value, axis=1) for value in values], axis=1) if len(values) else table
    return _jackknife(
        seen.astype(np.float64),
        lambda rows: _alpha(rows, values, metric),
        f"Krippendorff's alpha ({metric}), jackknife over units",
        level,
    )


def _alpha(rows: Floats, values: Floats, metric: str) -> float:
    """Alpha of units that count their verdicts: one minus observed over expected disagreement."""
    import numpy as np

    size = rows.sum(axis=1)
    pairs = (rows / (size - 1)[:, None]).T @ rows - np.diag((rows / (size - 1)[:, None]).sum(axis=0))
    totals = rows.sum(axis=0)
    if metric == "nominal":
        distance = 1.0 - np.eye(len(values))
    elif metric == "interval":
        distance = (values[:, None] - values[None, :]) ** 2
    else:
        # Between two ranks lie all verdicts in between, and half of those at either end.
        middle = np.cumsum(totals) - totals / 2
        distance = (middle[:, None] - middle[None, :]) ** 2
    expected = float(totals @ distance @ totals)
    if expected <= 0:
        return math.nan
    return 1 - (float(totals.sum()) - 1) * float((pairs * distance).sum()) / expected


def _jackknife(rows: Floats, statistic: Callable[[Floats], float], method: str, level: float) -> Estimate:
    import numpy as np

    units = len(rows)
    n = int(rows.sum()) if units else 0
    if units < 2:
        why = "fewer than two units were rated twice"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    value = statistic(rows)
    if math.isnan(value):
        why = "everybody said the same one thing throughout"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    without = np.array([statistic(np.delete(rows, unit, axis=0)) for unit in range(units)])
    if np.isnan(without).any():
        why = "without one of the units everybody says the same one thing"
        return undefined(why, level=level, method=method, n=n, clusters=units)
    error = math.sqrt((units - 1) / units * float(((without - without.mean()) ** 2).sum()))
    half = t_quantile((1 + level) / 2, units - 1) * error
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return defined(value, low, high, level=level, method=method, n=n, clusters=units)
