"""Failure modes found and not found: rarefaction by enumeration, and the price of one more."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proctor.study.statements import statement
from proctor.study.stats.unseen_failure_modes import discover, expected_modes, marginal_cost

RUN = [0, 0, 1, 2, 3, 3, 3]
MODE = [0, 1, 0, 2, 2, 3, 3]
"""Five runs, of which the last shows nothing; modes 1 and 3 were seen once, 0 and 2 twice."""


def test_the_curve_is_the_mean_over_all_ways_to_draw() -> None:
    shown = [{0, 1}, {0}, {2}, {2, 3}, set[int]()]
    found = discover(RUN, MODE, 5, 10.0)
    for size, cost, modes in found.curve:
        ways = [len(set().union(*drawn)) for drawn in combinations(shown, size)]
        assert modes == pytest.approx(sum(ways) / len(ways))
        assert cost == pytest.approx(2.0 * size)
    assert [size for size, _, _ in found.curve] == [1, 2, 3, 4, 5]


def test_what_was_found_and_what_is_left() -> None:
    found = discover(RUN, MODE, 5, 10.0)
    assert (found.found, found.once, found.twice) == (4, 2, 2)
    # Chao (1987), without bias: (4 / 5) * 2 * 1 / (2 * 3); Good (1953): 2 / 5.
    assert found.unseen == pytest.approx(0.8 / 3)
    assert found.next_new == pytest.approx(0.4)


def test_the_price_of_one_more() -> None:
    # Garwood (1936): the exact 95% interval of a Poisson mean when 2 were seen is 0.2422 to 7.2247.
    found = marginal_cost(2, 5, 10.0)
    assert found.value == pytest.approx(5.0)
    assert found.low == pytest.approx(10 / 7.2247, abs=1e-4)
    assert found.high == pytest.approx(10 / 0.2422, abs=1e-2)


def test_nothing_seen_once_says_nothing_about_the_next() -> None:
    found = discover([0, 1], [0, 0], 2, 4.0)
    assert found.marginal_cost.undefined == statement("no-mode-seen-once")
    assert found.unseen == 0
    empty = discover([], [], 3, 4.0)
    assert (empty.found, empty.curve[-1]) == (0, (3, 4.0, 0.0))
    none = discover([], [], 0, 0.0)
    assert none.curve == () and none.unseen is None
    assert none.marginal_cost.undefined == statement("no-run")


def test_the_estimate_of_what_is_left_is_near_the_truth() -> None:
    # 40 modes of equal rarity, 60 runs: about a fifth is not seen.
    draws = np.random.default_rng(8)
    left, guessed = [], []
    for _ in range(200):
        shown = draws.random((60, 40)) < 0.027
        run, mode = np.nonzero(shown)
        found = discover(run, mode, 60, 1.0)
        assert found.unseen is not None
        left.append(40 - found.found)
        guessed.append(found.unseen)
    assert float(np.mean(guessed)) == pytest.approx(float(np.mean(left)), rel=0.1)


def test_a_long_curve_is_thinned_and_rises() -> None:
    modes = expected_modes([1, 5, 400, 90_000], 1_000_000, np.array([1, 1000, 1_000_000]))
    assert modes[-1] == pytest.approx(4.0)
    assert (np.diff(modes) > 0).all()
    found = discover([0, 5, 9], [0, 1, 1], 100_000, 7.0)
    assert len(found.curve) == 200
    assert found.curve[-1] == pytest.approx((100_000, 7.0, 2.0))
