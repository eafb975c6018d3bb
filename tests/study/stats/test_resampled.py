"""The t statistic where few tasks differ: held against enumeration, against its interval and against simulation."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.study.stats.confidence_limits import t_two_sided
from proctor.study.stats.coverage_simulation import chances
from proctor.study.stats.paired_comparison import (
    ENOUGH_DIFFER,
    PAIRED_T,
    RESAMPLED_DRAWS,
    RESAMPLED_T,
    Comparison,
    few_differ,
    paired_difference,
    resampled_limit,
    resampled_p,
)
from proctor.study.stats.statistical_power import FAR, Design, decisions, rejections, simulated_means

if TYPE_CHECKING:
    from proctor.study.stats.arrays import Floats

TASKS = 20
some_differ = st.lists(st.integers(-5, 5), min_size=1, max_size=ENOUGH_DIFFER - 1).filter(any)


def line(differences: list[float], tasks: int = TASKS) -> Floats:
    return np.array([*differences, *[0.0] * (tasks - len(differences))])


def compared(differences: list[float], level: float = 0.95, tasks: int = 25) -> Comparison:
    made = line(differences, tasks)
    return paired_difference(made, np.zeros(tasks), level)


@pytest.mark.parametrize(("won", "lost"), [(3, 0), (4, 0), (6, 1), (7, 1), (8, 2), (12, 5)])
def test_of_one_size_it_is_what_counting_gives(won: int, lost: int) -> None:
    def t_squared(one: int, other: int) -> float:
        spread = one + other - (one - other) ** 2 / TASKS
        return float("inf") if spread == 0 else (one - other) ** 2 * (TASKS - 1) / TASKS / spread

    chance, seen, exact = chances(TASKS, ((won + lost) / TASKS,))[0], t_squared(won, lost), 0.0
    for one, other in product(range(TASKS + 1), repeat=2):
        if one + other <= TASKS and one != other:
            found = t_squared(one, other)
            exact += chance[one, other] * (1.0 if found > seen + 1e-9 else 0.5 if found > seen - 1e-9 else 0.0)
    drawn = float(resampled_p(line([1.0] * won + [-1.0] * lost)[None, :])[0])
    assert drawn == pytest.approx(exact, abs=4 * (exact / RESAMPLED_DRAWS) ** 0.5)


@pytest.mark.parametrize("tasks", [20, 25, 40])
def test_more_that_win_never_make_it_less_sure(tasks: int) -> None:
    """Also far out, where a draw or none goes as far, and where enough tasks differ for Student alone."""
    found = [compared([1.0] * won, tasks=tasks).p for won in range(4, tasks)]
    ps = [p for p in found if p is not None]
    assert len(ps) == tasks - 4 and ps == sorted(ps, reverse=True)
    assert ps[12 - 4] == pytest.approx(2 / 2**12) and ps[15 - 4] == pytest.approx(2 / 2**15), "signs, all patterns"


def test_what_few_draws_reach_is_claimed_no_more_often_than_its_level() -> None:
    """Single runs of 20 to 40 tasks, any number of which differ: enumerated at levels of early looks."""
    for tasks, level in product((20, 30, 40), (0.00305, 0.0015, 0.0001)):
        claims = {
            (won, lost): (p := compared([1.0] * won + [-1.0] * lost, 0.95, tasks).p) is not None and p < level
            for won in range(tasks + 1)
            for lost in range(min(won, tasks - won) + 1)
        }
        for share, chance in zip(shares := (0.1, 0.2, 0.3, 0.5), chances(tasks, shares), strict=True):
            wrong = sum(
                chance[max(a, b), min(a, b)]
                for a in range(tasks + 1)
                for b in range(tasks + 1 - a)
                if claims[max(a, b), min(a, b)]
            )
            assert wrong <= 1.05 * level, (tasks, level, share)


def test_four_of_twenty_are_the_least_that_is_claimed() -> None:
    threes = np.array([line([a / 5, b / 5, c / 5]) for a, b, c in product(range(1, 6), repeat=3)])
    assert resampled_p(threes).min() > 0.05
    assert resampled_p(line([0.2, 0.4, 0.4, 0.6])[None, :]).max() < 0.05


@pytest.mark.parametrize(
    ("tasks", "differing", "method"), [(20, 19, RESAMPLED_T), (20, 20, PAIRED_T), (19, 5, PAIRED_T)]
)
def test_student_decides_where_enough_tasks_differ_or_all_are_few(tasks: int, differing: int, method: str) -> None:
    found = compared([0.2, *[0.4] * (differing - 1)], tasks=tasks)
    assert found.difference.method == method


def test_rounding_is_no_difference() -> None:
    assert not few_differ(line([0.1] * 20)[None, :])[0]
    noise = [0.1 + 0.2 - 0.3] * 15
    assert compared([0.2, 0.4, 0.4, 0.6, *noise]) == compared([0.2, 0.4, 0.4, 0.6])
    assert compared([0.2, 0.4, 0.4, 0.6, *noise]).difference.method == RESAMPLED_T


@settings(max_examples=150, deadline=None)
@given(some_differ, st.integers(20, 40), st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.995, 0.99695, 0.9999, 1 - 1e-9]))
def test_p_and_interval_never_contradict_each_other(steps: list[int], tasks: int, level: float) -> None:
    found = compared([step / 5 for step in steps], level, tasks)
    assert found.p is not None and 0 < found.p <= 1
    estimate = found.difference
    assert estimate.low is not None and estimate.high is not None and estimate.value is not None
    assert estimate.low <= estimate.value <= estimate.high
    assert (found.p < 1 - level) == (not estimate.low <= 0 <= estimate.high)


@settings(max_examples=50, deadline=None)
@given(some_differ, st.randoms(use_true_random=False))
def test_order_names_and_scale_leave_p_alone(steps: list[int], random: Random) -> None:
    made = line([step / 5 for step in steps], 25)
    shuffled = made[random.sample(range(25), 25)]
    same = resampled_p(np.array([made, shuffled, -made, made / 3]))
    assert same == pytest.approx(np.full(4, same[0]), abs=1e-12)


def test_no_difference_on_the_whole_has_a_p_of_1() -> None:
    assert compared([0.4, -0.4, 0.2, -0.2]).p == 1.0


def test_the_limit_is_where_p_crosses_alpha() -> None:
    made = line([0.2, 0.4, -0.2, 0.6, 0.6, 0.2, 0.8])
    limits = [resampled_limit(made, alpha) for alpha in (0.2, 0.1, 0.05, 0.01)]
    assert limits == sorted(limits)
    # Student's t goes as far as 2.09 in 5% of studies; with seven of twenty tasks that differ it goes less far.
    assert 1.8 < limits[2] < 2.05


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_plans_are_decided_as_reports_are(runs: int) -> None:
    a, b = simulated_means(Design(0.9, 0.6, 0.5, TASKS, runs), 0.0, 400, np.random.default_rng(3))
    reported = [paired_difference(second, first).p for first, second in zip(a, b, strict=True)]
    for alpha in (0.05, 0.005, 0.003):
        planned = decisions(b - a, alpha, runs)
        assert planned.tolist() == [p is not None and p < alpha for p in reported]
    planned = decisions(b - a, 0.05, runs)
    assert planned.any() and (planned != rejections(b - a, 0.05)).any()


def test_what_is_far_from_different_by_student_is_left_there() -> None:
    rng, most = np.random.default_rng(5), 0.0
    for rate, icc, tasks, runs in product((0.8, 0.9, 0.95), (0.2, 0.6), (20, 30), (2, 5)):
        a, b = simulated_means(Design(rate, icc, 0.5, tasks, runs), 0.0, 150, rng)
        lines = (b - a)[few_differ(b - a) & (b != a).any(axis=1)]
        error = lines.std(axis=1, ddof=1) / tasks**0.5
        for p, mean, of in zip(resampled_p(lines), lines.mean(axis=1), error, strict=True):
            if p < 0.05:
                most = max(most, t_two_sided(float(mean / of), tasks - 1) / 0.05)
    assert 1.3 < most < FAR
