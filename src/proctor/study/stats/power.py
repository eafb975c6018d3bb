"""How many tasks and runs a comparison needs, by formula.

Runs of one task are alike, so m runs of a task are worth m / (1 + (m - 1) icc). A paired comparison gains from tasks
being hard or easy for both agents alike. ``Design`` holds what is assumed; nothing here is estimated. The variance of a
task's difference is that of Miller, "Adding error bars to evals" (2024): between tasks plus within tasks over runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import nctdtr

from proctor.study.stats.limits import normal_quantile, t_quantile

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True)
class Design:
    """Two agents on the same tasks: the rate of the lower one, how alike runs are, and how alike agents are on a task.

    ``icc`` correlates two runs of one agent on one task; ``correlation`` is that of the two agents' rates over tasks.
    """

    rate: float
    icc: float
    correlation: float
    tasks: int
    runs: int
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not (0 <= self.rate <= 1 and 0 <= self.icc <= 1 and -1 <= self.correlation <= 1 and 0 < self.alpha < 1):
            raise ValueError(f"no design has these shares: {self}")
        if self.tasks < 2 or self.runs < 1:
            raise ValueError(f"two tasks and one run each are the least, not {self.tasks} and {self.runs}")


def design_effect(runs: float, icc: float) -> float:
    """By how much the runs of one task inflate the variance of a mean."""
    return 1 + (runs - 1) * icc


def two_proportions_size(first: float, second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Independent runs for each of two agents to tell their rates apart, two-sided, unrounded."""
    if first == second:
        return math.inf
    middle = (first + second) / 2
    under_null = -normal_quantile(alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    beyond = normal_quantile(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return ((under_null + beyond) / (first - second)) ** 2


def two_proportions_tasks(
    first: float, second: float, runs: int, icc: float, alpha: float = ALPHA, power: float = POWER
) -> int:
    """Tasks for each of two agents that share none, with ``runs`` runs of each task."""
    size = two_proportions_size(first, second, alpha, power)
    return math.ceil(size * design_effect(runs, icc) / runs - 1e-9)


def paired_size(
    omega2: float,
    effect: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    runs_a: int = 1,
    runs_b: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """Miller's number of tasks: ``omega2`` is the variance of differences between tasks, ``sigma2`` within a task."""
    total = omega2 + sigma2_a / runs_a + sigma2_b / runs_b
    reach = normal_quantile(power) - normal_quantile(alpha / 2)
    return math.ceil(reach**2 * total / effect**2 - 1e-9)


def paired_variance(design: Design, effect: float) -> float:
    """The variance of one task's difference of means when the other agent's rate is higher by ``effect``."""
    spreads = [rate * (1 - rate) for rate in (design.rate, _raised(design, effect))]
    between = [design.icc * spread for spread in spreads]
    within = sum((1 - design.icc) * spread for spread in spreads) / design.runs
    return sum(between) - 2 * design.correlation * math.sqrt(between[0] * between[1]) + within


def paired_power(design: Design, effect: float) -> float:
    """The chance that the paired t test over tasks finds ``effect``."""
    variance = paired_variance(design, effect)
    if variance <= 0:
        return 1.0 if effect else design.alpha
    freedom, shift = design.tasks - 1, effect / math.sqrt(variance / design.tasks)
    limit = t_quantile(1 - design.alpha / 2, freedom)
    if shift > limit + 35:
        return 1.0
    return min(1.0, 1 - float(nctdtr(freedom, shift, limit)) + float(nctdtr(freedom, shift, -limit)))


def minimum_detectable(design: Design, power: float = POWER) -> float | None:
    """The smallest rise of the rate that is found with ``power``; ``None`` if not even the largest possible one is."""
    low, high = 0.0, 1 - design.rate
    if high <= 0 or paired_power(design, high) < power:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        if paired_power(design, middle) < power:
            low = middle
        else:
            high = middle
    return high


def tasks_needed(design: Design, effect: float, power: float = POWER, most: int = 1_000_000) -> int | None:
    """The fewest tasks that find ``effect`` with ``power``; ``None`` if even ``most`` do not."""

    def enough(tasks: int) -> bool:
        return paired_power(replace(design, tasks=tasks), effect) >= power

    if not enough(most):
        return None
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _raised(design: Design, effect: float) -> float:
    raised = design.rate + effect
    if not -1e-12 <= raised <= 1 + 1e-12:
        raise ValueError(f"a rate of {design.rate:g} cannot change by {effect:g}")
    return min(1.0, max(0.0, raised))
