"""Time cut at a cap: published numbers, clusters, and the ends of the curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lifelines import KaplanMeierFitter  # type: ignore[import-untyped]
from scipy.stats import beta, norm
from scipy.stats import t as student

from proctor.study.statements import statement
from proctor.study.stats.clustered_rates import cluster_mean, spread
from proctor.study.stats.coverage_simulation import Times, curve_coverage
from proctor.study.stats.survival_curves import kaplan_meier, log_rank, restricted_mean

FloatArray = np.ndarray[tuple[int], np.dtype[np.float64]]

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


def ends_of_a_share(value: float, error: float, horizon: float, freedom: float, level: float) -> list[float]:
    """Clopper and Pearson at the effective sample size, as Korn and Graubard (1998) have it, by scipy.stats."""
    tail, share = (1 - level) / 2, value / horizon
    size = share * (1 - share) / (error / horizon) ** 2 * (norm.ppf(tail) / student.ppf(tail, freedom)) ** 2
    ends = beta.ppf(tail, share * size, (1 - share) * size + 1), beta.isf(tail, share * size + 1, (1 - share) * size)
    return [horizon * float(end) for end in ends]


def test_clusters_of_one_without_a_cut_are_the_mean_of_tasks() -> None:
    times = np.array([3.0, 5.0, 5.0, 9.0, 14.0])
    found = restricted_mean(times, np.ones(5), 14.0, clusters=[10, 11, 12, 13, 14])
    error = times.std(ddof=1) / math.sqrt(5)
    assert [found.low, found.high] == pytest.approx(ends_of_a_share(times.mean(), error, 14.0, 4, 0.95))
    assert found.value == pytest.approx(times.mean()) and found.clusters == 5


def test_a_mean_that_hardly_varies_is_known_well() -> None:
    times = 50 + np.random.default_rng(2).standard_normal(200)
    found = restricted_mean(times, np.ones(200), 100.0, clusters=np.repeat(np.arange(40), 5))
    plain = cluster_mean(times.reshape(40, 5).sum(axis=1), np.full(40, 5))
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high), abs=0.01)


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
    assert found.value is not None
    assert [found.low, found.high] == pytest.approx(ends_of_a_share(found.value, error, 9.0, 7, 0.5), rel=1e-3)


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


def tied(seed: int, tasks: int, runs: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times with ties, cuts and tasks of unequal size: times, whether they ended, and the task of each."""
    draws = np.random.default_rng(seed)
    codes = draws.integers(0, tasks, runs)
    times = np.ceil(draws.exponential(draws.choice([3.0, 6.0, 12.0], tasks)[codes]))
    cut = np.minimum(draws.integers(2, 15, runs), 9)
    return np.minimum(times, cut), (times <= cut).astype(float), codes.astype(float)


def test_the_clustered_error_is_how_lifelines_curve_moves_with_weights() -> None:
    times, events, codes = tied(3, 7, 40)
    ours = kaplan_meier(times, events, clusters=codes)
    moves = np.zeros((7, len(ours.times)))
    for run, task in enumerate(codes.astype(int)):
        heavier = np.full(40, 100_000)
        heavier[run] += 1
        curves = [KaplanMeierFitter().fit(times, events, weights=each) for each in (heavier, np.full(40, 100_000))]
        one, other = (np.log(curve.survival_function_at_times(ours.times).to_numpy()) for curve in curves)
        moves[task] += (one - other) * 100_000
    moves /= 1 - np.bincount(codes.astype(int))[:, None] / 40
    robust = ours.survival * np.sqrt(6 / 7 * (moves**2).sum(axis=0))
    plain = kaplan_meier(times, events).error
    assert ours.error == pytest.approx(np.maximum(robust, plain), rel=1e-3)
    assert (robust > plain).any() and ours.clusters == 7


def test_a_task_with_most_of_the_runs_is_not_all_that_is_known() -> None:
    times, codes = np.array([1.0] * 500 + [9.0] * 5), np.array([0] * 500 + [1, 2, 3, 4, 5])
    mean, curve = (
        restricted_mean(times, np.ones(505), 9, clusters=codes),
        kaplan_meier(times, np.ones(505), clusters=codes),
    )
    assert mean.low is not None and mean.high is not None and mean.low < 0.1 and mean.high > 7
    assert curve.high[0] > 0.9


