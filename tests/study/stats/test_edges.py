"""Where there is next to nothing to estimate from: no number is made up, and none is surer than the data are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp
from statsmodels.stats.weightstats import DescrStatsW  # type: ignore[import-untyped]

from proctor.study.statements import statement
from proctor.study.stats.clustered_rates import all_of_k, cluster_rate, pass_at_k, stratified_rate, weighted_rate
from proctor.study.stats.missing_outcomes import imputed_rate, manski, rubin
from proctor.study.stats.paired_comparison import paired_difference
from proctor.study.stats.unseen_failure_modes import discover, marginal_cost


def rng() -> np.random.Generator:
    return np.random.default_rng(20260307)


@pytest.mark.parametrize("tasks", [2, 5, 40])
@pytest.mark.parametrize("outcome", [0, 1])
def test_all_alike_is_as_sure_as_so_many_tasks(tasks: int, outcome: int) -> None:
    found = cluster_rate([3 * outcome] * tasks, [3] * tasks)
    exact = binomtest(outcome * tasks, tasks).proportion_ci(0.95, "exact")
    assert (found.value, found.low, found.high) == pytest.approx((outcome, exact.low, exact.high))


def test_one_run_of_each_task_is_no_surer_than_independent_runs() -> None:
    for successes in range(1, 12):
        found = cluster_rate([1] * successes + [0] * (12 - successes), [1] * 12)
        exact = binomtest(successes, 12).proportion_ci(0.95, "exact")
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_shares_of_strata_that_are_none() -> None:
    successes, trials, strata = [1, 2, 3, 4], [5] * 4, [0, 0, 1, 1]
    for shares in ([-1.0, 2.0], [math.nan, 1.0], [math.inf, 1.0]):
        with pytest.raises(ValueError, match="share of a stratum"):
            stratified_rate(successes, trials, strata, shares)
    assert stratified_rate(successes, trials, strata, [0, 0]).undefined == statement("no-stratum-counts")
    alone = stratified_rate(successes, trials, strata, [1, 0])
    assert alone.value == pytest.approx(0.3)
    assert alone.clusters == 2, "a stratum without a share is not counted"


def test_weights_that_are_none() -> None:
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="weight of a task"):
            weighted_rate([1, 2], [5, 5], [weight, 1.0])


def test_unequal_weights_of_single_runs_are_those_of_statsmodels() -> None:
    x, weights = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1]), np.array([1.0, 2, 3, 1, 1, 5, 2, 1, 4])
    assert weighted_rate(x, np.ones(9), weights).value == pytest.approx(DescrStatsW(x, weights).mean)


def test_a_task_that_outweighs_all_others_is_hardly_more_than_one() -> None:
    # However many runs it has, they say what this one task is like, and little of others.
    one = binomtest(1, 1).proportion_ci(0.95, "exact")
    found = weighted_rate([5, 20, 30], [5, 50, 50], [1e9, 1, 1])
    assert found.low is not None and found.low == pytest.approx(one.low, abs=1e-3)
    assert (found.n, found.clusters) == (105, 3)
    found = cluster_rate([100_000, 1, 3, 2, 0, 5], [100_000, 5, 5, 5, 5, 5])
    assert found.low is not None and found.low == pytest.approx(one.low, abs=1e-3)


def test_all_of_k_leaves_out_tasks_with_missing_runs() -> None:
    found, three = all_of_k([3, 2, 0, 2], [3, 3, 3, 2], 3), pass_at_k([3, 2, 0, 2], [3, 3, 3, 2], 3)
    assert found.value == pytest.approx(1 / 3)
    assert (found.clusters, found.n) == (3, 9)
    assert three.value == pytest.approx(2 / 3)
    assert all_of_k([2, 2], [2, 2], 3).undefined == statement("no-task-with-runs", runs=3)
    assert all_of_k([2, 3], [2, 3], 3).undefined == statement("one-task-with-runs", runs=3)


def test_nothing_known_bounds_nothing() -> None:
    found = manski(0, 7, 7)
    assert (found.low, found.high) == (0, 1)
    assert imputed_rate([0, 0], [0, 0], [3, 4], rng()).undefined == statement("no-outcome")
    for odds in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="above 0"):
            imputed_rate([1, 2], [3, 3], [1, 1], rng(), odds=odds)


def test_imputations_that_differ_add_to_the_variance() -> None:
    # Rubin (1987): total = within + (1 + 1/m) between; Barnard and Rubin (1999) for the degrees of freedom, by hand.
    found = rubin([0.4, 0.5, 0.6], [0.01, 0.02, 0.03], 19)
    added = 4 / 3 * 0.01
    share = added / (0.02 + added)
    old, observed = 2 / share**2, 20 / 22 * 19 * (1 - share)
    assert (found.within, found.between, found.total) == pytest.approx((0.02, 0.01, 0.02 + added))
    assert found.freedom == pytest.approx(1 / (1 / old + 1 / observed))


def test_more_unknown_runs_make_an_imputed_rate_less_sure() -> None:
    widths = []
    for unknown in (0, 2, 8):
        found = imputed_rate([1, 2, 3, 0, 2, 3, 1, 2], [3] * 8, [unknown] * 4 + [0] * 4, rng())
        assert found.low is not None and found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] < widths[1] < widths[2]


def test_the_price_of_a_mode_without_a_mode_or_a_price() -> None:
    none = discover([], [], 10, 5.0)
    assert (none.found, none.marginal_cost.value) == (0, None)
    assert math.copysign(1, none.unseen or 0.0) == 1, "0 and not -0"
    assert marginal_cost(1, 10, math.nan).undefined == statement("no-cost-known")
    one = marginal_cost(1, 10, 5.0)
    # The exact Poisson interval of one event is 0.02532 to 5.57164 (Garwood 1936).
    assert (one.value, one.low, one.high) == pytest.approx((5, 5 / 5.571643, 5 / 0.0253178), rel=1e-5)


def test_two_tasks_are_a_t_test_with_one_degree_of_freedom() -> None:
    found = paired_difference([1.0, 0.4], [0.2, 0.1])
    theirs = ttest_1samp([0.8, 0.3], 0)
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.difference.low, found.difference.high) == (-1, 1), "a difference of rates is held within its bounds"


def test_tiny_differences_of_cost_are_differences() -> None:
    one, other = np.array([5e-10, 6e-10, 9e-10]), np.array([3e-10, 3e-10, 1e-10])
    found = paired_difference(one, other, bound=None)
    assert found.p == pytest.approx(ttest_1samp(one - other, 0).pvalue)
    alike = paired_difference([0.3, 0.1 + 0.2], [0.1, 0.1], bound=None)
    assert alike.difference.undefined is not None, "what differs by rounding alone is alike"
