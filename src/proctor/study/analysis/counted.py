"""The comparison that was asked for, on runs that are counted in another way than the answer counts them.

Where the two that are compared were named, nobody is adopted whom such a way does not adopt by the whole rule: untold
runs are supposed to be failures of the candidate there as well.
"""

from __future__ import annotations

import numpy as np

from proctor.study.analysis.caveats import against_all, one_sided, untold
from proctor.study.analysis.cells import Cells
from proctor.study.analysis.pairs import compare_pairs
from proctor.study.analysis.question import SEED, Counted, Question
from proctor.study.analysis.verdict import ADOPT, decide, toward
from proctor.study.table import Table


def counted(table: Table, question: Question, how: str) -> Counted:
    """What the rows of ``table`` say; if untold runs among them turn it, what it is with these.

    The question names both agents, and ``table`` has runs of both.
    """
    cells = Cells(table, question)
    pairs = compare_pairs(cells, np.random.default_rng(SEED), question.planned)
    pair = next(one for one in pairs if {one["a"], one["b"]} == question.planned)
    difference = toward(pair, str(question.candidate))
    verdict = decide(difference, question.minimum_effect, pair["separable"])
    if verdict != ADOPT:
        return Counted(how, verdict, difference)
    best, against = {"agent": question.candidate}, {"agent": question.against}
    worst = (against_all(cells, question, best, against), one_sided(cells, question, best, against, against))
    ways = untold(question, str(question.against), *worst)
    turning = next((one for one in ways if one.verdict != ADOPT), None)
    if turning is None:
        return Counted(how, verdict, difference)
    return Counted(f"{how} and {turning.how}", turning.verdict, turning.difference)
