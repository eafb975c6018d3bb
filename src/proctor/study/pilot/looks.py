"""Looks at the comparison before a pilot is complete, as its protocol planned them. Pure.

A look falls after the block that brings the plan to the look's share. It compares task means of the primary endpoint
over scorable runs, and holds the p value against the nominal level that alpha spending leaves for it. As in the report,
the t test decides from 20 tasks on; with fewer the larger of its p value and that of flipped signs does. It has to lie
below the level. The rule is symmetric: it does not matter who is ahead. Where a pilot names no two methods to compare,
every pair of methods has to cross, which none of them does by chance more often than alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import Any

from proctor.base.frozen import frozen, items
from proctor.study.pilot.ledger import Run

DIGITS = 12


@frozen
class Look:
    """One look: after how many blocks, at which share of the plan, each pair with its p value, and the level."""

    blocks: int
    share: str
    pairs: tuple[tuple[str, str, str, str], ...]
    nominal: str
    crossed: bool

    @property
    def value(self) -> str:
        """The largest p value, or that there is none."""
        return max((p for *_, p in self.pairs), key=lambda p: math.inf if p == "undefined" else float(p))

    @property
    def words(self) -> str:
        """What the look showed."""
        told = "; ".join(f"{a} - {b} = {difference}, p = {p}" for a, b, difference, p in self.pairs)
        return f"at {self.share} of the plan: {told}, held against {self.nominal}"

    def record(self) -> dict[str, Any]:
        """The look as data."""
        return {**dict(items(self)), "pairs": [list(pair) for pair in self.pairs]}


def looks_of(protocol: Mapping[str, Any], blocks: int) -> tuple[int, ...]:
    """After how many complete blocks the planned looks fall."""
    found = (math.ceil(Decimal(look) * blocks) for look in protocol["stopping"]["looks"])
    return tuple(dict.fromkeys(number for number in found if number))


def pairs_of(protocol: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs that a look compares."""
    comparison = protocol["comparison"]
    if comparison is not None:
        return ((comparison["candidate"], comparison["against"]),)
    return tuple(combinations([one["name"] for one in protocol["methods"] if not one["baseline"]], 2))


def look_at(runs: Sequence[Run], protocol: Mapping[str, Any], blocks: int, of: int, earlier: Sequence[Look]) -> Look:
    """What the runs of the first ``blocks`` of ``of`` blocks show, after the ``earlier`` looks."""
    from proctor.study.stats.sequential import boundaries

    shares = [float(look.share) for look in earlier] + [blocks / of]
    nominal = boundaries(shares, float(protocol["alpha"])).nominal[-1]
    found, crossed = [], True
    for a, b in pairs_of(protocol):
        difference, p = compared(runs, a, b, int(protocol["seeds"]["observed"]))
        crossed = crossed and p is not None and p < nominal
        found.append((a, b, _text(difference), _text(p)))
    return Look(blocks, _text(blocks / of), tuple(found), _text(nominal), crossed and bool(found))


def compared(runs: Iterable[Run], a: str, b: str, seed: int) -> tuple[float | None, float | None]:
    """The mean difference of two methods over the tasks that both were scored on, and the p value that decides.

    ``seed`` is for the signs that are drawn where there are too many tasks to try all of them.
    """
    from proctor.study.stats.paired import decisive, paired_difference

    seen: dict[str, dict[str, list[bool]]] = {}
    for run in runs:
        if run.method in (a, b) and run.scorable:
            seen.setdefault(run.task, {a: [], b: []})[run.method].append(run.success)
    both = [task for task in sorted(seen) if seen[task][a] and seen[task][b]]
    of_a, of_b = ([sum(seen[task][method]) / len(seen[task][method]) for task in both] for method in (a, b))
    found = paired_difference(of_a, of_b)
    flipped = _flipped(tuple(one - other for one, other in zip(of_a, of_b, strict=True)), seed)
    return found.difference.value, decisive(found.p, flipped, len(both))


@lru_cache(maxsize=64)
def _flipped(differences: tuple[float, ...], seed: int) -> float | None:
    """The p value of flipped signs; kept, since the same look is computed again with every block that follows."""
    from numpy.random import default_rng

    from proctor.study.stats.paired import sign_flip

    return sign_flip(differences, default_rng(seed)).p


def _text(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.{DIGITS}g}"
