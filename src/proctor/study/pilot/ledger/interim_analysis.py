"""Looks at the comparison before a pilot is complete, as its protocol planned them. Pure.

A look falls after the block that brings the plan to the look's share. It compares task means of the primary endpoint,
and compares the p value with the nominal level that alpha spending leaves for it. By intention to treat every run of a
complete block counts, otherwise only scorable ones, as in the report. As there, the t test decides from 20 tasks on;
with fewer the larger of its p value and that of flipped signs does. It must be below the level. The rule is symmetric:
it does not matter which method is ahead. Where a pilot names no two methods to compare, every pair of methods has to
cross, by p values that are adjusted over all pairs together, as those of the report are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.random import default_rng

from proctor.study.analysis.question import INTENTION_TO_TREAT
from proctor.study.pilot.ledger.interim_look import UNDEFINED, Look
from proctor.study.pilot.ledger.pilot_runs import Run
from proctor.study.stats.alpha_spending import boundaries
from proctor.study.stats.multiple_comparisons import max_t
from proctor.study.stats.paired_comparison import decisive, paired_difference, sign_flip

DIGITS = 12


def looks_of(protocol: Mapping[str, Any], blocks: int) -> tuple[tuple[int, str], ...]:
    """After how many complete blocks the planned looks fall, each with its share of the plan."""
    found = ((math.ceil(Decimal(look) * blocks), str(look)) for look in protocol["stopping"]["looks"])
    return tuple(one for one in found if one[0])


def pairs_of(protocol: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs that a look compares."""
    comparison = protocol["comparison"]
    if comparison is not None:
        return ((comparison["candidate"], comparison["against"]),)
    return tuple(combinations([one["name"] for one in protocol["methods"] if not one["baseline"]], 2))


def look_at(
    runs: Sequence[Run], protocol: Mapping[str, Any], blocks: int, of: int, earlier: Sequence[Look], wanted: str = ""
) -> Look:
    """What the runs of the first ``blocks`` of ``of`` blocks show, after the ``earlier`` looks."""
    shares = [float(look.share) for look in earlier] + [blocks / of]
    nominal = boundaries(shares, float(protocol["alpha"])).nominal[-1]
    pairs = pairs_of(protocol)
    methods = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    used = [run for run in runs if run.method in methods and counts_for_endpoint(run, protocol)]
    seen = family(used, methods, pairs, protocol)
    crossed = bool(seen) and all(p is not None and p < nominal for _, p in seen)
    return Look(
        blocks=blocks,
        share=_text(blocks / of),
        pairs=tuple((a, b, _text(gap), _text(p)) for (a, b), (gap, p) in zip(pairs, seen, strict=True)),
        nominal=_text(nominal),
        crossed=crossed,
        wanted=wanted,
        tasks=tuple(sorted({run.task for run in used})),
        runs=tuple(run.run for run in used),
    )


def counts_for_endpoint(run: Run, protocol: Mapping[str, Any]) -> bool:
    """Whether a run counts for the primary endpoint."""
    return run.scorable or protocol["endpoints"]["primary"] == INTENTION_TO_TREAT


def family(
    runs: Iterable[Run], methods: Sequence[str], pairs: Sequence[tuple[str, str]], protocol: Mapping[str, Any]
) -> list[tuple[float | None, float | None]]:
    """For each pair the mean difference of the primary endpoint over the tasks of both, and the p value that decides.

    Several pairs share the level, by the step-down maximum over all of them. Signs are drawn by the protocol's seed.
    """
    seed = int(protocol["seeds"]["observed"])
    means = _means([run for run in runs if counts_for_endpoint(run, protocol)], methods)
    found = [_compared(means, methods.index(a), methods.index(b), seed) for a, b in pairs]
    if len(pairs) < 2:
        return found
    adjusted = _adjusted(means, len(methods), seed)
    joint = [adjusted[min(place), max(place)] for place in ((methods.index(a), methods.index(b)) for a, b in pairs)]
    return [(gap, None if p is None else max(p, more)) for (gap, p), more in zip(found, joint, strict=True)]


Means = tuple[tuple[float, ...], ...]
"""The share of successes, a line for each task and a column for each method; nan where no run counts."""


def _means(runs: Iterable[Run], methods: Sequence[str]) -> Means:
    seen: dict[str, dict[str, list[bool]]] = {}
    for run in runs:
        if run.method in methods:
            seen.setdefault(run.task, {}).setdefault(run.method, []).append(run.scorable and run.success)
    return tuple(tuple(_mean(seen[task].get(method, [])) for method in methods) for task in sorted(seen))


def _mean(outcomes: Sequence[bool]) -> float:
    return sum(outcomes) / len(outcomes) if outcomes else math.nan


def _compared(means: Means, a: int, b: int, seed: int) -> tuple[float | None, float | None]:
    both = [line for line in means if not math.isnan(line[a] - line[b])]
    found = paired_difference([line[a] for line in both], [line[b] for line in both])
    flipped = _flipped(tuple(line[a] - line[b] for line in both), seed)
    return found.difference.value, decisive(found.p, flipped, len(both))


@lru_cache(maxsize=64)
def _adjusted(means: Means, methods: int, seed: int) -> Mapping[tuple[int, int], float]:
    """The adjusted p value of every pair of columns; cached, since the same look is computed again."""
    found = max_t(np.array(means).reshape(-1, methods), default_rng(seed))
    return dict(zip(found.pairs, found.p_adjusted, strict=True))


@lru_cache(maxsize=64)
def _flipped(differences: tuple[float, ...], seed: int) -> float | None:
    """The p value of flipped signs; cached, since the same look is computed again with every block that follows."""
    return sign_flip(differences, default_rng(seed)).p


def _text(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.{DIGITS}g}"
