"""How many tasks: published sizes, the formula against simulation, and curves that only rise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from proctor.study.stats.statistical_power import (
    Design,
    Point,
    confirmed,
    curve,
    decisions,
    design_effect,
    formula_point,
    minimum_detectable,
    not_monotone,
    paired_power,
    paired_size,
    paired_variance,
    rejections,
    sanity,
    simulated_means,
    simulated_point,
    tasks_needed,
    two_proportions_size,
    two_proportions_tasks,
)

DESIGN = Design(rate=0.5, icc=0.4, correlation=0.5, tasks=50, runs=5)


def rng() -> np.random.Generator:
    return np.random.default_rng(20260307)


def test_two_proportions_as_r_has_it() -> None:
    # R 4.2.2: power.prop.test(p1 = .3, p2 = .5, power = .8), n = 92.99884.
    assert round(two_proportions_size(0.3, 0.5), 4) == 92.9988
    assert design_effect(10, 0.05) == pytest.approx(1.45)
    assert two_proportions_tasks(0.3, 0.5, 10, 0.05) == 14
    assert math.isinf(two_proportions_size(0.4, 0.4))


def test_millers_sample_size() -> None:
    # Miller, "Adding error bars to evals" (2024), section 5: 969 questions.
    assert paired_size(1 / 9, 0.03) == 969
    assert paired_size(1 / 9, 0.03, 1 / 6, 1 / 6, 10, 10) == math.ceil(968.998 * (1 / 9 + 2 / 60) * 9)


def test_the_variance_is_that_of_simulated_differences() -> None:
    design = replace(DESIGN, tasks=400)
    a, b = simulated_means(design, 0.2, 500, rng())
    assert float(a.mean()) == pytest.approx(0.5, abs=0.005)
    assert float(b.mean()) == pytest.approx(0.7, abs=0.005)
    assert float((b - a).var()) == pytest.approx(paired_variance(design, 0.2), rel=0.02)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("icc", [0.0, 0.3, 0.7])
def test_formula_and_simulation_agree(icc: float, correlation: float) -> None:
    design = replace(DESIGN, icc=icc, correlation=correlation, tasks=30)
    simulated = simulated_point(design, 0.2, rng())
    assert paired_power(design, 0.2) == pytest.approx(simulated.power, abs=0.04)
    both = simulated_point(design, 0.2, rng(), test=confirmed)
    assert simulated.power - 0.06 < both.power < simulated.power, "signs do not confirm all that the t test finds"


def test_with_few_tasks_signs_have_to_confirm() -> None:
    few, enough = replace(DESIGN, tasks=19), replace(DESIGN, tasks=40)
    for design, alone in ((few, False), (enough, True)):
        decided, by_t = (simulated_point(design, 0.2, rng(), test=test).power for test in (decisions, rejections))
        assert (decided == by_t) == alone


def test_without_an_effect_the_power_is_alpha() -> None:
    assert paired_power(DESIGN, 0.0) == pytest.approx(0.05, abs=1e-9)
    null = simulated_point(DESIGN, 0.0, rng(), 4000)
    assert null.low <= 0.05 <= null.high


def test_the_least_effect_and_the_fewest_tasks_are_at_the_edge() -> None:
    effect = minimum_detectable(DESIGN)
    assert effect is not None
    assert paired_power(DESIGN, effect) == pytest.approx(0.8, abs=1e-6)
    tasks = tasks_needed(DESIGN, 0.15)
    assert tasks is not None
    assert (
        paired_power(replace(DESIGN, tasks=tasks), 0.15) >= 0.8 > paired_power(replace(DESIGN, tasks=tasks - 1), 0.15)
    )


def test_what_no_design_can_find() -> None:
    assert minimum_detectable(Design(0.5, 0.5, 0.0, 2, 1)) is None
    assert minimum_detectable(replace(DESIGN, rate=1.0)) is None
    assert tasks_needed(DESIGN, 0.0001, most=1000) is None
    with pytest.raises(ValueError, match=r"cannot change by 0\.6"):
        paired_power(DESIGN, 0.6)
    with pytest.raises(ValueError, match="no design"):
        Design(1.5, 0.5, 0.0, 10, 1)
    with pytest.raises(ValueError, match="two tasks"):
        Design(0.5, 0.5, 0.0, 1, 1)


def test_agents_that_never_vary_are_told_apart_at_once() -> None:
    certain = Design(0.0, 0.0, 0.0, 6, 1)
    assert paired_power(certain, 1.0) == 1.0
    assert simulated_point(certain, 1.0, rng(), 50).power == 1.0
    assert paired_power(replace(certain, tasks=6), 0.0) == 0.05
    assert simulated_point(certain, 0.0, rng(), 50).power == 0.0


def test_the_simulated_test_is_the_real_one() -> None:
    from proctor.study.stats.paired_comparison import paired_difference

    draws = rng()
    differences = np.vstack((draws.integers(-3, 5, (50, 9)) / 5, np.zeros((1, 9)), np.ones((1, 9))))
    flags = rejections(differences, 0.05)
    for row, flag in zip(differences, flags, strict=True):
        p = paired_difference(row, np.zeros(9)).p
        assert p is not None and (p <= 0.05) == flag


def test_curves_rise_and_a_fall_is_noticed() -> None:
    points = curve(DESIGN, [0.1, 0.2], tasks=[10, 20, 40], correlations=[0.0, 0.5], iccs=[0.2, 0.6])
    assert len(points) == 24
    assert not_monotone(points) == []
    worse = [replace(point, power=0.01, low=0.01, high=0.01) if point.tasks == 40 else point for point in points]
    faults = not_monotone(worse)
    assert any("as tasks rise 20 to 40" in fault for fault in faults)


def test_simulated_points_may_differ_by_their_error() -> None:
    less = Point(10, 5, 0.4, 0.5, 0.2, 0.50, 0.45, 0.55)
    assert not_monotone([less, replace(less, tasks=20, power=0.48, low=0.43, high=0.53)]) == []
    assert len(not_monotone([less, replace(less, tasks=20, power=0.3, low=0.25, high=0.35)])) == 1


def test_sanity_holds_and_says_what_was_seen() -> None:
    checks = sanity(DESIGN, 0.15, rng())
    assert [check.held for check in checks] == [True, True, True]
    assert checks == sanity(DESIGN, 0.15, rng())
    assert formula_point(DESIGN, 0.15).low == formula_point(DESIGN, 0.15).high
