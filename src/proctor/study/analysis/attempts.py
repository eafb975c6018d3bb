"""What several attempts are worth, and what runs without a known outcome leave open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proctor.study.analysis.cells import Cells
from proctor.study.analysis.question import Question
from proctor.study.stats.misclassification import rogan_gladen
from proctor.study.stats.missing import imputed_rate, manski
from proctor.study.stats.passk import all_of_k, pass_at_k

MAX_K = 10
MOST_TRIALS = 100
"""A k above ``MAX_K`` is looked at only for the largest number of trials, and only up to this."""


def several_attempts(cells: Cells) -> list[dict[str, Any]]:
    """For each agent: at least one success in k, and k successes in k, for every k up to the trials of most tasks.

    Over scorable runs, with an unknown outcome as no success: leaving such runs out would leave out whole tasks, and
    other tasks for every k.
    """
    found = []
    for wins, tries in zip(cells.wins, cells.count(cells.scorable), strict=True):
        counts = tries[tries > 0]
        most = int(np.median(counts)) if len(counts) else 1
        ks = [*range(1, min(most, MAX_K) + 1), *([min(most, MOST_TRIALS)] if most > MAX_K else [])]
        found.append(
            {
                "pass_at": [{"k": k, "estimate": pass_at_k(wins, tries, k, cells.level)} for k in ks],
                "all_of": [{"k": k, "estimate": all_of_k(wins, tries, k, cells.level)} for k in ks],
            }
        )
    return found


def unknown_outcomes(cells: Cells, generator: Callable[[], np.random.Generator]) -> list[dict[str, Any]]:
    """For each agent the bounds that unknown outcomes leave, and the rate with those outcomes drawn.

    Every agent has the same random numbers, so that a name decides nothing.
    """
    known = cells.count(cells.known)
    unknown = cells.count(cells.scorable & ~cells.known)
    found = []
    for agent in range(len(cells.agents)):
        wins, lost = int(cells.wins[agent].sum()), int(unknown[agent].sum())
        bounds = manski(wins, lost, int(known[agent].sum()) + lost)
        imputed = None
        if lost:
            imputed = imputed_rate(cells.wins[agent], known[agent], unknown[agent], generator(), cells.level)
        found.append(
            {"bounds": {"low": bounds.low, "high": bounds.high, "unknown": bounds.unknown}, "imputed": imputed}
        )
    return found


def corrected(rates: list[dict[str, Any]], question: Question) -> list[list[dict[str, Any]]]:
    """For each agent the rate if acceptance errs as often as it was measured to, and as the question supposes."""
    known = question.measured
    errs: list[tuple[float, float, int | None, int | None]] = [(*pair, None, None) for pair in question.oracle]
    if known is not None:
        errs = [(known.accepted / known.right, known.refused / known.faulty, known.right, known.faulty), *errs]
    return [
        [
            {
                "sensitivity": sensitivity,
                "specificity": specificity,
                "sensitivity_n": right,
                "specificity_n": faulty,
                "estimate": rogan_gladen(rate["success"], sensitivity, specificity, right, faulty),
            }
            for sensitivity, specificity, right, faulty in errs
        ]
        for rate in rates
    ]
