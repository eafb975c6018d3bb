"""Every pair of agents on the tasks that both attempted: differences, ranks and the decision rule.

A difference is that of task means, with a paired t interval and test. A test by flipped signs is given as well; with
fewer than 20 tasks it must confirm the t test. With more than two agents the p values of flipped signs are adjusted
over all pairs together by the step-down maximum, so that the chance of any false claim stays at alpha; a pair has then
to pass its own test and this one. The one comparison that was named in advance is not adjusted, like the comparison of
two agents. The rank
of an agent is a range: from the number of agents shown to be better, to the number shown to be worse.

A pair is separable where its p value is below alpha and its interval excludes 0. The two agree, unless all
tasks differ alike: p is then that of their signs, the interval an exact bound on what other tasks may show.

Let the interval be that of the difference, candidate minus the agent in use. The minimum effect is the least difference
that is worth a change, 0 when none is given:

    keep        the whole interval is below the minimum effect, or below 0: a difference worth having is ruled out
    adopt       the interval is above 0, the difference reaches the minimum effect, and the pair is separable, with
                all comparisons counted
    undecided   anything else; the data allow both

An *adopt* becomes undecided if it does not hold with unknown and invalid runs counted as no success: it then depends on
runs that were left out. The same applies if it does not hold with such runs of the agent in use counted as successes
and those of the candidate as no success, and in a pilot with the runs of removed tasks counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.question import level_of
from proctor.study.stats.arrays import Floats
from proctor.study.stats.estimate import Estimate, defined
from proctor.study.stats.multiple_comparisons import max_t, rank_ranges
from proctor.study.stats.paired_comparison import DRAWS, EXACT_TASKS, decisive, paired_difference, sign_flip

RANKING, ADOPT, KEEP, UNDECIDED = "ranking", "adopt", "keep", "undecided"


def decide(difference: Estimate, minimum_effect: float | None, separable: bool) -> str:
    """Adopt, keep or undecided."""
    wanted = minimum_effect or 0.0
    if difference.value is None or difference.low is None or difference.high is None:
        return UNDECIDED
    if difference.high < wanted or difference.high <= 0:
        return KEEP
    if difference.low > 0 and difference.value >= wanted and separable:
        return ADOPT
    return UNDECIDED


def toward(pair: dict[str, Any], agent: str) -> Estimate:
    """The difference of a pair seen from ``agent``."""
    found: Estimate = pair["difference"]
    if pair["a"] == agent or found.value is None or found.low is None or found.high is None:
        return found
    return defined(
        0.0 - found.value,
        0.0 - found.high,
        0.0 - found.low,
        level=found.level,
        method=found.method,
        n=found.n,
        clusters=found.clusters,
    )


PRODUCTS = 2e10
"""How many products the random signs may cost; with very many tasks and agents fewer patterns are drawn."""
LEAST_DRAWS = 1_999
RATED_TASKS = 2
"""How many tasks with outcomes are needed for a rate that applies to other tasks."""


def compare_pairs(
    cells: Cells, rng: np.random.Generator, planned: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    """Every pair; ``a`` is before ``b`` in the ranking. The pair ``planned`` is not adjusted for the others."""
    means = cells.means()
    order = ranking(cells)
    means = means[:, order]
    names = [cells.agents[agent] for agent in order]
    together = max_t(means, rng, _draws(*means.shape))
    found = []
    for place, (a, b) in enumerate(together.pairs):
        compared = paired_difference(means[:, a], means[:, b], cells.level)
        tasks = together.tasks[place]
        flipped: float | None = together.p[place]
        if tasks <= EXACT_TASKS:
            flipped = sign_flip(means[:, a] - means[:, b], rng).p
        adjusted = decisive(compared.p, flipped, tasks)
        if adjusted is not None and len(together.pairs) > 1 and {names[a], names[b]} != planned:
            adjusted = max(adjusted, together.p_adjusted[place])
        found.append(
            {
                "a": names[a],
                "b": names[b],
                "tasks": tasks,
                "difference": compared.difference,
                "p": compared.p,
                "p_adjusted": adjusted,
                "p_sign_flip": flipped,
                "separable": _apart(adjusted, compared.difference, cells.alpha),
            }
        )
    return found


def is_separable(means: Floats, pair: tuple[int, int], alone: bool, alpha: float, rng: np.random.Generator) -> bool:
    """Whether two columns of task means are separable: by their own p value if ``alone``, otherwise among all pairs."""
    one, other = means[:, pair[0]], means[:, pair[1]]
    compared = paired_difference(one, other, level_of(alpha))
    p = decisive(compared.p, sign_flip(one - other, rng).p, compared.difference.clusters)
    if p is not None and not alone and means.shape[1] > 2:
        together = max_t(means, rng, _draws(*means.shape))
        p = max(p, together.p_adjusted[together.pairs.index((min(pair), max(pair)))])
    return _apart(p, compared.difference, alpha)


def _apart(p: float | None, difference: Estimate, alpha: float) -> bool:
    low, high = difference.low, difference.high
    return p is not None and p < alpha and low is not None and high is not None and not low <= 0 <= high


def ranking(cells: Cells) -> list[int]:
    """The agents by the endpoint, the best first; those alike by name."""
    standing = _standing(cells)
    return sorted(range(len(standing)), key=lambda agent: (standing[agent], agent))


def _standing(cells: Cells) -> list[tuple[int, float]]:
    """What orders agents, the least first: the rate, where two tasks or more make one.

    One task gives no information about others: an agent with outcomes at one task comes after those with a rate, and an
    agent without outcomes comes last. If no agent has two tasks, they are ordered by their shares.
    """
    rates = np.round(np.nan_to_num(cells.rates()), 12).tolist()
    tasks = np.minimum((cells.tries > 0).sum(axis=1), RATED_TASKS).tolist()
    return [(RATED_TASKS - many, -rate) for many, rate in zip(tasks, rates, strict=True)]


def ranks(cells: Cells, pairs: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The position of each agent, and the best and worst rank that it may have."""
    place = {name: agent for agent, name in enumerate(cells.agents)}
    better = np.zeros((len(place), len(place)), dtype=bool)
    for pair in pairs:
        if pair["separable"]:
            ahead, behind = (pair["a"], pair["b"]) if pair["difference"].value > 0 else (pair["b"], pair["a"])
            better[place[ahead], place[behind]] = True
    standing, ranges = _standing(cells), rank_ranges(better)
    ordered = sorted(standing)
    return {
        name: {"position": 1 + ordered.index(standing[agent]), "best": ranges[agent][0], "worst": ranges[agent][1]}
        for name, agent in place.items()
    }


def _draws(tasks: int, agents: int) -> int:
    products = max(1, tasks) * agents * (agents - 1) / 2
    return int(max(LEAST_DRAWS, min(DRAWS, PRODUCTS / max(1.0, products))))
