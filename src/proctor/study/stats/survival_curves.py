"""Time and cost that a cap cut short: how long runs would continue, without treating them as ended.

The curve is Kaplan and Meier's (1958) with a band on the log-log scale. The restricted mean is the area below it up to
a horizon. Errors take runs as independent (Greenwood's, for the curve), or, with ``clusters``, add up what each task's
runs contribute before squaring. The log-rank test takes runs as independent, and no report uses it.

The error of a survival curve when runs are clustered in tasks: it comes from what the runs of each task contribute
together. A run's contribution is how the logarithm of the curve, or the area below it, moves with the run's weight
(infinitesimal jackknife). Contributions are summed by task before they are squared, and count for more where a task has
most of the runs and so dominates the curve, as if that task were left out. If every run is a task of its own, the
curve's error is Greenwood's except for the factor G / (G - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from proctor.study.statements import statement
from proctor.study.stats.arrays import ArrayLike, Floats, floats, inner
from proctor.study.stats.clustered_rates import degrees_of_freedom
from proctor.study.stats.confidence_limits import korn_graubard, normal_quantile, t_quantile, unanimous
from proctor.study.stats.estimate import LEVEL, Estimate, defined, undefined


def curve_errors(
    when: Floats, ended: Floats, codes: ArrayLike, stamps: Floats, dead: Floats, risk: Floats
) -> tuple[Floats, Floats, int]:
    """The error of the curve's logarithm at each stamp, its degrees of freedom there, and how many tasks there are.

    At a stamp a task has contributed C by runs that have ended, and H for each of its N runs that still go on, where
    H is the same for all. So sums over tasks of (C + H N) squared need sums of C C, C N and N N alone, and each of
    these changes only when a run ends: the whole curve costs one sorting, not tasks times stamps.
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
    # Where all remaining runs end together, no weight moves the curve away from 0.
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
    return error, degrees_of_freedom(sums, tasks - 1) if error > 0 else tasks - 1, tasks


def _pull(sizes: Floats) -> Floats:
    """By how much what a task contributes would be larger if the others were compared with it alone."""
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


RESTRICTED = "restricted-mean"
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
        # Where no run is left the band has no formula: its upper end stays the same.
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
    method = RESTRICTED + ("" if clusters is None else "-over-tasks")
    count = len(when)
    if not count:
        return undefined("no-run", level=level, method=method)
    stamps, dead, risk = _table(when, ended)
    survival = floats(np.cumprod(1 - dead / risk))
    if horizon > float(when.max()) and (not len(survival) or survival[-1] > 0):
        why = statement("not-observed-so-long", horizon=horizon, longest=float(when.max()))
        return undefined(why, level=level, method=method, n=count, clusters=count)
    inside = stamps <= horizon
    stamps, dead, risk, survival = stamps[inside], dead[inside], risk[inside], survival[inside]
    pieces = np.concatenate(([1.0], survival)) * np.diff(np.concatenate(([0.0], stamps, [horizon])))
    value = float(pieces.sum())
    ahead = np.cumsum(pieces[::-1])[::-1][1:]
    if clusters is None:
        # Where all remaining runs end together nothing follows, and the term is 0.
        left = np.where(risk > dead, risk * (risk - dead), 1.0)
        half = normal_quantile((1 + level) / 2) * math.sqrt(inner(ahead**2, dead / left))
        low, high = max(0.0, value - half), min(horizon, value + half)
        return defined(value, low, high, level=level, method=method, n=count, clusters=count)
    codes = np.asarray(clusters)[~np.isnan(floats(times))]
    error, freedom, tasks = mean_error(when, ended, codes, stamps, ahead, dead, risk)
    if tasks < 2:
        return undefined("fewer-than-two-tasks", level=level, method=method, n=count, clusters=tasks)
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
        return LogRank(None, max(0, count - 1), None, "nothing-ended" if count > 1 else "one-group")
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
    """The ends of a mean between 0 and ``horizon``, from those of its share of the horizon."""
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
