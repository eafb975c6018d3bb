"""Many comparisons: textbook adjustments, the joint one, and ranks that stay open."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from proctor.study.stats.multiple_comparisons import holm, max_t, rank_ranges
from proctor.study.stats.paired_comparison import sign_flip

P = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]
"""The p values of the example in Benjamini and Hochberg (1995), section 3.2."""


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_holm_on_a_published_example() -> None:
    # The paper holds its own procedure, which rejects four, against Bonferroni's kin, which reject three.
    assert int((holm(P) <= 0.05).sum()) == 3


def test_what_has_no_p_value_counts_for_nothing() -> None:
    assert holm([0.01, np.nan, 0.04]) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert holm([]).tolist() == []


def test_a_single_pair_is_a_sign_flip() -> None:
    means = rng().integers(0, 6, (30, 2)) / 5
    found = max_t(means, rng(), draws=20_000)
    alone = sign_flip(means[:, 0] - means[:, 1], rng(), draws=20_000)
    assert found.pairs == ((0, 1),)
    assert found.p == found.p_adjusted
    assert alone.p is not None and found.p[0] == pytest.approx(alone.p, abs=0.02)


def by_hand(means: np.ndarray[Any, Any]) -> dict[tuple[int, int], tuple[float, float]]:
    """Every pattern, one after another: the share of those as extreme by itself, and stepping down."""
    pairs = list(combinations(range(means.shape[1]), 2))
    gaps = np.array([means[:, a] - means[:, b] for a, b in pairs])
    gaps = gaps / np.sqrt((gaps**2).sum(axis=1, keepdims=True))
    seen = np.abs(gaps.sum(axis=1))
    drawn = np.array([np.abs(gaps @ signs) for signs in product((1, -1), repeat=len(means))]) + 1e-9
    single = (drawn >= seen).mean(axis=0)
    adjusted, worst = {}, 0.0
    left = list(np.argsort(-seen, kind="stable"))
    while left:
        worst = max(worst, float((drawn[:, left].max(axis=1) >= seen[left[0]]).mean()))
        adjusted[pairs[left[0]]] = (float(single[left[0]]), worst)
        left = left[1:]
    return adjusted


@pytest.mark.parametrize("tasks", [2, 5, 8])
def test_few_tasks_leave_nothing_to_chance(tasks: int) -> None:
    means = np.random.default_rng(tasks).random((tasks, 4))
    generator = rng()
    found = max_t(np.vstack((means, np.full((30, 4), 0.5))), generator, draws=2**tasks)
    assert found.exact and found.draws == 2**tasks, "tasks on which nobody differs have no sign to flip"
    assert generator.bit_generator.state == rng().bit_generator.state
    wanted = by_hand(means)
    for pair, p, adjusted in zip(found.pairs, found.p, found.p_adjusted, strict=True):
        assert (p, adjusted) == pytest.approx(wanted[pair])
    drawn = max_t(means, rng(), draws=2**tasks - 1)
    assert not drawn.exact and drawn.draws == 2**tasks - 1


def test_enumerated_signs_of_one_pair_are_those_of_the_exact_test() -> None:
    means = rng().integers(0, 6, (13, 2)) / 5
    found, alone = max_t(means, rng()), sign_flip(means[:, 0] - means[:, 1], rng())
    assert found.exact and alone.exact
    assert found.p == (alone.p,)
    assert not max_t(rng().random((14, 2)), rng()).exact


def test_one_strong_agent_stands_out_from_equal_ones() -> None:
    means = rng().integers(0, 6, (60, 5)) / 5
    means[:, 2] = np.minimum(1, means[:, 2] + 0.4)
    found = max_t(means, rng())
    for pair, p, adjusted in zip(found.pairs, found.p, found.p_adjusted, strict=True):
        assert adjusted >= p
        assert (adjusted < 0.05) == (2 in pair), (pair, adjusted)


def test_adjusted_values_follow_the_order_of_the_single_ones() -> None:
    means = rng().integers(0, 6, (25, 6)) / 5
    means[:, 0] += 0.3
    found = max_t(means, rng())
    order = np.argsort(found.p, kind="stable")
    assert (np.diff(np.array(found.p_adjusted)[order]) >= -1e-12).all()
    # Step-down over dependent pairs is no stricter than Holm, up to the error of the draws.
    assert (np.array(found.p_adjusted) <= holm(found.p) + 0.02).all()


def test_pairs_without_a_shared_task_have_no_p_value() -> None:
    means = np.array([[1, np.nan, 0.0], [1, np.nan, 0.2], [np.nan, 0.4, 0.0], [np.nan, 0.6, 0.0]])
    found = max_t(means, rng(), draws=99)
    assert found.tasks == (0, 2, 2)
    assert np.isnan(found.p[0]) and np.isnan(found.p_adjusted[0])
    assert 0 < found.p[1] <= 1


def test_agents_that_never_differ_are_never_separable() -> None:
    found = max_t(np.tile([[1.0, 1.0, 0.0]], (12, 1)), rng(), draws=999)
    assert found.p[0] == found.p_adjusted[0] == 1.0
    assert found.p_adjusted[1] < 0.01 and found.p_adjusted[2] < 0.01


def test_the_whole_family_keeps_its_alpha() -> None:
    # Four equal agents, six pairs: any claim at all is false. 0.05 * 400 = 20 expected, 99.9% below 34.
    draws = np.random.default_rng(11)
    false = 0
    for _ in range(400):
        rates = draws.beta(1, 1, (20, 1))
        means = draws.binomial(5, np.broadcast_to(rates, (20, 4))) / 5
        false += min(max_t(means, draws, draws=199).p_adjusted) <= 0.05
    assert 8 <= false <= 34


def test_small_differences_that_never_fail_count_as_much_as_large_ones() -> None:
    # Agent 1 is better than agent 0 by a hundredth on every task; agent 2 is far off now here, now there.
    draws = rng()
    base = draws.random(15)
    found = max_t(np.column_stack((base, base + 0.01, draws.random(15) * 3)), rng())
    assert found.p_adjusted[0] < 0.001


def test_nothing_to_compare() -> None:
    alone = max_t(np.ones((4, 1)), rng(), draws=9)
    assert (alone.pairs, alone.p, alone.p_adjusted) == ((), (), ())
    empty = max_t(np.ones((0, 2)), rng(), draws=9)
    assert empty.tasks == (0,) and np.isnan(empty.p[0])


def test_ranks_stay_open_where_nothing_was_shown() -> None:
    better = np.zeros((3, 3), dtype=bool)
    assert rank_ranges(better) == [(1, 3)] * 3
    better[0, 2] = True
    assert rank_ranges(better) == [(1, 2), (1, 3), (2, 3)]
