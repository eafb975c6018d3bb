"""Exact bounds against published and closed values."""

from __future__ import annotations

import pytest

from proctor.author.binomial_bounds import at_most, share


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # R 4.x: binom.test(x, n)$conf.int
        (0, 10, 0.0, 0.3084971),
        (1, 10, 0.002528579, 0.4450161),
        (5, 10, 0.1870860, 0.8129140),
        (10, 10, 0.6915029, 1.0),
        (15, 20, 0.5089541, 0.9134285),
    ],
)
def test_the_interval_is_that_of_clopper_and_pearson(count: int, of: int, low: float, high: float) -> None:
    found = share(count, of)
    assert found.low == pytest.approx(low, abs=1e-6)
    assert found.high == pytest.approx(high, abs=1e-6)
    assert found.value == count / of


@pytest.mark.parametrize("runs", [1, 2, 10, 59, 299, 5000])
def test_none_seen_in_n_runs_has_a_closed_form(runs: int) -> None:
    assert at_most(0, runs) == pytest.approx(1 - 0.05 ** (1 / runs), rel=1e-9)


def test_one_seen_leaves_more_possible_than_none() -> None:
    assert at_most(0, 20) < at_most(1, 20) < at_most(20, 20) == 1.0


def test_nothing_counted_is_undefined() -> None:
    found = share(0, 0)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "undefined" in found.words()
    assert found.record()["value"] is None
