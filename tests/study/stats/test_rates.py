"""Rates by tasks: published numbers, the edges, and what must hold of any counts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.study.statements import statement
from proctor.study.stats.arrays import by_task
from proctor.study.stats.clustered_rates import (
    cluster_mean,
    cluster_rate,
    cluster_t,
    degrees_of_freedom,
    logit,
    spread,
    wilson,
)
from proctor.study.stats.confidence_limits import clopper_pearson
from proctor.study.stats.estimate import Estimate

DISTRICTS = [
    (2, 11),
    (3, 31),
    (1, 3),
    (3, 10),
    (1, 15),
    (0, 2),
    (0, 1),
    (0, 4),
    (0, 12),
    (3, 18),
    (2, 7),
    (0, 11),
    (5, 32),
    (1, 1),
    (2, 2),
]
"""No and yes of sch.wide in the 15 districts of apiclus1, from R's survey package."""
YES = [yes for _, yes in DISTRICTS]
SCHOOLS = [no + yes for no, yes in DISTRICTS]

tasks = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12).map(
    lambda pairs: [(min(pair), max(pair)) for pair in pairs]
)


def columns(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [successes for successes, _ in pairs], [trials for _, trials in pairs]


def ends(found: Estimate, digits: int) -> tuple[float, float]:
    assert found.low is not None and found.high is not None, found.undefined
    return round(found.low, digits), round(found.high, digits)


def test_the_mean_of_clusters_as_r_has_it() -> None:
    # R 4.2.2, survey: svymean(~sch.wide, dclus1) and confint(..., df = degf(dclus1)).
    found = spread(YES, SCHOOLS, plain=True)
    assert found is not None
    assert (round(found.value, 6), round(found.error, 5)) == (0.874317, 0.02056)
    assert (found.n, found.clusters) == (183, 15)
    assert ends(cluster_t(YES, SCHOOLS), 5) == (0.83021, 0.91842)


def test_the_error_comes_from_leaving_out_one_task_at_a_time() -> None:
    x, n = np.array([200.0, 1, 0, 2, 1]), np.array([250.0, 2, 3, 2, 1])
    left = [(x.sum() - one) / (n.sum() - size) for one, size in zip(x, n, strict=True)]
    found, plain = spread(x, n), spread(x, n, plain=True)
    assert found is not None and plain is not None
    assert found.error == pytest.approx(np.sqrt(4 / 5 * ((np.array(left) - found.value) ** 2).sum()))
    assert found.error > 10 * plain.error, "most of the runs pull the mean towards themselves"
    same, as_plain = spread(x[1:4], [3, 3, 3]), spread(x[1:4], [3, 3, 3], plain=True)
    assert same is not None and as_plain is not None and same.error == pytest.approx(as_plain.error)


def test_korn_and_graubard_as_r_has_it() -> None:
    # R 4.2.2, survey: svyciprop(~sch.wide, dclus1, method = "beta"), which does not cap the effective sample size.
    assert ends(cluster_rate(YES, SCHOOLS, plain=True), 5) == (0.82312, 0.91508)


def test_the_effective_sample_size_is_capped_at_the_runs() -> None:
    # Clopper and Pearson's interval for 160 of 183, since these clusters differ less than chance would make them.
    from scipy.stats import binomtest

    plain = binomtest(160, 183).proportion_ci(method="exact")
    found = cluster_rate(YES, SCHOOLS)
    assert found.low == pytest.approx(plain.low, abs=1e-12)
    assert found.high == pytest.approx(plain.high, abs=1e-12)


def test_the_logit_interval_as_r_has_it() -> None:
    # R 4.2.2, survey: svyciprop(~sch.wide, dclus1, method = "xlogit").
    assert ends(logit(YES, SCHOOLS), 5) == (0.82322, 0.91222)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_has_it(successes: int, trials: int, low: float, high: float) -> None:
    assert ends(wilson(successes, trials), 4) == (low, high)


def test_all_failed_and_all_passed_leave_room() -> None:
    # Clopper and Pearson with each task as one trial: 1 - 0.025 ** (1 / 5).
    nothing, everything = cluster_rate([0] * 5, [5] * 5), cluster_rate([5] * 5, [5] * 5)
    assert (nothing.value, nothing.low) == (0, 0)
    assert nothing.high == pytest.approx(1 - 0.025**0.2, abs=1e-12)
    assert (everything.value, everything.high) == (1, 1)
    assert everything.low == pytest.approx(0.025**0.2, abs=1e-12)
    assert everything.method == "exact-all-alike"


def test_tasks_that_are_all_alike_within() -> None:
    # Tasks of unequal size weigh as few equal ones: 25 ** 2 / (3 * 5 ** 2 + 10 ** 2).
    found, kept = cluster_rate([3, 3, 6, 3], [5, 5, 10, 5]), 0.025 ** (175 / 625)
    assert (found.value, found.low, found.high) == pytest.approx((0.6, 0.6 * kept, 1 - 0.4 * kept))


def test_one_task_and_no_run_are_undefined() -> None:
    one = cluster_rate([3], [5])
    assert one.value is None
    assert one.undefined == statement("one-task", rate=0.6, runs=5)
    assert cluster_rate([], []).undefined == statement("no-run")
    assert cluster_rate([0, 0], [0, 0]).undefined == statement("no-run")
    assert cluster_t([3], [5]).undefined and logit([3], [5]).undefined and wilson(0, 0).undefined
    assert logit([0, 0], [5, 5]).undefined == statement("all-runs-alike", runs=10, rate=0.0)
    assert logit([5, 5], [5, 5]).undefined == statement("all-runs-alike", runs=10, rate=1.0)


def test_one_run_for_each_task_is_binomial() -> None:
    # The cluster variance of single runs is p (1 - p) / (G - 1), one trial short of the tasks that there are.
    found = cluster_rate([1] * 12 + [0] * 8, [1] * 20)
    low, high = clopper_pearson(12, 20, 0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_one_failure_does_not_make_certain() -> None:
    # 75 of 75 runs leave 0.78 to 1. To the letter, one failure would leave 0.92 to 1, since one task alone has spread.
    found, letter = (cluster_rate([5] * 14 + [4], [5] * 15, plain=plain) for plain in (False, True))
    assert found.low is not None and letter.low is not None
    assert letter.low > 0.9
    assert 0.8 < found.low < 0.85


def test_a_variance_that_one_task_makes_has_few_degrees_of_freedom() -> None:
    assert degrees_of_freedom(np.array([1.0, -1.0, 1.0, -1.0]), 3) == 3
    assert degrees_of_freedom(np.array([9.0] + [-1.0] * 9), 9) < 3
    assert degrees_of_freedom(np.array([1.0, -1.0]), 1) == 1


def test_more_successes_than_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="more than all"):
        cluster_rate([3, 1], [2, 2])
    with pytest.raises(ValueError, match="belong together"):
        cluster_rate([1, 1], [2, 2, 2])


def test_a_mean_of_money_keeps_to_its_floor() -> None:
    found = cluster_mean([0.0, 0.1, 9.0], [3, 3, 3], floor=0.0)
    assert found.value == pytest.approx(9.1 / 9)
    assert found.low == 0.0
    assert found.high == pytest.approx(9.1 / 9 + 4.302652729911275 * np.std([0, 0.1 / 3, 3], ddof=1) / math.sqrt(3))


def test_runs_are_counted_by_task_and_unknown_ones_are_not() -> None:
    successes, trials = by_task([0, 0, 2, 2, -1], [1, 0, 1, np.nan, 1], 4)
    assert successes.tolist() == [1, 0, 1, 0]
    assert trials.tolist() == [2, 0, 1, 0]


@given(tasks)
def test_an_interval_holds_its_estimate_within_0_and_1(pairs: list[tuple[int, int]]) -> None:
    for found in (cluster_rate(*columns(pairs)), cluster_t(*columns(pairs))):
        if found.value is None or found.low is None or found.high is None:
            assert sum(trials > 0 for _, trials in pairs) < 2
        else:
            assert 0 <= found.low <= found.value <= found.high <= 1


@given(tasks)
def test_an_interval_widens_with_its_level(pairs: list[tuple[int, int]]) -> None:
    found = [cluster_rate(*columns(pairs), level) for level in (0.2, 0.5, 0.8, 0.9, 0.95, 0.99)]
    for narrow, wide in pairwise(found):
        if narrow.low is not None and narrow.high is not None and wide.low is not None and wide.high is not None:
            assert wide.low <= narrow.low + 1e-9 and wide.high >= narrow.high - 1e-9


@given(tasks, st.randoms(use_true_random=False))
def test_the_names_of_tasks_do_not_matter(pairs: list[tuple[int, int]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = cluster_rate(*columns(pairs)), cluster_rate(*columns(shuffled))
    assert first.record() == second.record()


@given(tasks)
def test_failures_mirror_successes(pairs: list[tuple[int, int]]) -> None:
    found = cluster_rate([x for x, _ in pairs], [n for _, n in pairs])
    other = cluster_rate([n - x for x, n in pairs], [n for _, n in pairs])
    if found.low is not None and other.high is not None:
        assert found.low == pytest.approx(1 - other.high, abs=1e-9)
