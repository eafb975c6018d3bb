"""Outcomes that nobody knows: bounds, Rubin's rules, and imputation that does not invent certainty."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.study.statements import statement
from proctor.study.stats.clustered_rates import cluster_rate
from proctor.study.stats.missing_outcomes import imputed_rate, manski, rubin


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_the_bounds_of_manski() -> None:
    # Manski, "Partial identification of probability distributions" (2003), chapter 1: the survey of the homeless,
    # 21 of 64 men found again had left; 42 of 106 were not found.
    found = manski(21, 42, 106)
    assert found.low is not None and found.high is not None
    assert (round(found.low, 3), round(found.high, 3)) == (0.198, 0.594)
    assert manski(3, 0, 4).low == manski(3, 0, 4).high == 0.75
    assert manski(0, 0, 0).low is None
    with pytest.raises(ValueError, match="do not fit"):
        manski(3, 2, 4)


def test_rubins_rules_by_hand() -> None:
    # W = 4.04, B = 0.625, T = 4.04 + 1.2 * 0.625; df = 4 * (1 + W / 0.75)^2.
    found = rubin([10, 11, 12, 11.5, 10.5], [4, 4.2, 3.9, 4.1, 4])
    assert (found.value, found.within, found.between) == pytest.approx((11, 4.04, 0.625))
    assert found.total == pytest.approx(4.79)
    assert found.freedom == pytest.approx(4 * (1 + 4.04 / 0.75) ** 2)


def test_few_tasks_leave_few_degrees_of_freedom() -> None:
    # Barnard and Rubin (1999), formula 3: never more than the complete data would have.
    share = 0.75 / 4.79
    observed = 10 / 12 * 9 * (1 - share)
    found = rubin([10, 11, 12, 11.5, 10.5], [4, 4.2, 3.9, 4.1, 4], 9)
    assert found.freedom == pytest.approx(1 / (share**2 / 4 + 1 / observed))
    assert rubin([1, 1], [2, 2], 9).freedom == 9
    with pytest.raises(ValueError, match="two imputations"):
        rubin([1], [1])


def test_nothing_missing_is_the_plain_rate() -> None:
    assert imputed_rate([1, 2, 3], [4, 4, 4], [0, 0, 0], rng()) == cluster_rate([1, 2, 3], [4, 4, 4])


def test_unknown_runs_lie_within_manskis_bounds_and_widen() -> None:
    successes, known, unknown = [4, 0, 3, 1, 2, 4, 0, 2], [4] * 8, [2] * 8
    found, plain = imputed_rate(successes, known, unknown, rng()), cluster_rate(successes, known)
    bounds = manski(sum(successes), 16, 48)
    assert found.value is not None and bounds.low is not None and bounds.high is not None
    assert bounds.low <= found.value <= bounds.high
    assert found.value == pytest.approx(plain.value, abs=0.05)
    assert found.n == 48
    assert found == imputed_rate(successes, known, unknown, rng())


def test_odds_move_the_estimate_their_way() -> None:
    values = []
    for odds in (1e-6, 0.3, 1.0, 3.0, 1e6):
        found = imputed_rate([4, 0, 3, 1, 2, 4], [4] * 6, [3] * 6, rng(), odds=odds)
        assert found.value is not None
        values.append(found.value)
    assert values == sorted(values)
    assert values[0] < 14 / 42 + 0.05 and values[-1] > 32 / 42 - 0.05


def test_a_task_of_which_nothing_is_known_follows_the_others() -> None:
    found = imputed_rate([4, 4, 3, 4, 0], [4, 4, 4, 4, 0], [0, 0, 0, 0, 4], rng())
    assert found.value is not None and 0.75 < found.value < 1
    assert found.clusters == 5


def test_too_little_is_undefined() -> None:
    assert imputed_rate([1], [2], [1], rng()).undefined == statement("one-task", rate=None, runs=3)
    assert imputed_rate([0, 0], [0, 0], [2, 2], rng()).undefined == statement("no-outcome")


def test_the_interval_covers_when_outcomes_are_lost_at_random() -> None:
    # 300 studies of 20 tasks x 5 runs, each outcome lost with 20%: 95% of the intervals should hold 0.6, 92% must.
    draws = np.random.default_rng(12)
    covered = 0
    for _ in range(300):
        rates = draws.beta(0.9, 0.6, 20)
        unknown = draws.binomial(5, 0.2, 20)
        successes = draws.binomial(5 - unknown, rates)
        found = imputed_rate(successes, 5 - unknown, unknown, draws, draws=10)
        assert found.low is not None and found.high is not None
        covered += found.low <= 0.6 <= found.high
    assert covered >= 276
