"""How much a ranking by the graded score owes to the weights. Pure.

Each weight in turn is moved down and up by every step, the others keep their proportions and the sum stays 1. For each
such weighting the ranking of the agents is compared with the one of the contract's weights by Kendall's tau-b. Scores
are means over the runs of an agent that passed every gate; the number of those runs stands beside each mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from proctor.judge.exact import CONTEXT, decimal_text, share, weighted

STEPS = tuple(Decimal(text) for text in ("0.05", "0.1", "0.2"))
"""By how much a weight is moved; a policy choice."""

Parts = Mapping[str, Decimal]


@dataclass(frozen=True)
class Moved:
    """What became of the ranking when one weight was moved."""

    weight: str
    by: str
    weights: tuple[tuple[str, str], ...]
    tau: Decimal | None
    same_first: bool


def mean_parts(reports: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Parts, int]]:
    """The mean of each part over the runs of each agent that passed every gate, and how many those were."""
    gathered: dict[str, list[Mapping[str, str]]] = {}
    for report in reports:
        if report["score"]:
            gathered.setdefault(str(report["agent"]["name"]), []).append(report["score"]["parts"])
    return {
        agent: ({name: share(sum(Decimal(one[name]) for one in runs), len(runs)) for name in runs[0]}, len(runs))
        for agent, runs in sorted(gathered.items())
    }


def ranking(means: Mapping[str, Parts], weights: Parts) -> dict[str, Decimal]:
    """The score of every agent."""
    return {agent: weighted(weights, parts) for agent, parts in means.items()}


def moved(weights: Parts, name: str, by: Decimal) -> dict[str, Decimal]:
    """The weights with one moved within 0 and 1, and the others scaled so that the sum stays 1."""
    target = min(Decimal(1), max(Decimal(0), CONTEXT.add(weights[name], by)))
    others = [other for other in weights if other != name]
    rest, left = sum((weights[other] for other in others), Decimal(0)), CONTEXT.subtract(Decimal(1), target)
    scaled = {
        other: CONTEXT.multiply(left, share(weights[other], rest)) if rest else share(left, len(others))
        for other in others
    }
    return {one: target if one == name else scaled[one] for one in weights}


def kendall(first: Sequence[Decimal], second: Sequence[Decimal]) -> Decimal | None:
    """Tau-b of two rankings of the same things, with ties; undefined where one of them orders nothing."""
    agree = first_ordered = second_ordered = 0
    for left, right in combinations(range(len(first)), 2):
        one, other = _sign(first[left] - first[right]), _sign(second[left] - second[right])
        agree += one * other
        first_ordered += one != 0
        second_ordered += other != 0
    if not first_ordered or not second_ordered:
        return None
    return CONTEXT.divide(Decimal(agree), CONTEXT.sqrt(Decimal(first_ordered * second_ordered)))


def sensitivity(means: Mapping[str, Parts], weights: Parts) -> tuple[Moved, ...]:
    """Every movement of every weight that changes it, with what became of the ranking."""
    usual = ranking(means, weights)
    found = []
    for name in weights:
        for by in sorted([*(-step for step in STEPS), *STEPS]):
            now = moved(weights, name, by)
            if now == dict(weights):
                continue
            scores = ranking(means, now)
            tau = kendall(list(usual.values()), [scores[agent] for agent in usual])
            listed = tuple((one, decimal_text(value)) for one, value in now.items())
            found.append(Moved(name, f"{by:+}", listed, tau, _first(usual) == _first(scores)))
    return tuple(found)


def _first(scores: Mapping[str, Decimal]) -> set[str]:
    """The agents that nobody surpasses."""
    return {agent for agent, score in scores.items() if score == max(scores.values())}


def _sign(value: Decimal) -> int:
    return (value > 0) - (value < 0)
