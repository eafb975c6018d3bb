"""How often the methods are right: coverage and false alarms in simulated studies whose truth is known.

Tasks draw a rate of their own from a beta distribution, runs are drawn from it. Nothing here is part of an analysis; it
is how the analysis was chosen and how it is checked.

Two agents without a difference have one run of each task. A task then differs with some chance, the *share*, and
points either way alike; w differ one way and l the other, and a rule says for which w:l it claims a difference. Any
sensible rule treats both agents alike, and what it claims for w:l with w > l it claims as well when one more points the
winner's way, or one fewer the loser's. So each claim brings others along, and a rule that makes it errs at least as
often as all of these come up. Whatever errs too often by that at some share cannot be claimed by a rule that keeps its
level at every share, and what is left bounds the errors of all such rules. t, flipped signs and McNemar are among them.

The logarithm of a time is normal, a part of it shared by the runs of a task. Runs are cut at a cap, and some of them
earlier, at a time of their own. Nothing here is part of an analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from scipy.special import ndtri

from proctor.study.stats.alpha_spending import boundaries
from proctor.study.stats.arrays import Floats
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.multiple_comparisons import max_t
from proctor.study.stats.paired_comparison import mcnemar, paired_difference
from proctor.study.stats.statistical_power import CELLS, Design, Test, decisions, simulated_means
from proctor.study.stats.survival_curves import Curve, kaplan_meier, restricted_mean

SHARES = tuple(step / 200 for step in range(1, 200))
"""Where a claim is compared with a limit. More places would leave fewer claims, and make the bounds lower."""


def differing_share(rate: float, icc: float, correlation: float) -> float:
    """The share of tasks on which single runs of two agents with the same rate have different results."""
    return 2 * rate * (1 - rate) * (1 - icc * correlation)


def chances(tasks: int, shares: Sequence[float]) -> Floats:
    """How likely w:l is at each share, at ``[share, w, l]``."""
    counts = range(tasks + 1)
    ways = np.array([[comb(tasks, won) * comb(tasks - won, lost) for lost in counts] for won in counts], dtype=float)
    differing = np.add.outer(np.arange(tasks + 1), np.arange(tasks + 1))
    share = np.array(shares, dtype=float)[:, None, None]
    found: Floats = ways * (share / 2) ** differing * (1 - share) ** np.maximum(tasks - differing, 0)
    return found


def least_errors(tasks: int, shares: Sequence[float]) -> Floats:
    """How often a rule that claims w:l errs at least at each share, at ``[share, w, l]`` where w > l.

    It claims what has at least w one way and at most l the other, for either agent.
    """
    won = np.cumsum(chances(tasks, shares)[:, ::-1], axis=1)[:, ::-1]
    found: Floats = 2 * np.cumsum(won, axis=2)
    return found


def most_errors(tasks: int, share: float, limit: float) -> float:
    """The most that a rule can err at ``share`` which errs at no share more often than ``limit``."""
    ahead = np.greater.outer(np.arange(tasks + 1), np.arange(tasks + 1))
    possible = ahead & (least_errors(tasks, SHARES).max(axis=0) <= limit)
    return min(limit, 2 * float(chances(tasks, (share,))[0][possible].sum()))


ENDED = (0.1, 0.3, 0.6)
"""Where bands are looked at: when so many of all runs would have ended."""
CAPPED = 0.75
"""By the cap so many would have."""


@dataclass(frozen=True)
class Times:
    """How times come about: ``icc`` is the part of the logarithm's variance that the runs of a task share."""

    icc: float
    tasks: int
    runs: int
    early: bool = False
    """Whether some runs are cut before the cap too."""


SURVIVAL_SETTINGS = tuple(
    Times(icc, tasks, 5, early) for tasks, icc, early in product((5, 10, 20, 50), (0.2, 0.6), (False, True))
)


@dataclass(frozen=True)
class Held:
    """The share of studies that cover the truth: bands at each of ENDED, those of independent runs, and the means."""

    bands: tuple[float, ...]
    plain: tuple[float, ...]
    mean: float


def curve_coverage(times: Times, draws: int, rng: np.random.Generator) -> Held:
    """Compute bands and restricted means for ``draws`` studies; means that are undefined are left out."""
    tasks = np.repeat(np.arange(times.tasks), times.runs)
    cap = float(ndtri(CAPPED))
    truth = float(np.exp(np.minimum(ndtri((np.arange(100_000) + 0.5) / 100_000), cap)).mean())
    bands, plain, means, defined = np.zeros(len(ENDED)), np.zeros(len(ENDED)), 0, 0
    for _ in range(draws):
        logs = math.sqrt(times.icc) * rng.standard_normal(times.tasks)[tasks]
        logs = logs + math.sqrt(1 - times.icc) * rng.standard_normal(len(tasks))
        cut = np.full(len(tasks), cap)
        if times.early:
            # One run of each task at most, so that usually some run is still observed at the cap.
            cut[:: times.runs] = np.minimum(cap, rng.standard_normal(times.tasks) + 0.8)
        seen, ended = np.exp(np.minimum(logs, cut)), logs <= cut
        bands += _held(kaplan_meier(seen, ended, clusters=tasks))
        plain += _held(kaplan_meier(seen, ended))
        found = restricted_mean(seen, ended, math.exp(cap), clusters=tasks)
        if found.low is not None and found.high is not None:
            defined, means = defined + 1, means + (found.low <= truth <= found.high)
    return Held(tuple((bands / draws).tolist()), tuple((plain / draws).tolist()), means / max(1, defined))


def _held(curve: Curve) -> Floats:
    """At which of ENDED the band contains the truth; if no run has ended yet or none is left, nothing is claimed."""
    held = np.ones(len(ENDED))
    for place, ended in enumerate(ENDED):
        step = int(np.searchsorted(curve.times, math.exp(float(ndtri(ended))), side="right")) - 1
        if step >= 0 and curve.survival[step] > 0:
            held[place] = curve.low[step] <= 1 - ended <= curve.high[step]
    return held


SIGNS = 499
"""Patterns of signs for each simulated study of several agents; reports draw more."""
SETTINGS = tuple(
    Design(rate, icc, 0.0, tasks, 5) for tasks in (5, 10, 20, 50) for rate in (0.5, 0.9) for icc in (0.2, 0.6)
)
"""The sixteen settings in which intervals of one rate were compared."""


@dataclass(frozen=True)
class Coverage:
    """How often an interval contained the truth, how wide it was on average, and how often there was none."""

    covered: float
    width: float
    undefined: float
    draws: int


def coverage(
    interval: Callable[[Sequence[int], Sequence[int]], Estimate], design: Design, draws: int, rng: np.random.Generator
) -> Coverage:
    """Apply ``interval`` to the counts of ``draws`` studies; an undefined interval covers nothing."""
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
    """How often a comparison, as reports decide it, finds a difference between two agents that do not differ."""
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
    """How often a report of several agents that do not differ separates any two of them, with 20 tasks or more.

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
    """How often interim looks find a difference that does not exist, each decided on the tasks so far."""
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
