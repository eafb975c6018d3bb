"""Drawing tasks again: the textbook example, ratios, and what has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from proctor.study.statements import statement
from proctor.study.stats.bootstrap import acceleration, bca

if TYPE_CHECKING:
    from proctor.study.stats.arrays import Floats

SPATIAL = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]
"""Spatial test A of 26 children: Efron and Tibshirani, "An introduction to the bootstrap" (1993), table 14.1."""


def variance(samples: Floats) -> Floats:
    found: Floats = samples.var(axis=1)
    return found


def price(samples: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = samples[:, :, 0].sum(axis=1) / samples[:, :, 1].sum(axis=1)
    return found


def test_efron_and_tibshirani() -> None:
    # Table 14.2: 171.5, acceleration .061, BCa 90% interval (115.8, 259.6). The ends come from 2,000 draws of theirs.
    found = bca(SPATIAL, variance, np.random.default_rng(1), level=0.9, draws=100_000)
    assert found.value is not None and round(found.value, 1) == 171.5
    assert round(acceleration(SPATIAL, variance), 3) == 0.061
    several = [bca(SPATIAL, variance, np.random.default_rng(seed), level=0.9, draws=2_000) for seed in range(40)]
    ends = np.array([(each.low, each.high) for each in several], dtype=float)
    assert (np.abs(ends.mean(axis=0) - [115.8, 259.6]) < ends.std(axis=0)).all()
    assert (found.low, found.high) == pytest.approx((115.8, 259.6), abs=1.5)


def test_it_is_near_that_of_scipy() -> None:
    from scipy.stats import bootstrap

    data = np.random.default_rng(2).gamma(2, 3, 40)
    theirs = bootstrap((data,), np.mean, n_resamples=20_000, method="BCa", random_state=np.random.default_rng(3))
    ours = bca(data, lambda samples: samples.mean(axis=1), np.random.default_rng(4), draws=20_000)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.05)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.05)


def test_the_price_of_a_success_is_a_ratio_over_tasks() -> None:
    tasks = np.array([[2.0, 1], [3, 3], [1, 0], [4, 4], [2, 2], [5, 1]])
    found = bca(tasks, price, np.random.default_rng(5))
    assert found.value == pytest.approx(17 / 11)
    assert found.low is not None and found.high is not None and found.low < 17 / 11 < found.high
    assert found == bca(tasks, price, np.random.default_rng(5))


def test_what_has_no_value_is_undefined() -> None:
    assert bca([1.0], variance, np.random.default_rng(1)).undefined == statement("fewer-than-two-tasks")
    never = bca(np.array([[2.0, 0], [3, 0]]), price, np.random.default_rng(1))
    assert never.undefined == statement("not-a-number")
    rarely = bca(np.array([[2.0, 0], [3, 0], [1, 1]]), price, np.random.default_rng(1))
    assert rarely.undefined is not None and rarely.undefined.code == "undefined-in-draws"


def test_data_without_spread_has_an_interval_without_width() -> None:
    found = bca([3.0, 3.0, 3.0], lambda samples: samples.mean(axis=1), np.random.default_rng(1))
    assert (found.value, found.low, found.high) == (3, 3, 3)
