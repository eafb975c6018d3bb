"""At least one success in k, and nothing but successes in k."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.study.statements import statement
from proctor.study.stats.clustered_rates import all_of_k, cluster_rate, pass_at_k


def value(found: object) -> float:
    number = getattr(found, "value", None)
    assert isinstance(number, float)
    return number


def test_five_runs_of_which_two_succeeded() -> None:
    # By definition: 1 - C(3, k) / C(5, k); and C(4, 2) / C(5, 2).
    assert [round(value(pass_at_k([2, 2], [5, 5], k)), 12) for k in (1, 2, 3)] == [0.4, 0.7, 0.9]
    assert round(value(all_of_k([4, 4], [5, 5], 2)), 12) == 0.6


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_each_way_to_draw_is_counted(k: int) -> None:
    tasks = {(0, 0, 1, 1): None, (0, 1, 1, 1): None, (0, 0, 0, 0): None}
    any_of = [sum(any(drawn) for drawn in combinations(runs, k)) / comb(4, k) for runs in tasks]
    all_of = [sum(all(drawn) for drawn in combinations(runs, k)) / comb(4, k) for runs in tasks]
    successes, trials = [sum(runs) for runs in tasks], [4, 4, 4]
    assert value(pass_at_k(successes, trials, k)) == pytest.approx(sum(any_of) / 3)
    assert value(all_of_k(successes, trials, k)) == pytest.approx(sum(all_of) / 3)


def test_with_k_of_1_both_are_the_success_rate() -> None:
    successes, trials = [0, 3, 5, 2, 5], [5] * 5
    plain = cluster_rate(successes, trials)
    for found in (pass_at_k(successes, trials, 1), all_of_k(successes, trials, 1)):
        assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
        assert (found.n, found.clusters) == (25, 5)


def test_tasks_with_too_few_runs_are_left_out() -> None:
    found = pass_at_k([1, 2, 0, 1], [1, 4, 4, 3], 3)
    assert (found.clusters, found.n) == (3, 11)
    assert value(found) == pytest.approx((1 + 0 + 1) / 3)
    assert pass_at_k([1, 1], [2, 2], 3).undefined == statement("no-task-with-runs", runs=3)
    assert all_of_k([1, 1], [2, 3], 3).undefined == statement("one-task-with-runs", runs=3)
    with pytest.raises(ValueError, match="at least 1"):
        pass_at_k([1], [1], 0)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=10))
def test_more_attempts_help_one_and_hurt_all(successes: list[int]) -> None:
    trials = [6] * len(successes)
    for less, more in pairwise(range(1, 7)):
        assert value(pass_at_k(successes, trials, more)) >= value(pass_at_k(successes, trials, less)) - 1e-12
        assert value(all_of_k(successes, trials, more)) <= value(all_of_k(successes, trials, less)) + 1e-12
        found = all_of_k(successes, trials, more)
        assert found.low is not None and found.high is not None
        assert 0 <= found.low <= value(found) <= found.high <= 1
