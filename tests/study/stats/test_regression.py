"""Least squares with clusters: Petersen's panel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.study.stats.icc_and_regression import ols


def test_petersens_panel() -> None:
    # Petersen, "Estimating standard errors in finance panel data sets" (2009), his published test data set:
    # 500 firms x 10 years; slope 1.0348, OLS error .0286, by firm .0506; constant by firm .0670.
    import statsmodels  # type: ignore[import-untyped]

    data = np.loadtxt(Path(statsmodels.__file__).parent / "stats" / "tests" / "test_data.txt")
    found = ols(np.column_stack((np.ones(len(data)), data[:, 2])), data[:, 3], data[:, 0])
    assert round(found.coefficients[1], 4) == 1.0348
    assert round(found.errors[1], 4) == 0.0286
    assert round(found.clustered_errors[1], 4) == 0.0506
    assert round(found.clustered_errors[0], 4) == 0.0670
    assert (found.n, found.clusters) == (5000, 500)


def test_what_cannot_be_fitted_is_refused() -> None:
    ones = np.ones((4, 1))
    with pytest.raises(ValueError, match="1 clusters"):
        ols(ones, [1, 2, 3, 4], [7, 7, 7, 7])
    with pytest.raises(ValueError, match="depend on each other"):
        ols(np.hstack((ones, ones)), [1, 2, 3, 4], [1, 1, 2, 2])
