"""How the answer of a pilot changes when runs are counted in another way.

Where both agents of the comparison were named, the candidate is adopted only if each such way results in adopt by the
whole rule, in which runs without an outcome count as failures of the candidate as well.

If the budget of a task ends its runs while others continue, the runs of a task can end just when a candidate leads on
it. So the comparison is repeated on the repeats of which no task was cut, and it must result in adopt as well.

A user could stop a run that goes wrong and repeat it, or remove the tasks that go wrong. Both are recorded one by one;
this module computes their effect together. Every removal needs an objective reason, but a user who finds several can
choose among them: so the comparison with the runs of removed tasks must result in adopt as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from proctor.study.analysis.caveats import against_all, one_sided, unknown_outcome_counts
from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.pairwise_comparison import ADOPT, compare_pairs, decide, toward
from proctor.study.analysis.question import SEED, AlternativeCount, Question
from proctor.study.pilot.ledger.interim_analysis import counts_for_endpoint, family, pairs_of
from proctor.study.pilot.ledger.pilot_runs import RUNNING, Run
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.running.pilot_state import PilotState, places, stages_of
from proctor.study.pilot.running.stopping_rules import methods_of, task_pays
from proctor.study.run_table import Table
from proctor.study.statements import Statement, statement


def count_differently(table: Table, question: Question, how: Statement) -> AlternativeCount:
    """The comparison over the rows of ``table``; if their runs without an outcome change it, the comparison with these.

    The question names both agents, and ``table`` has runs of both.
    """
    cells = Cells(table, question)
    pairs = compare_pairs(cells, np.random.default_rng(SEED), question.planned)
    pair = next(one for one in pairs if {one["a"], one["b"]} == question.planned)
    difference = toward(pair, str(question.candidate))
    verdict = decide(difference, question.minimum_effect, pair["separable"])
    if verdict != ADOPT:
        return AlternativeCount((how,), verdict, difference)
    best, against = {"agent": question.candidate}, {"agent": question.against}
    worst = (against_all(cells, question, best, against), one_sided(cells, question, best, against, against))
    ways = unknown_outcome_counts(question, str(question.against), *worst)
    turning = next((one for one in ways if one.verdict != ADOPT), None)
    if turning is None:
        return AlternativeCount((how,), verdict, difference)
    return AlternativeCount((how, *turning.how), turning.verdict, turning.difference)


def cut_blocks(here: PilotState) -> tuple[tuple[Slot, ...], ...]:
    """The blocks that the budgets of their tasks cut while others went on.

    A rule that ended the pilot cuts those after its end, and no single task; neither does a run that had to be repeated
    when the rule applied.
    """
    ledger, account = here.ledger, here.account()
    blocks = list(ledger.blocks())
    open_ = [[slot for slot in block if ledger.run_that_fills(slot) is None] for block in blocks]
    ended = any(stage.stop is not None for stage in stages_of(here))
    last = max((place for place, left in enumerate(open_) if not left), default=-1) if ended else len(blocks)
    pairs = zip(blocks[:last], open_[:last], strict=True)
    return tuple(block for block, left in pairs if left and not task_pays(here.plan.protocol, account, left))


def cut_tasks(here: PilotState) -> tuple[str, ...]:
    """The tasks of these blocks."""
    return tuple(sorted({block[0].task for block in cut_blocks(here)}))


def common_repeats(here: PilotState) -> tuple[int, ...]:
    """The repeats of which no budget of a task cut any."""
    lacking = {block[0].repeat for block in cut_blocks(here)}
    return tuple(sorted({slot.repeat for slot in here.ledger.wanted()} - lacking))


def with_equal_repeats(here: PilotState, table: Table, question: Question) -> Question:
    """The question with another comparison of equal numbers of runs, if budgets of tasks cut some."""
    if not cut_tasks(here) or question.unfinished or not question.planned:
        return question
    even = table.select(np.isin(table.trial, common_repeats(here)))
    if not len(even):
        return replace(question, unfinished=statement("every-repeat-cut"))
    return replace(question, counted=(*question.counted, count_differently(even, question, _how(here))))


def _how(here: PilotState) -> Statement:
    """Only the repeats of which no budget cut a task."""
    return statement("equal-repeats", repeats=list(common_repeats(here)))


def unequal(here: PilotState, question: Question) -> Iterator[Statement]:
    """That budgets of tasks cut their runs, of how many, and the comparison without that."""
    cut = cut_tasks(here)
    if not cut:
        return
    of = len({slot.task for slot in here.ledger.wanted()})
    yield statement("budgets-cut-tasks", tasks=list(cut), of=of)
    for one in question.counted:
        if one.how[0] == _how(here) and one.difference.value is not None:
            yield one.caveat


def made_again(here: PilotState) -> tuple[tuple[str, str, int], ...]:
    """How many runs of each method on each task were repeated before one filled their place."""
    ledger, methods = here.ledger, {*methods_of(here.plan.protocol), *_asked(here)}
    found: Counter[tuple[str, str]] = Counter()
    for slot, held, counts in places(here):
        if held is None or not counts or slot.method not in methods:
            continue
        attempts = ledger.attempts(slot)
        before = attempts[: attempts.index(held)]
        found[slot.method, slot.task] += sum(run.state != RUNNING for run in before)
    return tuple((method, task, count) for (method, task), count in sorted(found.items()) if count)


def choices(here: PilotState) -> Iterator[Statement]:
    """What could have been chosen after seeing results."""
    again = made_again(here)
    if again:
        counts = {name: sum(count for method, _, count in again if method == name) for name in _asked(here)}
        yield statement("runs-made-again", runs=counts)
    if here.journal.removals and here.plan.protocol["comparison"] is not None:
        yield from _with_removed(here)


def put_back(here: PilotState) -> PilotState:
    """The pilot as if no task had been removed."""
    return replace(here, journal=replace(here.journal, removals=()))


def with_removed_tasks(here: PilotState, whole: Table, question: Question) -> Question:
    """The question with another comparison that counts removed tasks; ``whole`` has their rows."""
    tells_more = any(whole.task.is_(task).any() for task in here.journal.removed)
    if question.unfinished or not question.planned or not tells_more:
        return question
    again = replace(question, repeated=made_again(put_back(here)))
    return replace(
        question,
        counted=(*question.counted, count_differently(whole, again, statement("removed-tasks-counted"))),
    )


def _asked(here: PilotState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for pair in pairs_of(here.plan.protocol) for name in pair))


def _with_removed(here: PilotState) -> Iterator[Statement]:
    """The comparison with the runs of removed tasks, as far as there are any."""
    whole = replace(here.ledger, removed=frozenset())
    runs = [run for block in whole.blocks() for run in whole.filled(block) or ()]
    if any(_tells(run, here) for run in runs):
        protocol = here.plan.protocol
        ((gap, p),) = family(runs, _asked(here), pairs_of(protocol), protocol)
        if gap is not None and p is not None:
            yield statement("difference-with-removed-tasks", difference=gap, p=p)


def _tells(run: Run, here: PilotState) -> bool:
    return (
        run.task in here.journal.removed and counts_for_endpoint(run, here.plan.protocol) and run.method in _asked(here)
    )
