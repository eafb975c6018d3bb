"""Made-up runs: the same for the same seed, as rows and as a table, and balanced."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.study.run_table import Table


@pytest.fixture
def synthetic(project: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, which is no part of the package."""
    monkeypatch.syspath_prepend(str(project))
    return import_module("bench.synthetic")


def test_rows_and_table_are_the_same_runs(synthetic: Any) -> None:
    table = synthetic.synthetic_table(1500)
    made = Table.from_rows(row for block in synthetic.synthetic_rows(1500) for row in block)
    assert list(made.rows()) == list(table.rows())
    assert list(synthetic.synthetic_table(1500).rows()) == list(table.rows())
    assert list(synthetic.synthetic_table(1500, seed=1).rows()) != list(table.rows())


def test_every_agent_attempts_every_task_as_often(synthetic: Any) -> None:
    agents, trials = synthetic.AGENTS, synthetic.TRIALS
    table = synthetic.synthetic_table(20 * synthetic.PER_TASK)
    cells = np.bincount(table.agent.codes * 20 + table.task.codes, minlength=agents * 20)
    assert (cells == trials).all()
    assert set(table.trial.tolist()) == set(range(1, trials + 1))
    rates = [np.nanmean(table.success[table.agent.codes == agent]) for agent in (0, agents - 1)]
    assert rates[0] + 0.2 < rates[1], "the agents differ in strength"
    assert 0 < table.censored.sum() < 0.2 * table.length
    assert np.isnan(table.success).sum() == (table.scorable == 0).sum() > 0


def test_blocks_end_with_whole_tasks(synthetic: Any) -> None:
    assert synthetic.BLOCK % synthetic.PER_TASK == 0
