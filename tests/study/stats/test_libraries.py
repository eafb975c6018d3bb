"""Our estimators against statsmodels and lifelines, on data that no publication prints."""

from __future__ import annotations

import numpy as np
import pytest
from lifelines import KaplanMeierFitter  # type: ignore[import-untyped]
from lifelines.statistics import multivariate_logrank_test  # type: ignore[import-untyped]
from lifelines.utils import restricted_mean_survival_time  # type: ignore[import-untyped]
from statsmodels.regression.linear_model import OLS  # type: ignore[import-untyped]
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]
from statsmodels.stats.power import TTestPower  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from proctor.study.stats.clustered_rates import spread
from proctor.study.stats.confidence_limits import clopper_pearson, wilson_limits
from proctor.study.stats.icc_and_regression import ols
from proctor.study.stats.multiple_comparisons import holm
from proctor.study.stats.paired_comparison import mcnemar
from proctor.study.stats.rater_agreement import cohen, fleiss
from proctor.study.stats.statistical_power import Design, paired_power, paired_variance
from proctor.study.stats.survival_curves import kaplan_meier, log_rank, restricted_mean


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_intervals_of_independent_runs() -> None:
    for successes, trials in ((0, 9), (4, 9), (9, 9), (17, 230)):
        exact = proportion_confint(successes, trials, 0.1, "beta")
        assert clopper_pearson(successes, trials, 0.9) == pytest.approx(exact, abs=1e-12)
        score = proportion_confint(successes, trials, 0.1, "wilson")
        assert wilson_limits(successes, trials, 0.9) == pytest.approx(score, abs=1e-12)


def test_the_clustered_error_of_a_mean_and_of_a_slope() -> None:
    draws = rng()
    groups = draws.integers(0, 12, 300)
    x, shared = draws.standard_normal(300), draws.standard_normal(12)
    y = 1 + 2 * x + shared[groups] + draws.standard_normal(300)
    columns = np.column_stack((np.ones(300), x))
    theirs = OLS(y, columns).fit(cov_type="cluster", cov_kwds={"groups": groups})
    ours = ols(columns, y, groups)
    assert ours.coefficients == pytest.approx(theirs.params)
    assert ours.clustered_errors == pytest.approx(theirs.bse)
    assert ours.errors == pytest.approx(OLS(y, columns).fit().bse)
    alone = OLS(y, np.ones(300)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    mean = spread(np.bincount(groups, y), np.bincount(groups), plain=True)
    assert mean is not None
    assert mean.error == pytest.approx(float(alone.bse[0]))


def test_tables_of_pairs() -> None:
    for only_a, only_b in ((150, 86), (3, 1), (7, 7), (0, 5)):
        table = [[1, only_a], [only_b, 1]]
        assert mcnemar(only_a, only_b).p_exact == pytest.approx(their_mcnemar(table, exact=True).pvalue)
        plain = their_mcnemar(table, exact=False, correction=False)
        assert mcnemar(only_a, only_b).p == pytest.approx(plain.pvalue)


def test_adjusted_p_values() -> None:
    p = rng().random(40) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_the_power_of_a_paired_t_test() -> None:
    for tasks in (5, 20, 80):
        design = Design(0.4, 0.3, 0.5, tasks, 3)
        size = 0.2 / paired_variance(design, 0.2) ** 0.5
        theirs = TTestPower().power(size, tasks, 0.05)
        assert paired_power(design, 0.2) == pytest.approx(theirs, abs=1e-6)


def test_agreement_of_raters() -> None:
    table = rng().integers(0, 9, (4, 4)) + np.diag([9, 7, 5, 3])
    theirs = inter_rater.cohens_kappa(table)
    ours = cohen(table)
    assert ours.value == pytest.approx(theirs.kappa)
    assert (ours.low, ours.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp))
    counts = rng().multinomial(6, [0.5, 0.3, 0.2], 25)
    assert fleiss(counts).value == pytest.approx(inter_rater.fleiss_kappa(counts))


def test_survival_of_censored_times() -> None:
    draws = rng()
    times, cut = draws.exponential(10, 200).round(1), draws.exponential(15, 200).round(1)
    events, seen = times <= cut, np.minimum(times, cut)
    theirs = KaplanMeierFitter().fit(seen, events)
    ours = kaplan_meier(seen, events)
    assert ours.survival == pytest.approx(theirs.survival_function_at_times(ours.times).to_numpy())
    # Where nobody is left, lifelines is certain of 0 and we keep the upper end of the step before.
    left = ours.survival > 0
    band = theirs.confidence_interval_.loc[ours.times[left]].to_numpy()
    assert np.column_stack((ours.low, ours.high))[left] == pytest.approx(band)
    assert (ours.low[-1], ours.high[-1]) == (0.0, ours.high[-2])
    assert ours.median == theirs.median_survival_time_
    area = restricted_mean(seen, events, 12.0)
    assert area.value == pytest.approx(restricted_mean_survival_time(theirs, 12.0))


def test_the_pace_of_three_groups() -> None:
    draws = rng()
    groups = draws.integers(0, 3, 150)
    times = draws.exponential(5 + 3 * groups).round(1)
    events = draws.random(150) < 0.8
    theirs = multivariate_logrank_test(times, groups, events)
    ours = log_rank(times, events, groups)
    assert ours.chi2 == pytest.approx(theirs.test_statistic)
    assert ours.p == pytest.approx(theirs.p_value)
    assert ours.freedom == 2
