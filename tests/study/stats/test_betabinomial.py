"""How alike the runs of one task are: Saxony's families, moments, and where the model ends."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.study.stats.icc_and_regression import fit_beta_binomial, icc_anova

SAXONY = [3, 24, 104, 286, 670, 1033, 1343, 1112, 829, 478, 181, 45, 7]
"""Families of twelve children with 0 to 12 boys in Saxony, 1876 to 1885: Geissler (1889)."""


def test_the_families_of_saxony() -> None:
    # R 4.2.2, optim on dbetabinom; also Lindsey and Altham, "Analysis of the human sex ratio" (1998).
    found = fit_beta_binomial(np.arange(13), np.full(13, 12), SAXONY)
    assert found.a is not None and found.b is not None and found.log_likelihood is not None
    assert (round(found.a, 2), round(found.b, 2)) == (34.10, 31.58)
    assert round(found.log_likelihood, 2) == -12492.87
    assert found.icc == pytest.approx(1 / (found.a + found.b + 1))
    assert (found.n, found.clusters) == (12 * 6115, 6115)


def test_lines_that_repeat_are_tasks() -> None:
    counted = fit_beta_binomial([0, 1, 3], [3, 3, 3], [2, 1, 4])
    listed = fit_beta_binomial([0, 0, 1, 3, 3, 3, 3], [3] * 7)
    assert counted == listed


def test_both_ways_find_the_truth() -> None:
    draws = np.random.default_rng(4)
    trials = draws.integers(2, 8, 4000)
    successes = draws.binomial(trials, draws.beta(0.9, 0.6, 4000))
    fit, moments = fit_beta_binomial(successes, trials), icc_anova(successes, trials)
    assert fit.icc == pytest.approx(0.4, abs=0.02)
    assert fit.mean == pytest.approx(0.6, abs=0.02)
    assert moments == pytest.approx(0.4, abs=0.02)


def test_moments_by_hand() -> None:
    # Three tasks of two runs with 2, 1, 0 successes: between 2 * (.25 + 0 + .25) / 2 = .5, within .5 / 3.
    assert icc_anova([2, 1, 0], [2, 2, 2]) == pytest.approx((0.5 - 0.5 / 3) / (0.5 + 0.5 / 3))
    assert icc_anova([2, 2, 0], [2, 2, 2]) == 1.0
    assert icc_anova([1, 1, 1], [2, 2, 2]) == -1.0


def test_tasks_more_alike_than_chance_have_no_correlation() -> None:
    assert fit_beta_binomial([2] * 20, [4] * 20).icc == 0.0


def test_where_it_cannot_be_told() -> None:
    assert icc_anova([1, 0], [1, 1]) is None
    assert icc_anova([2, 2], [2, 2]) is None
    assert fit_beta_binomial([1, 0], [1, 1]).undefined == "no-task-with-two-runs"
    assert fit_beta_binomial([2], [3]).undefined == "fewer-than-two-tasks"
    assert fit_beta_binomial([3, 3], [3, 3]).undefined == "all-runs-alike"
