"""Time cut at a cap: published numbers, clusters, and the ends of the curve."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proctor.study.stats.survival import kaplan_meier, log_rank, restricted_mean

# Freireich et al. (1963): weeks of remission under 6-MP (1 = relapse, 0 = still in remission) and under placebo.
WEEKS = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
RELAPSE = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def test_the_curve_of_freireich() -> None:
    # R 4.2.2, survival: survfit(Surv(weeks, relapse) ~ 1, conf.type = "log-log").
    curve = kaplan_meier(WEEKS, RELAPSE)
    assert curve.times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.survival.round(3).tolist() == [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert round(float(curve.error[0]), 4) == 0.0764
    assert curve.median == 23
    assert (curve.n, curve.events, curve.censored, curve.last) == (21, 9, 12, 35)


def test_the_restricted_mean_of_freireich() -> None:
    # R 4.2.2: print(survfit(...), rmean = 35): 23.287, se 2.827.
    found = restricted_mean(WEEKS, RELAPSE, 35)
    assert found.value is not None and found.high is not None
    assert round(found.value, 3) == 23.287
    assert round((found.high - found.value) / 1.959963984540054, 3) == 2.827


def test_the_log_rank_of_freireich() -> None:
    # R 4.2.2: survdiff(Surv(weeks, relapse) ~ arm), chi-squared 16.79.
    found = log_rank(WEEKS + PLACEBO, RELAPSE + [1] * 21, [0] * 21 + [1] * 21)
    assert found.chi2 is not None and round(found.chi2, 2) == 16.79
    assert found.freedom == 1


def test_without_a_cut_the_restricted_mean_is_the_mean() -> None:
    times = np.array([3.0, 5.0, 5.0, 9.0, 14.0])
    found = restricted_mean(times, np.ones(5), 14.0)
    assert found.value == pytest.approx(times.mean())
    assert found.high == pytest.approx(times.mean() + 1.959963984540054 * times.std() / math.sqrt(5))


def test_clusters_of_one_without_a_cut_are_the_mean_by_t() -> None:
    times = np.array([3.0, 5.0, 5.0, 9.0, 14.0])
    found = restricted_mean(times, np.ones(5), 14.0, clusters=[10, 11, 12, 13, 14])
    error = times.std(ddof=1) / math.sqrt(5)
    assert found.high == pytest.approx(min(14.0, times.mean() + 2.7764451051977934 * error))
    assert found.low == pytest.approx(times.mean() - 2.7764451051977934 * error)
    assert found.clusters == 5


def test_runs_that_repeat_add_nothing_when_tasks_are_clusters() -> None:
    often = np.repeat(WEEKS, 4), np.repeat(RELAPSE, 4)
    tasks = np.repeat(np.arange(21), 4)
    once = restricted_mean(WEEKS, RELAPSE, 35, clusters=np.arange(21))
    again = restricted_mean(*often, 35, clusters=tasks)
    naive = restricted_mean(*often, 35)
    assert (again.value, again.low, again.high) == pytest.approx((once.value, once.low, once.high))
    assert again.low is not None and naive.low is not None and naive.low > again.low + 1


def test_each_run_moves_the_mean_as_its_weight_says() -> None:
    # How the mean moves when one run counts a little more gives the error of single runs; one is cut before any ends.
    times, events = np.array([1.0, 2, 4, 4, 6, 7, 9, 9]), np.array([0, 1, 0, 1, 1, 0, 1, 0])
    many, moves = 2000, []
    plain = restricted_mean(np.repeat(times, many), np.repeat(events, many), 9.0).value
    assert plain is not None
    for run in range(8):
        weights = np.full(8, many)
        weights[run] += 1
        heavier = restricted_mean(np.repeat(times, weights), np.repeat(events, weights), 9.0).value
        assert heavier is not None
        moves.append((heavier - plain) * many)
    error = math.sqrt(8 / 7 * float(np.square(moves).sum()))
    found = restricted_mean(times, events, 9.0, 0.5, clusters=np.arange(8))
    assert found.value is not None and found.low is not None
    assert found.value - found.low == pytest.approx(0.7111417 * error, rel=1e-3)


def test_a_mean_of_times_is_not_below_0() -> None:
    found = restricted_mean([0.1, 0.1, 0.1, 30.0], [1, 1, 1, 1], 30.0)
    assert found.low == 0.0
    assert found.high is not None and found.high < 30.0


def test_the_clustered_interval_covers() -> None:
    # 400 studies of 20 tasks x 5 runs, mean times that differ between tasks, cut at 8. The truth by quadrature:
    # the mean of min(T, 8) for T exponential with a mean drawn from 4, 8 or 16.
    draws = np.random.default_rng(17)
    truth = float(np.mean([mean * (1 - math.exp(-8 / mean)) for mean in (4.0, 8.0, 16.0)]))
    tasks, covered = np.repeat(np.arange(20), 5), 0
    for _ in range(400):
        times = draws.exponential(draws.choice([4.0, 8.0, 16.0], 20)[tasks])
        found = restricted_mean(np.minimum(times, 8), times < 8, 8.0, clusters=tasks)
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.925 * 400 <= covered <= 0.975 * 400


def test_nothing_ended() -> None:
    curve = kaplan_meier([5, 5, 5], [0, 0, 0])
    assert (curve.events, curve.median, curve.steps()) == (0, None, [])
    found = restricted_mean([5, 5, 5], [0, 0, 0], 5)
    assert (found.value, found.low, found.high) == (5, 5, 5)
    assert restricted_mean([5, 5], [0, 0], 5, clusters=[0, 1]).value == 5
    assert log_rank([5, 5], [0, 0], [0, 1]).undefined == "because nothing ended"


def test_a_horizon_past_the_last_look_is_undefined() -> None:
    found = restricted_mean(WEEKS, RELAPSE, 40)
    assert found.undefined == "because no run was watched until 40, the longest until 35"
    assert restricted_mean([1, 2], [1, 1], 40).value == 1.5


def test_gaps_and_too_little() -> None:
    assert kaplan_meier([1, np.nan, 3], [1, 1, 0]).n == 2
    assert restricted_mean([], [], 1).undefined == "because there is no run"
    assert restricted_mean([1, 2], [1, 1], 2, clusters=[4, 4]).undefined == "because there is one task only"
    assert log_rank([1, 2], [1, 1], [0, 0]).undefined == "because there is one group only"
    with pytest.raises(ValueError, match="below 0"):
        kaplan_meier([-1], [1])


def test_a_long_curve_is_thinned_to_its_ends() -> None:
    times = np.arange(1, 5001, dtype=float)
    steps = kaplan_meier(times, np.ones(5000)).steps(200)
    assert len(steps) == 200
    assert steps[0][:2] == [1.0, pytest.approx(0.9998)]
    assert steps[-1][:2] == [5000.0, pytest.approx(0.0, abs=1e-12)]
    assert all(low <= survival <= high for _, survival, low, high in steps)
