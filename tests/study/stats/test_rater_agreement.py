"""Raters who agree, beyond chance: published tables, order and distance, and silence."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from proctor.judge.human_review import cohen_kappa, krippendorff_alpha
from proctor.study.statements import statement
from proctor.study.stats.rater_agreement import cohen, fleiss, krippendorff

GAP = np.nan
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
        [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
    ]
)
"""Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), example C: four observers, twelve units."""

RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""14 raters, 10 subjects, 5 categories: the table with which Fleiss' kappa is usually explained."""


@pytest.mark.parametrize(("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_example(metric: str, alpha: float) -> None:
    found = krippendorff(OBSERVERS.T, metric)
    assert found.value is not None and found.low is not None and found.high is not None
    assert round(found.value, 3) == alpha
    assert -1 <= found.low < found.value < found.high <= 1
    assert found.clusters == 11


def test_cohens_example() -> None:
    # Two readers of 50 proposals: observed .7, by chance .5.
    found = cohen([[20, 5], [10, 15]])
    assert found.value is not None and round(found.value, 3) == 0.4


def test_fleiss_example() -> None:
    found = fleiss(RATERS)
    assert found.value is not None and round(found.value, 5) == 0.20993


def test_reviews_give_the_same_numbers_exactly() -> None:
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohen_kappa(pairs) == Fraction(2, 5)
    units = [
        {str(observer): str(value) for observer, value in enumerate(unit) if not np.isnan(value)}
        for unit in OBSERVERS.T
    ]
    exact = krippendorff_alpha(units)
    assert exact is not None and krippendorff(OBSERVERS.T).value == pytest.approx(float(exact), abs=1e-12)


def test_raters_that_always_agreed_may_disagree_elsewhere() -> None:
    # None of n units in dispute leaves up to 1 - 0.025 ** (1 / n) of all in dispute, as Clopper and Pearson have it.
    for units in (4, 20, 100):
        dispute = proportion_confint(0, units, 0.05, "beta")[1]
        half = units // 2
        found = cohen([[half, 0], [0, half]])
        assert (found.value, found.high) == (1, 1)
        assert found.low == pytest.approx(max(-1, 1 - dispute / 0.5))
        assert fleiss([[3, 0], [0, 3]] * half).low == pytest.approx(max(-1, 1 - dispute / 0.5))
        by_chance = 0.5 * 2 * units / (2 * units - 1)
        assert krippendorff([[1, 1], [2, 2]] * half).low == pytest.approx(max(-1, 1 - dispute / by_chance))


def test_of_three_verdicts_the_farthest_apart_bound_the_doubt() -> None:
    ratings = [[1, 1], [2, 2], [3, 3]] * 10
    nominal, interval = krippendorff(ratings), krippendorff(ratings, "interval")
    assert nominal.low is not None and interval.low is not None
    assert interval.low < nominal.low < 1, "1 and 3 are further apart than verdicts are on average"


def test_too_little_to_disagree_about() -> None:
    assert cohen([[0, 0], [0, 0]]).undefined == statement("nothing-rated-twice")
    assert cohen([[7, 0], [0, 0]]).undefined == statement("one-category")
    assert fleiss([[3, 0], [3, 0]]).undefined == statement("one-category")
    assert krippendorff([[1, GAP], [GAP, 2]]).undefined == statement("fewer-than-two-units")
    assert krippendorff([[1, 1], [1, 1], [2, 1]]).undefined is not None
    with pytest.raises(ValueError, match="same number"):
        fleiss([[3, 0], [2, 0]])
    with pytest.raises(ValueError, match="no metric 'ratio'"):
        krippendorff(OBSERVERS.T, "ratio")
