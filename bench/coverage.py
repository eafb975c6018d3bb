"""Whether the statistics keep their promises: simulated studies with a known truth, the same ones every time.

Here "proctor" is what was seen and "floor" what was promised. The rows of the intervals that reports do not use say
what they would have done in the same studies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.measure import Row
from proctor.study.stats.calibration import (
    SETTINGS,
    brownian_false_alarms,
    coverage,
    false_alarms,
    sequential_false_alarms,
)
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.power import Design
from proctor.study.stats.rates import cluster_rate, cluster_t, logit, wilson

SEED = 20260307
LEAST_COVERAGE = 0.94
ALARMS = (0.04, 0.06)
HARDER = tuple(
    Design(rate, icc, 0.0, tasks, 5) for tasks in (15, 25, 30) for rate in (0.9, 0.95) for icc in (0.2, 0.6, 0.9)
)
"""Rates near 1 with middling numbers of tasks, where intervals go wrong most easily."""
MODERATE = tuple(
    Design(rate, icc, correlation, tasks, 5)
    for tasks in (20, 50)
    for rate in (0.5, 0.7)
    for icc in (0.2, 0.6)
    for correlation in (0.0, 0.5)
)
EXTREME = tuple(
    Design(0.9, icc, correlation, tasks, 5) for tasks in (20, 50) for icc in (0.2, 0.6) for correlation in (0.0, 0.5)
)
LOOKS = ((0.5, 1.0), (1 / 3, 2 / 3, 1.0), (0.2, 0.4, 0.6, 0.8, 1.0))

Interval = Callable[[Sequence[int], Sequence[int]], Estimate]


def measure(directory: Path, *, quick: bool) -> list[Row]:
    draws = 4_000 if quick else 20_000
    rows = [_covering("rate of an agent covers, 16 settings", cluster_rate, SETTINGS, draws, LEAST_COVERAGE)]
    rows.append(_covering("  near 1, 18 settings", cluster_rate, HARDER, draws, LEAST_COVERAGE))
    for name, interval in OTHERS.items():
        rows.append(_covering(f"  {name} instead", interval, SETTINGS, draws // 2, None))
    rows.append(_alarming("paired comparison, no difference", false_alarms, MODERATE, draws, ALARMS[0]))
    rows.append(_alarming("  rates of 0.9", false_alarms, EXTREME, draws, 0.0))
    looked = [_looks(looks, draws * 10) for looks in LOOKS]
    rows.append(_range("looks on the way, normal statistic", looked, 0.045, 0.055))
    rows.append(_alarming("looks on the way, paired comparison", _two_looks, MODERATE, draws, ALARMS[0]))
    return rows


OTHERS: dict[str, Interval] = {
    "Korn-Graubard to the letter": lambda successes, trials: cluster_rate(successes, trials, plain=True),
    "t over tasks": cluster_t,
    "t on the logit scale": logit,
    "Wilson over runs": lambda successes, trials: wilson(sum(successes), sum(trials)),
}


def _covering(name: str, interval: Interval, settings: Sequence[Design], draws: int, bar: float | None) -> Row:
    """The setting in which the interval holds the truth most rarely."""
    rng = np.random.default_rng(SEED)
    shares = [coverage(interval, design, draws, rng).covered for design in settings]
    seen = f"{min(shares):.1%} to {max(shares):.1%}"
    if bar is None:
        return Row(name, seen, "95.0%", "", "", None)
    return Row(name, seen, "95.0%", "", f">= {bar:.0%}", min(shares) >= bar)


def _alarming(
    name: str,
    rate: Callable[[Design, int, np.random.Generator], float],
    settings: Sequence[Design],
    draws: int,
    least: float,
) -> Row:
    rng = np.random.default_rng(SEED)
    return _range(name, [rate(design, draws, rng) for design in settings], least, ALARMS[1])


def _range(name: str, shares: Sequence[float], least: float, most: float) -> Row:
    seen = f"{min(shares):.1%} to {max(shares):.1%}"
    bar = f"{least:.1%} to {most:.1%}" if least else f"<= {most:.0%}"
    return Row(name, seen, "5.0%", "", bar, least <= min(shares) and max(shares) <= most)


def _looks(looks: Sequence[float], draws: int) -> float:
    return brownian_false_alarms(looks, draws, np.random.default_rng(SEED))


def _two_looks(design: Design, draws: int, rng: np.random.Generator) -> float:
    return sequential_false_alarms(design, (0.5, 1.0), draws, rng)
