"""Whether the statistics keep their promises: simulated studies with a known truth, the same ones every time.

Here "proctor" is what was seen and "floor" what was promised. The rows of the intervals that reports do not use say
what they would have done in the same studies; they have no bar.

A comparison of two agents has bars from above and from below, in every setting of 20 tasks and more but two: at rates
of 0.9, with 20 tasks of one run and agents that correlate, no rule that keeps the bar from above everywhere could meet
the one from below. How much any rule could claim at most is computed there, and the bar is nine tenths of it; see
:mod:`proctor.study.stats.coverage_simulation`. With fewer than 20 tasks two tests have to agree, and there is none from
below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from bench.measure import Row
from proctor.study.stats.clustered_rates import cluster_rate, cluster_t, logit, wilson
from proctor.study.stats.coverage_simulation import (
    SETTINGS,
    brownian_false_alarms,
    coverage,
    curve_coverage,
    differing_share,
    false_alarms,
    family_false_alarms,
    mcnemar_false_alarms,
    most_errors,
    sequential_false_alarms,
    single_run_false_alarms,
)
from proctor.study.stats.coverage_simulation import SURVIVAL_SETTINGS as TIMES
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.statistical_power import Design, confirmed

SEED = 20260307
LEAST_COVERAGE = 0.94
ALARMS = (0.04, 0.06)
HARDER = tuple(
    Design(rate, icc, 0.0, tasks, 5) for tasks in (15, 25, 30) for rate in (0.9, 0.95) for icc in (0.2, 0.6, 0.9)
)
"""Rates near 1 with middling numbers of tasks, where intervals go wrong most easily."""


def _pairs(tasks: Sequence[int], rates: Sequence[float], runs: Sequence[int] = (1, 3, 5)) -> tuple[Design, ...]:
    """Two agents without a difference, whose rates correlate over tasks or do not."""
    return tuple(Design(*each) for each in product(rates, (0.2, 0.6), (0.0, 0.5), tasks, runs))


MODERATE = _pairs((20, 30, 50, 100), (0.5, 0.7))
EASY = _pairs((50, 100), (0.9,))
HARDLY_APART = _pairs((20, 30), (0.9,), (3, 5))
"""Four to fifteen tasks differ on average."""
SINGLE = _pairs((20, 30), (0.9,), (1,))
"""The same with one run of each task, of which two to five differ: enumerated, since only counts matter."""
MOST_OF_IT = 0.9
FEW = _pairs((5, 8, 12, 16, 19), (0.5, 0.9))
FAMILIES = tuple(product((20, 50), (1, 5), (3, 6), (False, True)))
LOOKS = ((0.5, 1.0), (1 / 3, 2 / 3, 1.0), (0.2, 0.4, 0.6, 0.8, 1.0))

Interval = Callable[[Sequence[int], Sequence[int]], Estimate]


def measure(directory: Path, *, quick: bool) -> list[Row]:
    draws, trials = (4_000, 20_000) if quick else (20_000, 40_000)
    rows = [_covering("rate of an agent covers, 16 settings", cluster_rate, SETTINGS, draws, LEAST_COVERAGE)]
    rows.append(_covering("  near 1, 18 settings", cluster_rate, HARDER, draws, LEAST_COVERAGE))
    for name, interval in OTHERS.items():
        rows.append(_covering(f"  {name} instead", interval, SETTINGS, draws // 2, None))
    rows.append(_alarming("paired comparison, no difference, 96 settings", false_alarms, MODERATE, trials, ALARMS[0]))
    rows.append(_alarming("  rates of 0.9, 50 and 100 tasks", false_alarms, EASY, trials, ALARMS[0]))
    rows.append(_alarming("  rates of 0.9, 20, 30 tasks of 3, 5 runs", false_alarms, HARDLY_APART, trials, ALARMS[0]))
    rows += _single_runs()
    rows.append(_alarming("  fewer than 20 tasks", false_alarms, FEW, draws, 0.0))
    rows.append(_alarming("  if signs had to confirm it", _confirmed, MODERATE, draws // 2, None))
    rows.append(_alarming("  McNemar over runs instead", mcnemar_false_alarms, MODERATE, draws // 4, None))
    families = [_family(tasks, runs, agents, alike, draws // 20) for tasks, runs, agents, alike in FAMILIES]
    rows.append(_range("any false claim among 3 or 6 agents", families, 0.0, ALARMS[1] + (0.01 if quick else 0)))
    looked = [_looks(looks, draws * 10) for looks in LOOKS]
    rows.append(_range("looks on the way, normal statistic", looked, 0.045, 0.055))
    rows.append(_alarming("looks on the way, paired comparison", _two_looks, MODERATE, trials, ALARMS[0]))
    rows.append(_alarming("  rates of 0.9, 50 and 100 tasks", _two_looks, EASY, trials, ALARMS[0]))
    return rows + _survival(draws // 10)


OTHERS: dict[str, Interval] = {
    "Korn-Graubard, unchanged": lambda successes, trials: cluster_rate(successes, trials, plain=True),
    "t over tasks": cluster_t,
    "t on the logit scale": logit,
    "Wilson over runs": lambda successes, trials: wilson(sum(successes), sum(trials)),
}


def _covering(name: str, interval: Interval, settings: Sequence[Design], draws: int, bar: float | None) -> Row:
    """The setting in which the interval holds the truth most rarely."""
    rng = np.random.default_rng(SEED)
    return _shares(name, [coverage(interval, design, draws, rng).covered for design in settings], bar)


def _shares(name: str, shares: Sequence[float], bar: float | None) -> Row:
    seen = f"{min(shares):.1%} to {max(shares):.1%}"
    if bar is None:
        return Row(name, seen, "95.0%", "", "", None)
    return Row(name, seen, "95.0%", "", f">= {bar:.0%}", min(shares) >= bar)


def _alarming(
    name: str,
    rate: Callable[[Design, int, np.random.Generator], float],
    settings: Sequence[Design],
    draws: int,
    least: float | None,
) -> Row:
    rng = np.random.default_rng(SEED)
    return _range(name, [rate(design, draws, rng) for design in settings], least, ALARMS[1])


def _range(name: str, shares: Sequence[float], least: float | None, most: float) -> Row:
    seen = f"{min(shares):.1%} to {max(shares):.1%}"
    if least is None:
        return Row(name, seen, "5.0%", "", "", None)
    bar = f"{least:.1%} to {most:.1%}" if least else f"<= {most:.0%}"
    return Row(name, seen, "5.0%", "", bar, least <= min(shares) and max(shares) <= most)


def attainable(design: Design) -> float:
    """The most that any rule claims in studies of single runs, if it never claims more than the bar allows."""
    return most_errors(design.tasks, differing_share(design.rate, design.icc, design.correlation), ALARMS[1])


def _single_runs() -> list[Row]:
    """Where some rule could claim as much as the bar wants, ours has to; elsewhere most of what is left."""
    found = {design: (single_run_false_alarms(design), attainable(design)) for design in SINGLE}
    enough = [ours for ours, most in found.values() if most >= ALARMS[0]]
    rows = [_range("  rates of 0.9, 20, 30 tasks of one run, exact", enough, *ALARMS)]
    for design, (ours, most) in found.items():
        if most < ALARMS[0]:
            name = f"  {design.tasks} tasks of one run, within {design.icc:g}, between {design.correlation:g}"
            bar = f">= {MOST_OF_IT:g} of what any rule could"
            rows.append(Row(name, f"{ours:.2%}", f"{most:.2%}", f"{ours / most:.2f}", bar, ours >= MOST_OF_IT * most))
    return rows


def _looks(looks: Sequence[float], draws: int) -> float:
    return brownian_false_alarms(looks, draws, np.random.default_rng(SEED))


def _confirmed(design: Design, draws: int, rng: np.random.Generator) -> float:
    return false_alarms(design, draws, rng, confirmed)


def _family(tasks: int, runs: int, agents: int, alike: bool, draws: int) -> float:
    design = Design(0.5, 0.4, 0.0, tasks, runs)
    return family_false_alarms(design, agents, draws, np.random.default_rng(SEED), alike=alike)


def _survival(draws: int) -> list[Row]:
    rng = np.random.default_rng(SEED)
    found = [curve_coverage(times, draws, rng) for times in TIMES]
    kinds = {
        "survival bands cover, 16 settings": ([share for held in found for share in held.bands], LEAST_COVERAGE),
        "  as if runs were independent": ([share for held in found for share in held.plain], None),
        "restricted means cover, 16 settings": ([held.mean for held in found], LEAST_COVERAGE),
    }
    return [_shares(name, shares, bar) for name, (shares, bar) in kinds.items()]


def _two_looks(design: Design, draws: int, rng: np.random.Generator) -> float:
    return sequential_false_alarms(design, (0.5, 1.0), draws, rng)
