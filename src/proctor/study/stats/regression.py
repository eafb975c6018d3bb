"""Least squares with an error that knows about clusters: Liang and Zeger's (1986), with factors for small samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.study.stats.arrays import ArrayLike, floats


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
