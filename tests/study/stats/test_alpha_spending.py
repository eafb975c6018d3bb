"""Looks on the way: published limits, and what they spend."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.study.stats.alpha_spending import boundaries, spending


@pytest.mark.parametrize(
    ("looks", "limits"),
    # R 4.2.2: rpact getDesignGroupSequential(typeOfDesign = "asOF", sided = 2), and ldbounds.
    [
        ([1 / 2, 1], [2.9626, 1.9686]),
        ([1 / 3, 2 / 3, 1], [3.7103, 2.5114, 1.9930]),
        ([0.2, 0.4, 0.6, 0.8, 1], [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]),
        ([0.2, 0.55, 1], [4.8769, 2.8060, 1.9740]),
    ],
)
def test_limits_as_r_has_them(looks: list[float], limits: list[float]) -> None:
    assert [round(limit, 4) for limit in boundaries(looks).limits] == limits


def test_all_of_alpha_is_spent_at_the_end_and_no_more() -> None:
    from scipy.stats import multivariate_normal

    looks = np.array([0.25, 0.5, 0.75, 1.0])
    plan = boundaries(looks.tolist())
    assert plan.spent[-1] == pytest.approx(0.05)
    assert [spending(look) for look in looks] == pytest.approx(plan.spent)
    # The chance to stay inside throughout, integrated by another method.
    ratio = np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks)
    limits = np.array(plan.limits)
    inside = multivariate_normal(cov=np.sqrt(ratio)).cdf(limits, lower_limit=-limits, rng=np.random.default_rng(1))
    assert 1 - float(inside) == pytest.approx(0.05, abs=2e-4)


def test_one_look_at_the_end_is_the_plain_test() -> None:
    plan = boundaries([1.0], 0.01)
    assert plan.limits[0] == pytest.approx(2.5758293, abs=1e-6)
    assert plan.nominal[0] == pytest.approx(0.01)
    assert spending(0.0) == 0.0


def test_a_look_too_early_to_spend_anything_cannot_stop() -> None:
    plan = boundaries([0.01, 1.0])
    assert plan.limits[0] == 8.0
    assert plan.limits[1] == pytest.approx(1.95996, abs=1e-4)


@pytest.mark.parametrize("looks", [[], [0.5, 0.5], [0.0, 1.0], [0.5, 1.1], [0.8, 0.4]])
def test_looks_that_do_not_rise_are_refused(looks: list[float]) -> None:
    with pytest.raises(ValueError, match="rising shares"):
        boundaries(looks)