def test_without_a_cut_the_error_of_the_curve_is_that_of_a_rate() -> None:
    times, _, codes = tied(4, 9, 60)
    ours = kaplan_meier(times, np.ones(60), clusters=codes)
    for place, stamp in enumerate(ours.times[:-1]):
        sizes = np.bincount(codes.astype(int))
        going = spread(np.bincount(codes.astype(int), times > stamp), sizes)
        independent = math.sqrt(going.value * (1 - going.value) / 60) if going else math.nan
        assert going is not None and ours.survival[place] == pytest.approx(going.value)
        assert ours.error[place] == pytest.approx(max(going.error, independent))


def test_tasks_of_one_run_have_greenwoods_error() -> None:
    times, events, _ = tied(5, 5, 30)
    ours, plain = kaplan_meier(times, events, clusters=np.arange(30)), kaplan_meier(times, events)
    assert ours.error == pytest.approx(plain.error * math.sqrt(30 / 29))
    assert (ours.low < plain.low).all() and (ours.high > plain.high).all()


def test_the_same_run_over_and_over_widens_no_band_and_narrows_none() -> None:
    often = np.repeat(WEEKS, 6), np.repeat(RELAPSE, 6)
    once, again = kaplan_meier(WEEKS, RELAPSE, clusters=WEEKS), kaplan_meier(*often, clusters=np.repeat(WEEKS, 6))
    assert again.low == pytest.approx(once.low) and again.high == pytest.approx(once.high)
    assert (kaplan_meier(*often).low > again.low).all()


def test_one_task_bounds_no_curve() -> None:
    curve = kaplan_meier([1, 2, 3], [1, 1, 0], clusters=[8, 8, 8])
    assert (curve.low.tolist(), curve.high.tolist(), curve.clusters) == ([0, 0], [1, 1], 1)


def test_bands_and_means_of_tasks_hold_the_truth() -> None:
    held = curve_coverage(Times(0.6, 15, 5, early=True), 400, np.random.default_rng(20260307))
    assert min(held.bands) >= 0.93 and held.mean >= 0.93
    assert max(held.plain) < 0.9, "as if runs were independent, bands would miss it"


def test_tasks_of_which_no_run_ended_leave_it_open_what_others_would_do() -> None:
    found = restricted_mean([5, 5, 5], [0, 0, 0], 5, clusters=[0, 1, 2])
    # As three successes of three: Clopper and Pearson's lower end is 0.025 ** (1 / 3).
    assert (found.value, found.high) == (5, 5)
    assert found.low == pytest.approx(5 * 0.025 ** (1 / 3))
    assert restricted_mean([0, 0], [1, 1], 0, clusters=[0, 1]).value == 0


def test_nothing_ended() -> None:
    curve = kaplan_meier([5, 5, 5], [0, 0, 0])
    assert (curve.events, curve.median, curve.steps()) == (0, None, [])
    found = restricted_mean([5, 5, 5], [0, 0, 0], 5)
    assert (found.value, found.low, found.high) == (5, 5, 5)
    assert restricted_mean([5, 5], [0, 0], 5, clusters=[0, 1]).value == 5
    assert log_rank([5, 5], [0, 0], [0, 1]).undefined == "nothing-ended"


def test_a_horizon_past_the_last_look_is_undefined() -> None:
    found = restricted_mean(WEEKS, RELAPSE, 40)
    assert found.undefined == statement("not-observed-so-long", horizon=40, longest=35.0)
    assert restricted_mean([1, 2], [1, 1], 40).value == 1.5


def test_gaps_and_too_little() -> None:
    assert kaplan_meier([1, np.nan, 3], [1, 1, 0]).n == 2
    assert restricted_mean([], [], 1).undefined == statement("no-run")
    assert restricted_mean([1, 2], [1, 1], 2, clusters=[4, 4]).undefined == statement("fewer-than-two-tasks")
    assert log_rank([1, 2], [1, 1], [0, 0]).undefined == "one-group"
    with pytest.raises(ValueError, match="below 0"):
        kaplan_meier([-1], [1])


def test_a_long_curve_is_thinned_to_its_ends() -> None:
    times = np.arange(1, 5001, dtype=float)
    steps = kaplan_meier(times, np.ones(5000)).steps(200)
    assert len(steps) <= 201
    assert steps[0][:2] == [1.0, pytest.approx(0.9998)]
    assert [2500.0, pytest.approx(0.5)] in [step[:2] for step in steps], "the median is seen in the curve"
    assert steps[-1][:2] == [5000.0, pytest.approx(0.0, abs=1e-12)]
    assert all(low <= survival <= high for _, survival, low, high in steps)
