"""Successes that count for less: checks that the code under test could deceive, and reviews that do not accept them.

The report of each run has this for each of its checks. A pilot reports how many of its tasks are concerned, because a
success on them is worth less than one that was confirmed.

A success is what the checks accept. Reviewers find faults that no check covers, and indicators show where they should
look; neither changes a rate. So a report lists the successes with indicators that were not reviewed, and those that
reviewers rejected, disagree about or are not sure of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from proctor.judge.human_review import URGENCY, cohen_kappa, krippendorff_alpha, paired_verdicts
from proctor.record.reviews import DISPUTED, OPEN, REJECT, UNSURE, Review, last_verdicts, minutes_of, opinion
from proctor.study.pilot.ledger.pilot_runs import Run
from proctor.study.statements import Statement, statement


def could_be_forged(runs: Iterable[Run]) -> tuple[Statement, ...]:
    """How many of the tasks of ``runs`` are decided by checks that can be forged; nothing if there are none."""
    tasks: dict[str, tuple[bool, ...]] = {}
    for run in sorted(runs, key=lambda run: not run.success):  # inverted tests run for successes alone
        tasks[run.task] = tasks.get(run.task) or run.forgeable
    names = sorted(task for task, checks in tasks.items() if any(checks))
    if not names:
        return ()
    partly = not all(all(tasks[name]) for name in names)
    return (statement("forgeable-checks", tasks=names, of=len(tasks), partly=partly),)


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


def doubted(runs: Sequence[Run], methods: Sequence[str]) -> Iterator[Statement]:
    """Which successes of ``methods`` reviewers did not accept, and which have not been reviewed."""
    refused, waiting = [], []
    for name in methods:
        won = [run for run in runs if run.method == name and run.success]
        opinions = Counter(NOT_ACCEPTED.get(opinion(run.reviews)) for run in won)
        counts = {verdict: opinions[verdict] for verdict in NOT_ACCEPTED.values()}
        if any(counts.values()):
            refused.append({"method": name, "successes": len(won), **counts})
        unseen = [run for run in won if run.risks and opinion(run.reviews) == OPEN]
        kinds = Counter(kind for run in unseen for kind in run.risks)
        if unseen:
            found = {kind: kinds[kind] for kind in URGENCY if kinds[kind]}
            waiting.append({"method": name, "runs": len(unseen), "successes": len(won), "kinds": found})
    if refused:
        yield statement("successes-not-accepted", methods=refused)
    if waiting:
        yield statement("risks-not-reviewed", methods=waiting)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
