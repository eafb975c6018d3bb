"""Time and cost that a cap cut short: how long runs would go on, without pretending that they ended.

The curve is Kaplan and Meier's (1958) with a band on the log-log scale. The restricted mean is the area below it up to
a horizon. Errors take runs as independent (Greenwood's, for the curve), or, with ``clusters``, add up what each task's
runs contribute before squaring. The log-rank test takes runs as independent, and no report uses it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from proctor.study.stats.arrays import ArrayLike, Floats, floats, inner
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined
from proctor.study.stats.limits import korn_graubard, normal_quantile, t_quantile, unanimous
from proctor.study.stats.survival_tasks import curve_errors, mean_error

RESTRICTED = "restricted mean below Kaplan-Meier"
TINY = 1e-9
"""An error below this share of the horizon is that of rounding."""


@dataclass(frozen=True)
class Curve:
    """The steps of a survival curve, one for each time at which something ended; each holds for itself."""

    times: Floats
    survival: Floats
    error: Floats
    low: Floats
    high: Floats
    at_risk: Floats
    ended: Floats
    n: int
    events: int
    censored: int
    last: float
    level: float
    clusters: int

    @property
    def median(self) -> float | None:
        """The first time by which half have ended; ``None`` if fewer did."""
        reached = self._reached()
        return float(self.times[reached[0]]) if len(reached) else None

    def _reached(self) -> NDArray[np.intp]:
        """The steps at which at least half have ended."""
        return np.flatnonzero(self.survival <= 0.5 + 1e-12)

    def steps(self, most: int = 200) -> list[list[float]]:
        """Some of the steps as [time, survival, low, high], spread evenly: at most ``most``, plus that of the median.

        The first and the last are included.
        """
        if not len(self.times):
            return []
        spread = np.linspace(0, len(self.times) - 1, min(most, len(self.times))).round().astype(int)
        picked = np.unique(np.append(spread, self._reached()[:1]))
        rows = np.column_stack((self.times, self.survival, self.low, self.high))[picked]
        found: list[list[float]] = rows.tolist()
        return found


@dataclass(frozen=True)
class LogRank:
    """Whether groups end at the same pace: chi-squared over ``freedom`` degrees."""

    chi2: float | None
    freedom: int
    p: float | None
    undefined: str | None = None


def kaplan_meier(times: ArrayLike, events: ArrayLike, level: float = LEVEL, clusters: ArrayLike | None = None) -> Curve:
    """The curve of ``times`` at which something ended (event 1) or was cut (event 0); nan times are left out.

    With ``clusters`` (a code for each run) the band is that of tasks: never narrower than that of independent runs, and
    as wide as can be where there is one task only.
    """
    when, ended = _known(times, events)
    stamps, dead, risk = _table(when, ended)
    quantile, tasks = floats(-normal_quantile((1 - level) / 2)), len(when)
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = floats(np.cumprod(1 - dead / risk))
        hazard = np.sqrt(floats(np.cumsum(dead / (risk * (risk - dead)))))
        if clusters is not None:
            codes = np.asarray(clusters)[~np.isnan(floats(times))]
            shared, freedom, tasks = curve_errors(when, ended, codes, stamps, dead, risk)
            hazard, quantile = np.maximum(hazard, shared), _quantiles((1 + level) / 2, freedom)
        stretch = np.exp(quantile * hazard / np.log(survival))
        low, high = survival ** (1 / stretch), survival**stretch
        error = survival * hazard
    if clusters is not None and tasks < 2:
        low, high = np.zeros(len(stamps)), np.ones(len(stamps))
    over = survival <= 0
    if over.any():
        # Where nobody is left the band has no formula: its upper end stays where it was.
        low[over], error[over] = 0.0, 0.0
        high[over] = high[~over][-1] if (~over).any() else 1.0
    count, gone = len(when), int(ended.sum())
    last = float(when.max()) if count else math.nan
    return Curve(stamps, survival, error, low, high, risk, dead, count, gone, count - gone, last, level, tasks)


def restricted_mean(
    times: ArrayLike,
    events: ArrayLike,
    horizon: float,
    level: float = LEVEL,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """The mean of time up to ``horizon``, by its normal interval if runs are independent.

    With ``clusters`` (a code for each run) its error is that of tasks, and the interval that of a share of the horizon,
    between 0 and 1 as a rate is; where all tasks are alike, the exact bound of such a share.
    """
    when, ended = _known(times, events)
    method = RESTRICTED + ("" if clusters is None else ", tasks as clusters")
    count = len(when)
    if not count:
        return undefined("there is no run", level=level, method=method)
    stamps, dead, risk = _table(when, ended)
    survival = floats(np.cumprod(1 - dead / risk))
    if horizon > float(when.max()) and (not len(survival) or survival[-1] > 0):
        why = f"no run was watched until {horizon:g}, the longest until {float(when.max()):g}"
        return undefined(why, level=level, method=method, n=count, clusters=count)
    inside = stamps <= horizon
    stamps, dead, risk, survival = stamps[inside], dead[inside], risk[inside], survival[inside]
    pieces = np.concatenate(([1.0], survival)) * np.diff(np.concatenate(([0.0], stamps, [horizon])))
    value = float(pieces.sum())
    ahead = np.cumsum(pieces[::-1])[::-1][1:]
    if clusters is None:
        # Where all who are left end together nothing lies ahead, and the term is 0.
        left = np.where(risk > dead, risk * (risk - dead), 1.0)
        half = normal_quantile((1 + level) / 2) * math.sqrt(inner(ahead**2, dead / left))
        low, high = max(0.0, value - half), min(horizon, value + half)
        return defined(value, low, high, level=level, method=method, n=count, clusters=count)
    codes = np.asarray(clusters)[~np.isnan(floats(times))]
    error, freedom, tasks = mean_error(when, ended, codes, stamps, ahead, dead, risk)
    if tasks < 2:
        return undefined("there is one task only", level=level, method=method, n=count, clusters=tasks)
    low, high = _share_limits(value, error, horizon, freedom, tasks, level)
    return defined(value, low, high, level=level, method=method, n=count, clusters=tasks)


def log_rank(times: ArrayLike, events: ArrayLike, groups: ArrayLike) -> LogRank:
    """Compare groups 0, 1, ... of runs that are independent."""
    present = ~np.isnan(floats(times))
    code = np.asarray(groups)[present]
    when, ended = _known(times, events)
    count = int(code.max(initial=-1)) + 1
    stamps, dead, risk = _table(when, ended)
    if count < 2 or not len(stamps):
        why = "nothing ended" if count > 1 else "there is one group only"
        return LogRank(None, max(0, count - 1), None, f"because {why}")
    share, excess = np.empty((count, len(stamps))), np.empty(count)
    for group in range(count):
        own = np.sort(when[code == group])
        share[group] = (len(own) - np.searchsorted(own, stamps)) / risk
        excess[group] = ended[code == group].sum() - inner(share[group], dead)
    weight = dead * (risk - dead) / np.maximum(risk - 1, 1)
    covariance = np.diag(share @ weight) - (share * weight) @ share.T
    chi2 = float(excess[1:] @ np.linalg.pinv(covariance[1:, 1:]) @ excess[1:])
    return LogRank(chi2, count - 1, float(chdtrc(count - 1, chi2)))


def _known(times: ArrayLike, events: ArrayLike) -> tuple[Floats, Floats]:
    when, ended = floats(times), floats(events)
    present = ~np.isnan(when)
    if np.any(when[present] < 0):
        raise ValueError("a time is below 0")
    return when[present], ended[present]


def _table(when: Floats, ended: Floats) -> tuple[Floats, Floats, Floats]:
    """The times at which something ended, how many did, and how many were still going."""
    stamps, place = np.unique(when, return_inverse=True)
    dead = np.bincount(place, ended, len(stamps))
    leaving = np.bincount(place, minlength=len(stamps))
    risk = len(when) - np.cumsum(leaving) + leaving
    some = dead > 0
    return stamps[some], floats(dead[some]), floats(risk[some])


def _share_limits(
    value: float, error: float, horizon: float, freedom: float, tasks: int, level: float
) -> tuple[float, float]:
    """The ends of a mean that lies between 0 and ``horizon``, from those of its share of the horizon."""
    if horizon <= 0:
        return 0.0, 0.0
    share = min(1.0, max(0.0, value / horizon))
    if error <= TINY * horizon or not 0 < share < 1:
        low, high = unanimous(share, tasks, level)
    else:
        low, high = korn_graubard(share, error / horizon, math.inf, freedom, level)
    return low * horizon, high * horizon


def _quantiles(probability: float, freedom: Floats) -> Floats:
    """Quantiles of Student's t, each looked up once: degrees of freedom are rounded down to hundredths."""
    steps, place = np.unique(np.floor(freedom * 100), return_inverse=True)
    return floats([t_quantile(probability, step / 100) for step in steps.tolist()])[place]
