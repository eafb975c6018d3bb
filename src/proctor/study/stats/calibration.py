"""Do the methods keep their promises? Simulated studies whose truth is known, and how often an answer was right.

Tasks draw a rate of their own from a beta distribution, runs are drawn from it. Nothing here is part of an analysis; it
is how the analysis was chosen and how it is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from proctor.study.stats.attainable import chances, differing_share
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.multiplicity import max_t
from proctor.study.stats.paired import mcnemar, paired_difference
from proctor.study.stats.power import Design
from proctor.study.stats.power_simulation import CELLS, Test, decisions, simulated_means
from proctor.study.stats.sequential import boundaries

SIGNS = 499
"""Patterns of signs for each simulated study of several agents; reports draw more."""
SETTINGS = tuple(
    Design(rate, icc, 0.0, tasks, 5) for tasks in (5, 10, 20, 50) for rate in (0.5, 0.9) for icc in (0.2, 0.6)
)
"""The sixteen settings in which intervals of one rate were compared."""


@dataclass(frozen=True)
class Coverage:
    """How often an interval held the truth, how wide it was on average, and how often there was none."""

    covered: float
    width: float
    undefined: float
    draws: int


def coverage(
    interval: Callable[[Sequence[int], Sequence[int]], Estimate], design: Design, draws: int, rng: np.random.Generator
) -> Coverage:
    """Let ``interval`` judge the counts of ``draws`` studies; an interval that is not there covers nothing."""
    size = (1 - design.icc) / design.icc
    rates = rng.beta(design.rate * size, (1 - design.rate) * size, (draws, design.tasks))
    # Studies with the same counts in another order have the same answer, so that each is asked for once.
    studies, repeats = np.unique(np.sort(rng.binomial(design.runs, rates), axis=1), axis=0, return_counts=True)
    trials = [design.runs] * design.tasks
    covered, width, missing = 0, 0.0, 0
    for counts, times in zip(studies.tolist(), repeats.tolist(), strict=True):
        found = interval(counts, trials)
        if found.low is None or found.high is None:
            missing += times
            continue
        covered += times * (found.low <= design.rate <= found.high)
        width += times * (found.high - found.low)
    return Coverage(covered / draws, width / max(1, draws - missing), missing / draws, draws)


def false_alarms(design: Design, draws: int, rng: np.random.Generator, test: Test = decisions) -> float:
    """How often a comparison, as reports decide it, finds a difference of two agents that have none."""
    rows, found = max(1, CELLS // design.tasks), 0
    for start in range(0, draws, rows):
        a, b = simulated_means(design, 0.0, min(rows, draws - start), rng)
        found += int(np.count_nonzero(test(b - a, design.alpha, design.runs)))
    return found / draws


def single_run_false_alarms(design: Design) -> float:
    """The same for one run of each task, where only counts matter: exact, all of them are asked for."""
    share = differing_share(design.rate, design.icc, design.correlation)
    won, lost = np.tril_indices(design.tasks + 1, -1)
    possible = won + lost <= design.tasks
    won, lost = won[possible], lost[possible]
    places = np.arange(design.tasks)
    differences = (places < won[:, None]).astype(np.float64) - (places >= design.tasks - lost[:, None])
    claimed = decisions(differences, design.alpha, 1)
    return 2 * float(chances(design.tasks, (share,))[0][won[claimed], lost[claimed]].sum())


def mcnemar_false_alarms(design: Design, draws: int, rng: np.random.Generator) -> float:
    """The same by McNemar's test over pairs of runs, as if runs of one task were independent."""
    a, b = (np.rint(means * design.runs).astype(np.int64) for means in simulated_means(design, 0.0, draws, rng))
    both = rng.hypergeometric(b, design.runs - b, a)
    pairs = np.column_stack(((a - both).sum(axis=1), (b - both).sum(axis=1)))
    tables, repeats = np.unique(pairs, axis=0, return_counts=True)
    found = [mcnemar(int(only_a), int(only_b)).p for only_a, only_b in tables]
    return (
        sum(int(times) for p, times in zip(found, repeats, strict=True) if p is not None and p < design.alpha) / draws
    )


def family_false_alarms(
    design: Design, agents: int, draws: int, rng: np.random.Generator, signs: int = SIGNS, *, alike: bool = False
) -> float:
    """How often a report of several agents that do not differ tells any two of them apart, with 20 tasks or more.

    Their rates on a task are drawn apart, or are one and the same where the agents are ``alike``.
    """
    size, found = (1 - design.icc) / design.icc, 0
    columns = 1 if alike else agents
    for _ in range(draws):
        rates = rng.beta(design.rate * size, (1 - design.rate) * size, (design.tasks, columns))
        means = rng.binomial(design.runs, np.broadcast_to(rates, (design.tasks, agents))) / design.runs
        together = max_t(means, rng, signs)
        claimed = [pair for pair, p in zip(together.pairs, together.p_adjusted, strict=True) if p < design.alpha]
        by_t = (paired_difference(means[:, a], means[:, b]).p for a, b in claimed)
        found += any(p is not None and p < design.alpha for p in by_t)
    return found / draws


def sequential_false_alarms(design: Design, looks: Sequence[float], draws: int, rng: np.random.Generator) -> float:
    """How often looks on the way find a difference that is not there, each decided on the tasks so far."""
    plan = boundaries(looks, design.alpha)
    rows, found = max(1, CELLS // design.tasks), 0
    for start in range(0, draws, rows):
        a, b = simulated_means(design, 0.0, min(rows, draws - start), rng)
        stopped = np.zeros(len(a), dtype=bool)
        for look, nominal in zip(plan.looks, plan.nominal, strict=True):
            tasks = max(2, round(look * design.tasks))
            stopped |= decisions((b - a)[:, :tasks], nominal, design.runs)
        found += int(np.count_nonzero(stopped))
    return found / draws


def brownian_false_alarms(looks: Sequence[float], draws: int, rng: np.random.Generator, alpha: float = 0.05) -> float:
    """The same for a statistic that is exactly normal: what the limits themselves spend."""
    plan = boundaries(looks, alpha)
    steps = np.sqrt(np.diff((0.0, *plan.looks)))
    path = np.cumsum(rng.standard_normal((draws, len(steps))) * steps, axis=1)
    beyond = np.abs(path) >= np.array(plan.limits) * np.sqrt(plan.looks)
    return float(np.count_nonzero(beyond.any(axis=1))) / draws
