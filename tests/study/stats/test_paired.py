"""Two agents on the same tasks: published numbers, exactness, and the edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.study.statements import statement
from proctor.study.stats.paired_comparison import mcnemar, paired_difference, sign_blocks, sign_flip

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Crossed minus self-fertilised maize, in eighths of an inch: Fisher, "The design of experiments" (1935), chapter 3."""

shares = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12)


def rng() -> np.random.Generator:
    return np.random.default_rng(20260307)


def test_darwins_maize_by_signs() -> None:
    # Fisher's count of 863 for one side, twice: 1726 / 32768. R 4.2.2 by enumeration.
    found = sign_flip(DARWIN, rng())
    assert found.exact and found.patterns == 32768
    assert found.p == 1726 / 32768
    assert found.p is not None and round(found.p, 5) == 0.05267


def test_darwins_maize_by_t() -> None:
    # R 4.2.2: t.test(darwin), p-value = 0.0497.
    found = paired_difference(DARWIN, np.zeros(15), bound=None)
    assert found.p is not None and round(found.p, 5) == 0.04970
    assert found.difference.value == pytest.approx(314 / 15)
    assert found.difference.method == "paired-t"


def test_the_t_interval_is_that_of_scipy() -> None:
    from scipy.stats import ttest_rel

    a, b = rng().random(30), rng().random(30) ** 2
    theirs = ttest_rel(a, b)
    ours = paired_difference(a, b)
    interval = theirs.confidence_interval(0.95)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.difference.low == pytest.approx(interval.low, abs=1e-12)
    assert ours.difference.high == pytest.approx(interval.high, abs=1e-12)


def test_mcnemar_as_published() -> None:
    # Agresti, "Categorical data analysis", approval ratings 794/150/86/570; R 4.2.2: mcnemar.test and binom.test.
    found = mcnemar(150, 86)
    assert found.chi2 is not None and found.corrected is not None
    assert (round(found.chi2, 3), round(found.corrected, 3)) == (17.356, 16.818)
    assert f"{found.p_exact:.3e}" == "3.716e-05"


def test_mcnemar_of_pairs_that_agree_throughout() -> None:
    assert mcnemar(0, 0).p_exact == 1.0
    assert mcnemar(0, 0).chi2 is None
    assert mcnemar(3, 3).p_exact == 1.0


def test_the_exact_p_is_that_of_enumeration() -> None:
    differences = np.array([0.2, -0.4, 0.6, 0.0, 0.2, 1.0, -0.2, 0.4])
    sums = np.array([np.dot(signs, differences) for signs in itertools.product((-1, 1), repeat=8)])
    expected = float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-12))
    assert sign_flip(differences, rng()).p == expected


@pytest.mark.parametrize("jitter", [0.0, 1e-9], ids=["few amounts", "an amount for each task"])
def test_draws_come_near_the_exact_p(jitter: float) -> None:
    # 24 tasks that differ, and the p value of all their patterns by joining the sums of two halves.
    differences = np.repeat([0.2, -0.2, 0.4, 0.6, -0.4, 0.2], 4) + jitter * np.arange(24)
    halves = []
    for half in (differences[:12], differences[12:]):
        halves.append(np.array(list(itertools.product((-1, 1), repeat=12))) @ half)
    limit = abs(differences.sum()) - 1e-7
    first, second = halves[0], np.sort(halves[1])
    beyond = len(second) - np.searchsorted(second, limit - first) + np.searchsorted(second, -limit - first, "right")
    exact = float(beyond.sum()) / 2**24
    drawn = sign_flip(differences, rng(), draws=20_000)
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5)


def test_a_drawn_p_is_never_0_and_repeats_with_its_seed() -> None:
    first, second = sign_flip(np.ones(40), rng(), draws=99), sign_flip(np.ones(40), rng(), draws=99)
    assert first == second
    assert first.p == 0.01


def test_signs_are_even_and_all_there() -> None:
    signs = np.concatenate(list(sign_blocks(13, 5000, rng())))
    assert signs.shape == (5000, 13)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.abs(signs.mean(axis=0)).max() < 0.06


def test_one_passes_everything_and_the_other_nothing() -> None:
    # No spread to build a t on; signs give 2 / 2 ** 8, and all eight being alike bounds how many tasks may not be.
    found = paired_difference([1.0] * 8, [0.0] * 8)
    assert found.p == 2 / 2**8
    assert (found.difference.value, found.difference.high) == (1, 1)
    assert found.difference.low == pytest.approx(2 * 0.025**0.125 - 1)


def test_no_difference_anywhere_is_not_certainty() -> None:
    found = paired_difference([1.0] * 8, [1.0] * 8)
    assert found.p == 1.0
    assert found.difference.value == 0
    assert found.difference.high == pytest.approx(1 - 0.025**0.125)
    assert found.difference.low == pytest.approx(0.025**0.125 - 1)


def test_equal_differences_without_a_bound_are_undefined() -> None:
    found = paired_difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0], bound=None)
    assert found.difference.undefined == statement("all-tasks-differ-alike", tasks=3, difference=4.0)
    assert found.p == 0.25


def test_tasks_of_one_agent_alone_are_left_out() -> None:
    found = paired_difference([1, np.nan, 0.5, 0], [0, 1, np.nan, 0])
    assert found.difference.n == 2
    assert paired_difference([1, np.nan], [0, 1]).difference.undefined == statement("one-shared-task")
    assert paired_difference([np.nan], [1]).p is None
    assert sign_flip([], rng()).p is None
    assert sign_flip([0.0, 0.0], rng()).p == 1.0


@given(shares)
def test_swapping_agents_mirrors_the_interval(pairs: list[tuple[int, int]]) -> None:
    a, b = ([pair[side] / 5 for pair in pairs] for side in (0, 1))
    one, other = paired_difference(a, b), paired_difference(b, a)
    assert one.p == pytest.approx(other.p)
    first, second = one.difference, other.difference
    assert first.value is not None and first.low is not None and first.high is not None and second.low is not None
    assert -1 <= first.low <= first.value <= first.high <= 1
    assert first.high == pytest.approx(-second.low, abs=1e-12)


@given(shares, st.permutations(range(12)))
def test_the_order_of_tasks_does_not_matter(pairs: list[tuple[int, int]], order: list[int]) -> None:
    moved = [pairs[place] for place in order if place < len(pairs)]
    results = []
    for rows in (pairs, moved):
        a, b = (np.array([row[side] / 5 for row in rows]) for side in (0, 1))
        results.append((paired_difference(a, b).difference.record(), sign_flip(a - b, rng()).p))
    assert results[0] == results[1]


@given(shares)
def test_a_wider_level_is_a_wider_interval(pairs: list[tuple[int, int]]) -> None:
    a, b = ([pair[side] / 5 for pair in pairs] for side in (0, 1))
    narrow, wide = (paired_difference(a, b, level).difference for level in (0.8, 0.95))
    assert narrow.low is not None and narrow.high is not None and wide.low is not None and wide.high is not None
    assert wide.low <= narrow.low + 1e-12 and wide.high >= narrow.high - 1e-12
