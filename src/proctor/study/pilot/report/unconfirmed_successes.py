"""Successes that count for less: checks that the code under test could deceive, and reviews that do not accept them.

The report of each run has this for each of its checks. A pilot reports how many of its tasks are concerned, since a
success on them is worth less than one that was confirmed.

A success is what the checks say. Reviewers see what no check asks for, and indicators say where they should look; a
rate counts neither. So the first screen tells which successes nobody has looked at although something in them asks for
it, and which ones reviewers rejected, disagree about or are not sure of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from proctor.judge.human_review import URGENCY, cohen_kappa, krippendorff_alpha, paired_verdicts
from proctor.record.reviews import DISPUTED, OPEN, REJECT, UNSURE, Review, last_verdicts, minutes_of, opinion
from proctor.study.analysis.number_format import first_names
from proctor.study.pilot.ledger.pilot_runs import Run

NAMED = 3
"""How many tasks a sentence names."""


def could_be_forged(runs: Iterable[Run]) -> tuple[str, ...]:
    """How many of the tasks of ``runs`` are decided by checks that can be forged, in a sentence; nothing where none."""
    tasks: dict[str, tuple[bool, ...]] = {}
    for run in sorted(runs, key=lambda run: not run.success):  # inverted tests run for successes alone
        tasks[run.task] = tasks.get(run.task) or run.forgeable
    names = sorted(task for task, checks in tasks.items() if any(checks))
    if not names:
        return ()
    partly = "" if all(all(tasks[name]) for name in names) else ", wholly or in part,"
    of = f"{len(names)} of {len(tasks)} tasks {'is' if len(names) == 1 else 'are'} decided{partly}"
    told = f"{of} by checks whose result the code under test could forge ({first_names(names, NAMED)})"
    return (f"{told}: whether successes there are genuine is not shown",)


NAMED_METHODS = 3
"""How many methods, and how many kinds of indicators of each, a sentence names."""
NOT_ACCEPTED = {REJECT: "rejected", DISPUTED: "disputed", UNSURE: "unsure"}


def agreement(logs: Iterable[tuple[Review, ...]]) -> dict[str, Any] | None:
    """Agreement over the reviews of each run; nothing where none was reviewed."""
    reviews = [log for log in logs if log]
    if not reviews:
        return None
    units = last_verdicts(reviews)
    pair = paired_verdicts(units)
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
            waiting.append(f"{of} of {name} ({first_names(told, NAMED_METHODS)})")
    found = []
    if refused:
        found.append(f"The rates count successes that reviewers did not accept: {first_names(refused, NAMED_METHODS)}.")
    if waiting:
        look = "proctor review lists them"
        found.append(f"Nobody has reviewed the risk indicators of {first_names(waiting, NAMED_METHODS)}; {look}.")
    return " ".join(found)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
