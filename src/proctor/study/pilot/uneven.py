"""What the answer of a pilot owes to tasks that have fewer runs than others, since their budgets were used up.

Where the budget of a task ends its runs while others go on, the runs of a task can end just when a candidate leads on
it. So the comparison is made once more on the repeats that every task has, and nobody is adopted whom it does not adopt
as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from proctor.base.frozen import replace
from proctor.study.analysis.counted import counted
from proctor.study.analysis.question import Question
from proctor.study.analysis.words import among, points
from proctor.study.pilot.records import Standing, stages_of
from proctor.study.table import Table

NAMED = 3
"""How many tasks a sentence names."""


def cut_tasks(here: Standing) -> tuple[str, ...]:
    """The tasks of which the plan has blocks that their budgets cut: others have runs of later blocks, or all of them.

    A rule that ended the pilot cuts those after its end, and no single task.
    """
    ledger = here.ledger
    open_ = [ledger.filled(block) is None for block in ledger.blocks()]
    last = max((place for place, lacks in enumerate(open_) if not lacks), default=-1)
    passed = {block[0].task for block, lacks in zip(list(ledger.blocks())[:last], open_, strict=False) if lacks}
    cut = {block[0].task for stage in stages_of(here) if stage.stop is None for block in stage.ahead.cut}
    return tuple(sorted(passed | cut))


def common_repeats(here: Standing) -> tuple[int, ...]:
    """The repeats that every task has complete."""
    ledger = here.ledger
    lacking = {block[0].repeat for block in ledger.blocks() if ledger.filled(block) is None}
    return tuple(sorted({slot.repeat for slot in ledger.wanted()} - lacking))


def evened(here: Standing, table: Table, question: Question) -> Question:
    """The question with the comparison of equal numbers of runs to be held against, where budgets of tasks cut some."""
    if not cut_tasks(here) or question.unfinished or not question.planned:
        return question
    import numpy as np

    even = table.select(np.isin(table.trial, common_repeats(here)))
    if not len(even):
        return replace(question, unfinished="the budgets of tasks left no repeat that every task has")
    return replace(question, counted=(*question.counted, counted(even, question, _how(here))))


def _how(here: Standing) -> str:
    return f"only the repeats that every task has ({', '.join(map(str, common_repeats(here)))})"


def unequal(here: Standing, question: Question) -> Iterator[str]:
    """That budgets of tasks cut their runs, of how many, and what the comparison is without that."""
    cut = cut_tasks(here)
    if not cut:
        return
    of = len({slot.task for slot in here.ledger.wanted()})
    told = f"Tasks have unequal numbers of runs: the budget of a task cut those of {len(cut)} of {of} tasks"
    yield f"{told} ({among(cut, NAMED)})."
    for one in question.counted:
        if one.how.startswith(_how(here)) and one.difference.value is not None:
            yield f"With {one.how}, the difference is {points(one.difference)}: {one.verdict}."
