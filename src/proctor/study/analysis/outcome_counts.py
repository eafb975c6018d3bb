"""Runs counted by agent and task: the one pass over the rows that everything else builds on.

Rows are first brought into one order (agent, task, trial, run), so that sums do not depend on the order in which runs
were read. A count is an array with a line for each agent and a column for each task. An invalid run that was repeated
does not count: its place is counted once, by the last run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.base.errors import UsageFault
from proctor.study.analysis.cost_unit import in_one_unit
from proctor.study.analysis.question import INTENTION_TO_TREAT, Question
from proctor.study.run_table import Coded, Floats, Mask, Table

NAMELESS = "(no name)"
MAX_AGENTS = 100
"""With more values the column does not contain agents, or the table would be too large to read."""


class Cells:
    """A table in its one order, with the agents and tasks in it and the runs of each pair of them counted."""

    def __init__(self, table: Table, question: Question) -> None:
        if not len(table):
            raise UsageFault("there are no runs to analyse", hint="run something first, or give a table with rows")
        table, self.repeated = _without_repeated(table)
        agents, tasks = named(table.method), named(table.task)
        if len(agents.names) > MAX_AGENTS:
            raise UsageFault(
                f"{len(agents.names):,} agents are too many to compare each with each; {MAX_AGENTS} can be",
                hint="choose some of them, or name the column of the agents",
            )
        order = _order(table, agents, tasks)
        self.table, self.unit = in_one_unit(table.select(order))
        self.agents, self.tasks = agents.names, tasks.names
        self.agent = agents.codes[order].astype(np.int64)
        self.task = tasks.codes[order].astype(np.int64)
        self.level, self.alpha = question.level, question.alpha
        self.endpoint = question.endpoint
        self._cell = self.agent * len(self.tasks) + self.task
        success = self.table.success
        self.scorable: Mask = self.table.scorable != 0
        """Not known to be unscorable: a table that does not say takes every run as scorable."""
        self.known: Mask = self.scorable & ~np.isnan(success)
        self.won: Mask = self.scorable & (success == 1)
        self.strata: tuple[tuple[str, ...], NDArray[np.int64]] | None = None
        """The strata, once they have been asked for."""
        self.attempts = self.count()
        self.wins = self.count(self.won)
        self.tries = self.attempts if question.endpoint == INTENTION_TO_TREAT else self.count(self.known)

    def count(self, mask: Any = None) -> Floats:
        """How many runs each agent made at each task, among those that ``mask`` names."""
        cell = self._cell if mask is None else self._cell[mask]
        size = len(self.agents) * len(self.tasks)
        return np.bincount(cell, minlength=size).astype(np.float64).reshape(len(self.agents), len(self.tasks))

    def sum(self, values: Floats) -> Floats:
        """The sum of ``values``, one for each run, for each agent and task; missing values count as 0."""
        size = len(self.agents) * len(self.tasks)
        found: Floats = np.bincount(self._cell, np.nan_to_num(values), minlength=size).astype(np.float64)
        return found.reshape(len(self.agents), len(self.tasks))

    def means(self) -> Floats:
        """The mean of the endpoint for each task (line) and agent (column); nan where there is no outcome."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = (self.wins / self.tries).T
        return found

    def rates(self) -> Floats:
        """The endpoint of each agent over all its runs; nan where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = self.wins.sum(axis=1) / self.tries.sum(axis=1)
        return found

    def runs_of(self, agent: int) -> Any:
        """The positions of an agent's runs; rows are in the order of agents."""
        return slice(int(np.searchsorted(self.agent, agent)), int(np.searchsorted(self.agent, agent, side="right")))


def _without_repeated(table: Table) -> tuple[Table, int]:
    """The table without invalid runs that were repeated, and how many of those there are."""
    again = {run for run in table.retry_of if run}
    if not again:
        return table, 0
    counts = np.array([run not in again for run in table.run], dtype=bool)
    return table.select(counts), int((~counts).sum())


def named(column: Coded) -> Coded:
    """The column with sorted names and a name for missing values."""
    used = column.used()
    if not (used.codes < 0).any():
        return used
    return Coded(np.where(used.codes < 0, len(used.names), used.codes), (*used.names, NAMELESS)).used()


def _order(table: Table, agents: Coded, tasks: Coded) -> Any:
    """The positions of the rows by agent, task, trial, and run where all of these agree."""
    trial = np.nan_to_num(table.trial, nan=-1.0)
    keys = (trial, tasks.codes, agents.codes)
    order = np.lexsort(keys)
    sorted_keys = [key[order] for key in keys]
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for key in sorted_keys:
        same &= key[1:] == key[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    rank = np.zeros(len(order))
    rows = order[tied]
    names = [table.run[row] or "" for row in rows.tolist()]
    rank[rows[sorted(range(len(rows)), key=names.__getitem__)]] = np.arange(len(rows))
    return np.lexsort((rank, *keys))
