"""Tasks whose checks the code under test could deceive: not confirmed by inverted tests, or without sentinels. Pure.

The report of each run has this for each of its checks. A pilot reports how many of its tasks are concerned, since a
success on them is worth less than one that was confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable

from proctor.study.analysis.words import among
from proctor.study.pilot.ledger import Run

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
    told = f"{of} by checks whose result the code under test could forge ({among(names, NAMED)})"
    return (f"{told}: whether successes there are genuine is not shown",)
