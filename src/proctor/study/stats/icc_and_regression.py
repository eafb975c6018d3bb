"""Models for runs that are clustered in tasks: intraclass correlation, and least squares with cluster-robust errors.

In the beta-binomial model every task has a success rate of its own, drawn from a beta distribution with parameters a
and b; two runs of one task then correlate by 1 / (a + b + 1). The errors of the regression are those of Liang and
Zeger (1986).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, gammaln, psi

from proctor.study.stats.arrays import ArrayLike, counts, floats, inner

LARGEST = 1e6
"""Where a and b end: tasks that are this much alike do not differ at all."""


@dataclass(frozen=True)
class BetaBinomial:
    """The fit; without numbers when ``undefined`` says why."""

    a: float | None
    b: float | None
    mean: float | None
    icc: float | None
    log_likelihood: float | None
    n: int
    clusters: int
    undefined: str | None = None


def icc_anova(successes: ArrayLike, trials: ArrayLike) -> float | None:
    """The correlation within tasks by analysis of variance; ``None`` if no task has two runs or nothing varies.

    It may be below 0, where tasks differ less than chance alone would make them.
    """
    x, n = counts(successes, trials)
    tasks, runs = len(n), float(n.sum())
    if tasks < 2 or runs <= tasks:
        return None
    mean = float(x.sum()) / runs
    rates = x / n
    between = inner(n, (rates - mean) ** 2) / (tasks - 1)
    within = float((x * (1 - rates)).sum()) / (runs - tasks)
    typical = (runs - inner(n, n) / runs) / (tasks - 1)
    scale = between + (typical - 1) * within
    return None if scale <= 0 else (between - within) / scale


def fit_beta_binomial(successes: ArrayLike, trials: ArrayLike, repeats: ArrayLike | None = None) -> BetaBinomial:
    """The most likely a and b; ``repeats`` says how many tasks have each line's counts, one if left out."""
    times = np.ones(len(floats(trials))) if repeats is None else floats(repeats)
    times = times[floats(trials) > 0]
    x, n = counts(successes, trials)
    tasks, runs, total = int(times.sum()), int(inner(times, n)), inner(times, x)
    why = _why_not(tasks, runs, total)
    if why:
        return BetaBinomial(None, None, None, None, None, runs, tasks, why)
    # Tasks with equal counts are one term, so that a million tasks cost what a hundred do.
    pairs, place = np.unique(np.column_stack((x, n)), axis=0, return_inverse=True)
    times, x, n = floats(np.bincount(place.ravel(), times)), pairs[:, 0], pairs[:, 1]
    ways = float(times @ (gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)))

    def loss(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, list[float]]:
        a, b = np.exp(logs)
        value = times @ (betaln(x + a, n - x + b) - betaln(a, b))
        shared = psi(a + b) - psi(n + a + b)
        slopes = (times @ (psi(x + a) - psi(a) + shared) * a, times @ (psi(n - x + b) - psi(b) + shared) * b)
        return -float(value) / tasks, [-float(slope) / tasks for slope in slopes]

    mean = total / runs
    start = [math.log(10 * mean), math.log(10 * (1 - mean))]
    ends = [(math.log(1e-4), math.log(LARGEST))] * 2
    done = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=ends, options={"ftol": 1e-15, "gtol": 1e-10})
    a, b = (float(value) for value in np.exp(done.x))
    icc = 0.0 if max(a, b) > LARGEST / 2 else 1 / (a + b + 1)
    return BetaBinomial(a, b, a / (a + b), icc, ways - float(done.fun) * tasks, runs, tasks)


def _why_not(tasks: int, runs: int, total: float) -> str:
    if tasks < 2:
        return "fewer-than-two-tasks"
    if runs <= tasks:
        return "no-task-with-two-runs"
    return "all-runs-alike" if total in (0, runs) else ""


@dataclass(frozen=True)
class Fit:
    """Coefficients in the order of the columns, with both kinds of standard error."""

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    clustered_errors: tuple[float, ...]
    n: int
    clusters: int
    method: str = "least squares, errors by cluster"


def ols(columns: ArrayLike, outcome: ArrayLike, clusters: ArrayLike) -> Fit:
    """Fit ``outcome`` by ``columns`` (one line for each run; a constant is a column of ones)."""
    x, y = np.asarray(columns, dtype=np.float64), floats(outcome)
    _, place = np.unique(np.asarray(clusters), return_inverse=True)
    size, width = x.shape
    groups = int(place.max()) + 1
    if size <= width or groups < 2:
        raise ValueError(f"{size} runs of {groups} clusters cannot carry {width} coefficients")
    if np.linalg.matrix_rank(x) < width:
        raise ValueError("the columns depend on each other")
    bread = np.linalg.inv(x.T @ x)
    beta = bread @ (x.T @ y)
    left = y - x @ beta
    plain = bread * float(left @ left) / (size - width)
    scores = np.column_stack([np.bincount(place, left * x[:, column]) for column in range(width)])
    factor = groups / (groups - 1) * (size - 1) / (size - width)
    robust = factor * bread @ (scores.T @ scores) @ bread
    errors, clustered = np.sqrt(np.diag(plain)), np.sqrt(np.diag(robust))
    return Fit(tuple(beta.tolist()), tuple(errors.tolist()), tuple(clustered.tolist()), size, groups)
