"""The price of a success."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from proctor.study.statements import statement
from proctor.study.stats import bootstrap
from proctor.study.stats.bootstrap import success_price


def made(tasks: int, seed: int = 3) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 0.5, tasks), rng.binomial(5, 0.6, tasks).astype(float)


def test_it_is_near_that_of_scipy() -> None:
    spent, won = made(40)
    found = success_price(spent, won, np.random.default_rng(1))
    ratio = lambda a, b, axis: a.sum(axis) / b.sum(axis)  # noqa: E731
    other = stats.bootstrap((spent, won), ratio, paired=True, n_resamples=9_999, rng=np.random.default_rng(2))
    assert found.value == pytest.approx(spent.sum() / won.sum())
    low, high = other.confidence_interval
    assert [found.low, found.high] == pytest.approx([low, high], rel=0.03)


def test_with_many_tasks_both_ways_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, won = made(600)
    quick = success_price(spent, won, np.random.default_rng(1))
    monkeypatch.setattr(bootstrap, "MOST_DRAWN", 600)
    drawn = success_price(spent, won, np.random.default_rng(1))
    assert quick.method == bootstrap.LINEAR != drawn.method
    assert quick.value == pytest.approx(drawn.value)
    assert [quick.low, quick.high] == pytest.approx([drawn.low, drawn.high], rel=0.02)


@pytest.mark.parametrize(
    ("spent", "won", "why"),
    [
        ([1.0, 2.0], [0, 0], "no-success"),
        ([1.0], [1], "fewer-than-two-tasks"),
        ([1.0] * 6, [1, 0, 0, 0, 0, 0], "undefined-in-draws"),
    ],
)
def test_what_has_no_price_says_why(spent: list[float], won: list[int], why: str) -> None:
    found = success_price(spent, won, np.random.default_rng(1))
    assert found.value is None and found.undefined is not None and found.undefined.code == why


@pytest.mark.parametrize("tasks", [40, 600])
def test_runs_without_a_known_cost_take_the_mean_of_the_others(tasks: int) -> None:
    """Beside scipy's own draws of the same ratio; where every cost is known, the numbers are those without counts."""
    spent, won = made(tasks)
    rng = np.random.default_rng(5)
    runs = np.full(tasks, 5.0)
    metered = rng.binomial(5, 0.7, tasks).astype(float)
    spent = spent * metered
    found = success_price(spent, won, np.random.default_rng(1), counts=(metered, runs))
    price_of = lambda c, w, m, n, axis: c.sum(axis) / m.sum(axis) * n.sum(axis) / w.sum(axis)  # noqa: E731
    other = stats.bootstrap((spent, won, metered, runs), price_of, paired=True, n_resamples=4_999, rng=rng)
    assert found.value == pytest.approx(spent.sum() / metered.sum() * runs.sum() / won.sum())
    low, high = other.confidence_interval
    assert [found.low, found.high] == pytest.approx([low, high], rel=0.03)
    alone = success_price(spent, won, np.random.default_rng(1))
    assert success_price(spent, won, np.random.default_rng(1), counts=(runs, runs)) == alone


def test_without_any_known_cost_there_is_no_price() -> None:
    found = success_price([0.0, 0.0], [1, 1], np.random.default_rng(1), counts=([0, 0], [1, 1]))
    assert found.undefined == statement("no-cost-known")
