"""What people said of a pilot's runs: how far they agree, what it took, and which successes they did not accept.

A success is what the checks say. Reviewers see what no check asks for, and indicators say where they should look; a
rate counts neither. So the first screen tells which successes nobody has looked at although something in them asks for
it, and which ones reviewers rejected, disagree about or are not sure of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from proctor.judge.agreement import cohen_kappa, krippendorff_alpha, shared
from proctor.judge.waiting import URGENCY
from proctor.record.reviews import DISPUTED, OPEN, REJECT, UNSURE, Review, minutes_of, opinion, said
from proctor.study.analysis.words import among
from proctor.study.pilot.ledger import Run

NAMED = 3
"""How many methods, and how many kinds of indicators of each, a sentence names."""
NOT_ACCEPTED = {REJECT: "rejected", DISPUTED: "disputed", UNSURE: "unsure"}


def agreement(logs: Iterable[tuple[Review, ...]]) -> dict[str, Any] | None:
    """Agreement over the reviews of each run; nothing where none was reviewed."""
    reviews = [log for log in logs if log]
    if not reviews:
        return None
    units = said(reviews)
    pair = shared(units)
    return {
        "cohen": _number(cohen_kappa(pair[1])) if pair else None,
        "krippendorff": _number(krippendorff_alpha(units)),
        "reviewers": sorted({name for unit in units for name in unit}),
        "units": len(units),
        "minutes": float(sum(minutes_of(log) for log in reviews)),
    }


def doubted(runs: Sequence[Run], methods: Sequence[str]) -> str:
    """Which successes of ``methods`` reviewers did not accept, and which wait for one; empty where there is neither."""
    refused, waiting = [], []
    for name in methods:
        won = [run for run in runs if run.method == name and run.success]
        opinions = Counter(NOT_ACCEPTED.get(opinion(run.reviews)) for run in won)
        against = [f"{opinions[word]} {word}" for word in NOT_ACCEPTED.values() if opinions[word]]
        if against:
            many = sum(opinions[word] for word in NOT_ACCEPTED.values())
            refused.append(
                f"{f'{many} of {len(won)}' if len(won) > 1 else 'the only one'} of {name} ({', '.join(against)})"
            )
        unseen = [run for run in won if run.risks and opinion(run.reviews) == OPEN]
        kinds = Counter(kind for run in unseen for kind in run.risks)
        if unseen:
            told = [f"{kind} in {kinds[kind]}" for kind in URGENCY if kinds[kind]]
            of = f"{len(unseen)} of {len(won)} successes" if len(won) > 1 else "the only success"
            waiting.append(f"{of} of {name} ({among(told, NAMED)})")
    found = []
    if refused:
        found.append(f"The rates count successes that reviewers did not accept: {among(refused, NAMED)}.")
    if waiting:
        look = "proctor review lists them"
        found.append(f"Nobody has reviewed the risk indicators of {among(waiting, NAMED)}; {look}.")
    return " ".join(found)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
