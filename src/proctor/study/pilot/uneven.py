"""What the answer of a pilot owes to tasks that have fewer runs than others, since their budgets were used up.

Where the budget of a task ends its runs while others go on, the runs of a task can end just when a candidate leads on
it. So the comparison is made once more on the repeats of which no task was cut, and nobody is adopted whom it does not
adopt as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from proctor.study.analysis.counted import counted
from proctor.study.analysis.question import Question
from proctor.study.analysis.words import among, points
from proctor.study.pilot.randomise import Slot
from proctor.study.pilot.records import Standing, stages_of
from proctor.study.pilot.stopping import task_pays
from proctor.study.table import Table

NAMED = 3
"""How many tasks a sentence names."""


def cut_blocks(here: Standing) -> tuple[tuple[Slot, ...], ...]:
    """The blocks that the budgets of their tasks cut while others went on.

    A rule that ended the pilot cuts those after its end, and no single task; neither does a run that was to be made
    again when the rule came.
    """
    ledger, account = here.ledger, here.account()
    blocks = list(ledger.blocks())
    open_ = [[slot for slot in block if ledger.holder(slot) is None] for block in blocks]
    ended = any(stage.stop is not None for stage in stages_of(here))
    last = max((place for place, left in enumerate(open_) if not left), default=-1) if ended else len(blocks)
    pairs = zip(blocks[:last], open_[:last], strict=True)
    return tuple(block for block, left in pairs if left and not task_pays(here.plan.protocol, account, left))


def cut_tasks(here: Standing) -> tuple[str, ...]:
    """The tasks of these blocks."""
    return tuple(sorted({block[0].task for block in cut_blocks(here)}))


def common_repeats(here: Standing) -> tuple[int, ...]:
    """The repeats of which no budget of a task cut any."""
    lacking = {block[0].repeat for block in cut_blocks(here)}
    return tuple(sorted({slot.repeat for slot in here.ledger.wanted()} - lacking))


def evened(here: Standing, table: Table, question: Question) -> Question:
    """The question with the comparison of equal numbers of runs to be held against, where budgets of tasks cut some."""
    if not cut_tasks(here) or question.unfinished or not question.planned:
        return question
    even = table.select(np.isin(table.trial, common_repeats(here)))
    if not len(even):
        return replace(question, unfinished="the budgets of tasks cut every repeat of some task")
    return replace(question, counted=(*question.counted, counted(even, question, _how(here))))


def _how(here: Standing) -> str:
    return f"only the repeats of which no budget cut a task ({', '.join(map(str, common_repeats(here)))})"


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
