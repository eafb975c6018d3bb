"""The rule by which a difference becomes a decision, fixed before the numbers are seen.

Let the interval be that of the difference, candidate minus the agent in use. The minimum effect is the least difference
that is worth a change, 0 when none is given:

    keep        the whole interval lies below the minimum effect, or below 0: a difference worth having is ruled out
    adopt       the interval lies above 0, the difference reaches the minimum effect, and the pair is separable, with
                all comparisons counted
    undecided   anything else; the data allow both

An *adopt* that is none with unknown and invalid runs counted as no success is undecided as well: it rests on runs that
were left out. So is one that is none if such runs of the agent in use were successes and those of the candidate were
none, and in a pilot one that is none with the runs of removed tasks counted.
"""

from __future__ import annotations

from typing import Any

from proctor.study.stats.estimate import Estimate, defined

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
