"""Flipped signs for many studies at once give the p values of one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.study.stats.paired_comparison import paired_difference, sign_flip
from proctor.study.stats.statistical_power import decisions, flipped_p


def rng() -> np.random.Generator:
    return np.random.default_rng(20260307)


@pytest.mark.parametrize(("tasks", "runs"), [(2, 1), (5, 1), (6, 3), (9, 5), (13, 2), (12, 40)])
def test_the_exact_p_value_is_that_of_one_study(tasks: int, runs: int) -> None:
    draws = rng()
    differences = draws.integers(-runs // 2, runs + 1, (30, tasks)) / runs
    differences = np.vstack((differences, np.zeros((1, tasks)), np.ones((1, tasks))))
    for row, p in zip(differences, flipped_p(differences, runs), strict=True):
        assert p == pytest.approx(sign_flip(row, rng()).p, abs=1e-12)


def test_many_tasks_of_which_few_differ_are_exact_too() -> None:
    differences = np.zeros((1, 60))
    differences[0, ::10] = 1.0
    assert flipped_p(differences, 1).tolist() == [2.0**-5]


@pytest.mark.parametrize(("tasks", "runs"), [(30, 1), (30, 5), (80, 3)])
def test_beyond_that_the_normal_shortcut_is_near(tasks: int, runs: int) -> None:
    differences = rng().integers(-runs, runs + 1, (40, tasks)) / runs + 0.0
    differences[differences == 0] = 1 / runs
    for row, p in zip(differences, flipped_p(differences, runs), strict=True):
        assert p == pytest.approx(sign_flip(row, rng()).p, abs=0.025)


def test_a_study_is_decided_by_both_tests() -> None:
    differences = rng().integers(-1, 4, (200, 6)) / 4
    flags = decisions(differences, 0.05, 4)
    by_t = by_both = 0
    for row, flag in zip(differences, flags, strict=True):
        t, signs = paired_difference(row, np.zeros(6)).p, sign_flip(row, rng()).p
        assert t is not None and signs is not None
        assert flag == (max(t, signs) < 0.05)
        by_t, by_both = by_t + (t < 0.05), by_both + int(flag)
    assert 0 < by_both < by_t, "the signs make a difference here"
