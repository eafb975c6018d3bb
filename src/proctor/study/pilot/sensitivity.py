"""What the answer of a pilot owes to runs that do not count: those that were made again, and those of removed tasks.

Nobody may watch a run go wrong, stop it and have another one, or take out the tasks that are going wrong, without a
reader seeing what that did. Both are on record and told one by one; here is what they come to together. There has to be
an objective reason for every removal, but who finds several can choose among them: so nobody is adopted who is not with
the runs of removed tasks counted as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from proctor.study.analysis.counted import counted
from proctor.study.analysis.question import Question
from proctor.study.pilot.ledger import RUNNING, Run
from proctor.study.pilot.looks import family, pairs_of, tells
from proctor.study.pilot.records import Standing, places
from proctor.study.pilot.stopping import methods_of
from proctor.study.table import Table


def made_again(here: Standing) -> tuple[tuple[str, str, int], ...]:
    """How many runs of each method came to nothing on each task before another one filled their place."""
    ledger, methods = here.ledger, {*methods_of(here.plan.protocol), *_asked(here)}
    found: Counter[tuple[str, str]] = Counter()
    for slot, held, counts in places(here):
        if held is None or not counts or slot.method not in methods:
            continue
        attempts = ledger.attempts(slot)
        before = attempts[: attempts.index(held)]
        found[slot.method, slot.task] += sum(run.state != RUNNING for run in before)
    return tuple((method, task, count) for (method, task), count in sorted(found.items()) if count)


def choices(here: Standing) -> Iterator[str]:
    """What could have been chosen with the results in view, in sentences."""
    again = made_again(here)
    if again:
        counts = {name: sum(count for method, _, count in again if method == name) for name in _asked(here)}
        told = ", ".join(f"{count or 'none'} of {name}" for name, count in counts.items())
        yield f"Runs that were cut off, stopped or spoilt were made again: {told}."
    if here.journal.removals and here.plan.protocol["comparison"] is not None:
        yield from _with_removed(here)


def put_back(here: Standing) -> Standing:
    """The pilot as if no task had been removed."""
    return replace(here, journal=replace(here.journal, removals=()))


def restored(here: Standing, whole: Table, question: Question) -> Question:
    """The question with the comparison to be held against that counts removed tasks; ``whole`` has their rows."""
    tells_more = any(whole.task.is_(task).any() for task in here.journal.removed)
    if question.unfinished or not question.planned or not tells_more:
        return question
    again = replace(question, repeated=made_again(put_back(here)))
    return replace(question, counted=(*question.counted, counted(whole, again, "the runs of removed tasks counted")))


def _asked(here: Standing) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for pair in pairs_of(here.plan.protocol) for name in pair))


def _with_removed(here: Standing) -> Iterator[str]:
    """The comparison with the runs of removed tasks, as far as there are any."""
    whole = replace(here.ledger, removed=frozenset())
    runs = [run for block in whole.blocks() for run in whole.filled(block) or ()]
    if any(_tells(run, here) for run in runs):
        protocol = here.plan.protocol
        ((gap, p),) = family(runs, _asked(here), pairs_of(protocol), protocol)
        if gap is not None and p is not None:
            told = f"With the runs of removed tasks counted, the difference would be {100 * gap:+.1f} points"
            yield f"{told} (p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})."


def _tells(run: Run, here: Standing) -> bool:
    return run.task in here.journal.removed and tells(run, here.plan.protocol) and run.method in _asked(here)
