"""Made-up runs: the same for the same seed, as rows and as a table, and balanced."""

from __future__ import annotations

import numpy as np

from bench.synthetic import AGENTS, BLOCK, PER_TASK, TRIALS, synthetic_rows, synthetic_table
from proctor.study.table import Table


def test_rows_and_table_are_the_same_runs() -> None:
    table = synthetic_table(1500)
    made = Table.from_rows(row for block in synthetic_rows(1500) for row in block)
    assert list(made.rows()) == list(table.rows())
    assert list(synthetic_table(1500).rows()) == list(table.rows())
    assert list(synthetic_table(1500, seed=1).rows()) != list(table.rows())


def test_every_agent_attempts_every_task_as_often() -> None:
    table = synthetic_table(20 * PER_TASK)
    cells = np.bincount(table.agent.codes * 20 + table.task.codes, minlength=AGENTS * 20)
    assert (cells == TRIALS).all()
    assert set(table.trial.tolist()) == set(range(1, TRIALS + 1))
    rates = [np.nanmean(table.success[table.agent.codes == agent]) for agent in (0, AGENTS - 1)]
    assert rates[0] + 0.2 < rates[1], "the agents differ in strength"
    assert 0 < table.censored.sum() < 0.2 * table.length
    assert np.isnan(table.success).sum() == (table.scorable == 0).sum() > 0


def test_blocks_end_with_whole_tasks() -> None:
    assert BLOCK % PER_TASK == 0
