"""Strata and weights: by hand, against the plain rate, and where strata are thin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proctor.study.statements import statement
from proctor.study.stats.clustered_rates import (
    cluster_rate,
    degrees_of_freedom,
    rate_by_stratum,
    stratified_rate,
    weighted_rate,
)
from proctor.study.stats.confidence_limits import korn_graubard, unanimous

X = np.array([5, 4, 3, 5, 1, 0, 2, 1], dtype=float)
N = np.full(8, 5.0)
STRATA = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def test_two_strata_by_hand() -> None:
    # Rates 17/20 and 4/20. Task means 1 .8 .6 1 and .2 0 .4 .2; variance of each mean: s^2 / 4 (s^2 = .11/3, .08/3).
    found = stratified_rate(X, N, STRATA, [0.25, 0.75])
    value = 0.25 * 17 / 20 + 0.75 * 4 / 20
    variance = 0.25**2 * (0.11 / 3) / 4 + 0.75**2 * (0.08 / 3) / 4
    off = np.array([0.15, -0.05, -0.25, 0.15, 0, -0.6, 0.6, 0])
    freedom = 2 * 8 / (8 * float((off**4).sum()) / float((off**2).sum()) ** 2 - 1)
    least = 1 / (4 * (0.25 / 4) ** 2 + 4 * (0.75 / 4) ** 2)
    most = 1 / (0.25**2 / 20 + 0.75**2 / 20)
    low, high = korn_graubard(value, math.sqrt(variance), 40, min(6, freedom), 0.95, least=least, most=most)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))
    assert (found.n, found.clusters) == (40, 8)


def test_a_stratum_that_counts_for_nearly_all_is_known_by_its_own_runs() -> None:
    # Two tasks of five runs are 99% of what is meant; a hundred others say nothing about them.
    found = stratified_rate([5, 5, *[2, 3] * 50], [5] * 102, [0, 0, *[1] * 100], [0.99, 0.01])
    assert found.low is not None and found.low < 0.72, "ten runs that all succeed leave 69% to 100%"


def test_shares_left_out_are_those_of_the_runs() -> None:
    found, plain = stratified_rate(X, N, STRATA), cluster_rate(X, N)
    assert found.value == pytest.approx(plain.value)
    # Strata that differ take their difference out of the error.
    assert found.low is not None and found.high is not None and plain.low is not None and plain.high is not None
    assert found.high - found.low < plain.high - plain.low


def test_one_stratum_is_no_stratum() -> None:
    found, plain = stratified_rate(X, N, np.zeros(8, dtype=int)), cluster_rate(X, N)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_tasks_that_each_are_a_stratum_are_collapsed() -> None:
    found, plain = stratified_rate(X, N, np.arange(8)), cluster_rate(X, N)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_a_single_lonely_task_adds_its_distance_from_the_others() -> None:
    strata = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    found = stratified_rate(X, N, strata)
    rates = X / 5
    value = float(rates.mean())
    own = rates[:7]
    variance = (7 / 8) ** 2 * float(own.var(ddof=1)) / 7 + (1 / 8) ** 2 * (rates[7] - own.mean()) ** 2
    low, high = korn_graubard(value, math.sqrt(variance), 40, 6, 0.95, least=8, most=40)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


def test_a_lonely_task_that_counts_for_nearly_everything_tells_hardly_anything() -> None:
    found = stratified_rate([18, *[10] * 5, *[12] * 5], [20] * 11, [0, *[1] * 10], [0.95, 0.05])
    assert found.low is not None and found.high is not None
    assert (found.low < 0.1, found.high > 0.99) == (True, True)
    assert stratified_rate([18, 10], [20] * 2, [0, 1], [1.0, 1e-17]).value == pytest.approx(0.9)


def test_strata_without_spread_use_their_exact_bounds() -> None:
    found = stratified_rate([5, 5, 0, 0], [5] * 4, [0, 0, 1, 1], [0.5, 0.5])
    low, _ = unanimous(1.0, 2, 0.975)
    assert found.value == 0.5
    assert found.low == pytest.approx(low / 2)
    assert found.high == pytest.approx(1 - low / 2)
    alike = stratified_rate([5, 5, 5, 5], [5] * 4, [0, 0, 1, 1])
    assert (alike.value, alike.low, alike.high) == pytest.approx((1.0, 0.025**0.25, 1.0))


def test_a_stratum_that_counts_needs_runs() -> None:
    found = stratified_rate(X, N, STRATA, [0.2, 0.5, 0.3])
    assert found.undefined == statement("empty-strata", empty=1, strata=3)
    assert stratified_rate(X, N, STRATA, [0.5, 0.5, 0.0]).value == pytest.approx(0.525)
    assert stratified_rate([], [], []).undefined == statement("no-run")
    assert stratified_rate([1], [2], [0]).undefined == statement("one-task", rate=None, runs=2)


def test_tasks_that_do_not_count_are_left_out() -> None:
    plain = stratified_rate(X, N, STRATA, [0.4, 0.6])
    more = stratified_rate([*X, 5, 1, 0], [*N, 5, 5, 0], [*STRATA, 2, 2, 0], [0.4, 0.6, 0.0])
    assert more == plain
    weighted = weighted_rate([*X, 3, 0], [*N, 5, 0], [*np.ones(8), 0.0, 2.0])
    assert weighted == weighted_rate(X, N, np.ones(8))


def test_a_stratum_without_a_share_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 0, not 0 to 1"):
        stratified_rate(X, N, STRATA, [1.0])
    with pytest.raises(ValueError, match="not -1 to 1"):
        stratified_rate(X, N, [-1, *STRATA[1:]])


def test_rates_within_strata_are_those_of_their_tasks() -> None:
    found = rate_by_stratum(X, N, [1, 1, 1, 1, 0, 0, 0, 0], 3)
    assert found[1] == cluster_rate(X[:4], N[:4])
    assert found[0] == cluster_rate(X[4:], N[4:])
    assert found[2].undefined == statement("no-run")


def test_equal_weights_are_no_weights() -> None:
    found, plain = weighted_rate(X, N, np.full(8, 3.0)), cluster_rate(X, N)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_weights_by_hand_and_their_scale() -> None:
    weights = np.array([1, 2, 3, 4, 1, 2, 3, 4], dtype=float)
    value = float(weights @ X / (weights @ N))
    off = weights * (X - value * N) / (1 - weights * N / float(weights @ N))
    error = math.sqrt(7 / 8 * float(off @ off)) / float(weights @ N)
    least = float(weights.sum() ** 2 / (weights @ weights))
    low, high = korn_graubard(value, error, 40, degrees_of_freedom(off, 7), 0.95, least=least, most=40)
    for scale in (1.0, 250.0):
        found = weighted_rate(X, N, weights * scale)
        assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


def test_weights_that_leave_one_task_or_are_negative() -> None:
    assert weighted_rate(X, N, [1] + [0] * 7).undefined == statement("one-weighted-task")
    assert weighted_rate([5, 5], [5, 5], [1, 3]).low == pytest.approx(0.025 ** (10 / 16))
    with pytest.raises(ValueError, match="below 0"):
        weighted_rate(X, N, [-1] + [1] * 7)
