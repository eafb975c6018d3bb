"""The promises of the statistics in simulated studies, few and seeded; ``python -m bench coverage`` has many more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from proctor.study.stats.clustered_rates import cluster_rate, cluster_t, pass_at_k, stratified_rate, weighted_rate
from proctor.study.stats.coverage_simulation import (
    SETTINGS,
    brownian_false_alarms,
    coverage,
    false_alarms,
    family_false_alarms,
    mcnemar_false_alarms,
    sequential_false_alarms,
)
from proctor.study.stats.estimate import Estimate, defined, undefined
from proctor.study.stats.missing_outcomes import rogan_gladen
from proctor.study.stats.paired_comparison import sign_flip
from proctor.study.stats.statistical_power import Design, confirmed, simulated_means
from proctor.study.stats.unseen_failure_modes import discover

DRAWS = 1_000


def rng() -> np.random.Generator:
    return np.random.default_rng(20260307)


@pytest.mark.parametrize("design", SETTINGS, ids=lambda design: f"{design.tasks}-{design.rate}-{design.icc}")
def test_rates_are_covered(design: Design) -> None:
    seen = coverage(cluster_rate, design, DRAWS, rng())
    assert seen.covered >= 0.94
    assert seen.undefined == 0


def test_the_plain_t_interval_would_not_do() -> None:
    assert coverage(cluster_t, SETTINGS[3], DRAWS, rng()).covered < 0.7


def test_two_in_three_attempts_are_covered() -> None:
    # With beta(a, b) rates, the chance of at least one success in 2 is 1 - b (b + 1) / ((a + b) (a + b + 1)).
    design = Design(0.6, 0.4, 0.0, 20, 5)
    a, b = 0.6 * 1.5, 0.4 * 1.5
    truth = 1 - b * (b + 1) / (2.5 * 1.5)

    def shifted(successes: Sequence[int], trials: Sequence[int]) -> Estimate:
        """The interval moved so that it holds the simulation's rate where it holds the truth."""
        found = pass_at_k(successes, trials, 2)
        assert found.value is not None and found.low is not None and found.high is not None
        move = design.rate - truth
        ends = (found.value + move, found.low + move, found.high + move)
        return defined(*ends, level=0.95, method="shifted", n=found.n, clusters=found.clusters)

    assert a + b == pytest.approx(1.5)
    assert coverage(shifted, design, DRAWS, rng()).covered >= 0.94


@pytest.mark.parametrize("tasks", [12, 21])
def test_strata_and_weights_are_covered(tasks: int) -> None:
    draws, strata = rng(), np.arange(tasks) % 3
    means, shares = np.array([0.3, 0.6, 0.9]), np.array([0.5, 0.3, 0.2])
    truth, size = float(means @ shares), 0.4 / 0.6
    covered = np.zeros(2)
    for _ in range(600):
        rates = draws.beta(means[strata] * size, (1 - means[strata]) * size)
        successes, trials = draws.binomial(5, rates), np.full(tasks, 5)
        found = (stratified_rate(successes, trials, strata, shares), weighted_rate(successes, trials, shares[strata]))
        covered += [each.low is not None and each.high is not None and each.low <= truth <= each.high for each in found]
    assert (covered >= 0.93 * 600).all()


def test_the_correction_for_an_oracle_covers() -> None:
    # Both shares are measured on 60 patches each, so that they are in doubt too.
    draws, covered = rng(), 0
    for _ in range(600):
        rates = draws.beta(0.9, 0.6, 30)
        successes = draws.binomial(5, rates * 0.92 + (1 - rates) * (1 - 0.88))
        accepted, rejected = draws.binomial(60, (0.92, 0.88)) / 60
        found = rogan_gladen(cluster_rate(successes, np.full(30, 5)), accepted, rejected, 60, 60)
        covered += found.low is not None and found.high is not None and found.low <= 0.6 <= found.high
    assert covered >= 0.93 * 600


def test_the_price_of_one_more_mode_is_covered() -> None:
    # What is estimated: one over the mean number of modes that a hundredth run shows first.
    draws, covered = rng(), 0
    chances = draws.beta(0.3, 6, 60)
    truth = 1 / float((chances * (1 - chances) ** 100).sum())
    for _ in range(600):
        run, mode = np.nonzero(draws.random((100, 60)) < chances)
        found = discover(run, mode, 100, 100.0).marginal_cost
        covered += found.low is not None and found.high is not None and found.low <= truth <= found.high
    assert covered >= 0.93 * 600


@pytest.mark.parametrize("runs", [1, 3, 5])
@pytest.mark.parametrize("rate", [0.5, 0.7])
@pytest.mark.parametrize("tasks", [20, 50])
def test_the_paired_comparison_keeps_its_alpha(tasks: int, rate: float, runs: int) -> None:
    for correlation in (0.0, 0.5):
        assert 0.04 <= false_alarms(Design(rate, 0.4, correlation, tasks, runs), 8_000, rng()) <= 0.06


def test_asking_signs_as_well_would_waste_half_of_alpha() -> None:
    design = Design(0.7, 0.6, 0.5, 20, 1)
    assert false_alarms(design, 4_000, rng(), confirmed) < 0.02 < 0.04 < false_alarms(design, 4_000, rng())


def test_runs_taken_as_independent_would_claim_far_too_much() -> None:
    assert mcnemar_false_alarms(Design(0.5, 0.6, 0.0, 20, 5), 1_000, rng()) > 0.15


@pytest.mark.parametrize("tasks", [5, 8, 12, 19])
def test_few_tasks_are_judged_on_the_careful_side(tasks: int) -> None:
    for rate in (0.5, 0.9):
        assert false_alarms(Design(rate, 0.4, 0.0, tasks, 3), 4_000, rng()) <= 0.05


@pytest.mark.parametrize("alike", [False, True])
def test_a_family_of_agents_keeps_its_alpha(alike: bool) -> None:
    # 0.05 of 400 are 20 expected; 99.9% of studies with that chance stay below 34.
    found = family_false_alarms(Design(0.6, 0.4, 0.0, 20, 5), 4, 400, rng(), 199, alike=alike)
    assert 0.01 <= found <= 34 / 400


def test_signs_keep_their_alpha() -> None:
    a, b = simulated_means(Design(0.6, 0.4, 0.5, 12, 5), 0.0, 2_000, rng())
    found = [sign_flip(row, rng()).p for row in b - a]
    share = float(np.mean([p is not None and p <= 0.05 for p in found]))
    # Sums that tie count as larger, so that the test is careful where there are few tasks and few runs.
    assert 0.01 <= share <= 0.05


@pytest.mark.parametrize("looks", [(0.5, 1.0), (1 / 3, 2 / 3, 1.0), (0.2, 0.55, 1.0)])
def test_looks_on_the_way_spend_five_percent(looks: tuple[float, ...]) -> None:
    assert brownian_false_alarms(looks, 100_000, rng()) == pytest.approx(0.05, abs=0.003)
    assert 0.04 <= sequential_false_alarms(Design(0.5, 0.4, 0.5, 60, 5), looks, 4_000, rng()) <= 0.06


def test_an_interval_that_is_not_there_covers_nothing() -> None:
    def nothing(successes: Sequence[int], trials: Sequence[int]) -> Estimate:
        return undefined("no-run", level=0.95, method="none")

    seen = coverage(nothing, SETTINGS[0], 50, rng())
    assert (seen.covered, seen.undefined, seen.width) == (0, 1, 0)
