"""Arrays on their way in: the types, and turning what a caller has into checked columns of numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


def floats(values: ArrayLike) -> Floats:
    """``values`` as one row of numbers."""
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def inner(first: Floats, second: Floats) -> float:
    """The sum of products, added up in one order whatever the machine; ``@`` splits long rows over processors."""
    return float((first * second).sum())


def counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    """Successes and trials of each task; tasks that were never tried are left out.

    A success may be a fraction (a share of a task), but no task has more successes than trials.
    """
    x, n = floats(successes), floats(trials)
    if x.ndim != 1 or x.shape != n.shape:
        raise ValueError(f"successes {x.shape} and trials {n.shape} do not belong together")
    tried = n > 0
    x, n = x[tried], n[tried]
    if not np.all((x >= 0) & (x <= n) & np.isfinite(n)):
        raise ValueError("a task has fewer than no or more than all successes")
    return x, n


def by_task(tasks: ArrayLike, outcomes: ArrayLike, size: int = 0) -> tuple[Floats, Floats]:
    """Successes and trials of each task from one line for each run; unknown outcomes (nan) and tasks (-1) are left out.

    There is a place for every task code below ``size``, so that the columns of several agents line up.
    """
    codes, values = np.asarray(tasks), floats(outcomes)
    known = ~np.isnan(values) & (codes >= 0)
    codes, values = codes[known], values[known]
    return floats(np.bincount(codes, values, size)), floats(np.bincount(codes, minlength=size))
