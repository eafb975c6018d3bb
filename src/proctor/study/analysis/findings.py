"""From a table and a question to findings.

Findings are plain data that JSON can hold, without English: every number has 12 significant digits, every interval has
its method and the number of runs and tasks, and an estimate that is undefined has the reason. They contain no time of
day and nothing about the machine. The same runs in another order give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from proctor.study.analysis.agent_rates import (
    agent_costs,
    agent_rates,
    agent_runs,
    corrected,
    several_attempts,
    unknown_outcomes,
)
from proctor.study.analysis.capped_runs import counterfactual, survival
from proctor.study.analysis.caveats import cannot, scope
from proctor.study.analysis.comparability_check import check_comparable, classes
from proctor.study.analysis.cost_breakdown import costs, tradeoff
from proctor.study.analysis.failure_modes import Modes, discovery, funnel, matrix
from proctor.study.analysis.main_result import check_names, headline
from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.pairwise_comparison import compare_pairs, ranks
from proctor.study.analysis.plain_data import plain_data
from proctor.study.analysis.question import SEED, Extras, Question
from proctor.study.analysis.strata_rates import strata, weighted
from proctor.study.run_table import Table

SCHEMA = 2
KIND = "proctor.findings"
MAX_RUNS = 5_000
"""How many runs are listed; each agent has its share of them."""


def findings(
    table: Table,
    question: Question | None = None,
    extras: Extras | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The findings of ``table`` on ``question``; ``tell`` is called with the name of each part."""
    question, extras = question or Question(), extras or Extras()
    say = tell or (lambda part: None)
    say("counting runs")
    cells = Cells(table, question)
    check_names(cells.agents, question)
    warnings = check_comparable(cells, question)
    say("comparing agents")
    pairs = compare_pairs(cells, _generator(), question.planned)
    say("estimating rates")
    rates, spent = agent_rates(cells), agent_costs(cells)
    agents = _agents(cells, question, rates, spent, pairs)
    say("costs, times and modes")
    tags, rows = matrix(cells, modes := Modes(cells))
    listed, left_out = _runs(cells)
    known = {
        "schema": SCHEMA,
        "kind": KIND,
        "source": _source(cells, extras),
        "question": {
            "endpoint": question.endpoint,
            "alpha": question.alpha,
            "minimum_effect": question.minimum_effect,
            "pilot": question.pilot,
            "text": question.text,
        },
        "headline": headline(cells, question, agents, pairs, [*warnings, *extras.caveats]),
        "agents": agents,
        "pairs": pairs,
        "strata": strata(cells),
        "weighted": weighted(cells, question),
        "cost": costs(cells),
        "survival": survival(cells),
        "modes": {"tags": tags, "rows": rows, "discovery": discovery(cells, modes)},
        "funnel": funnel(cells),
        "tradeoff": tradeoff(cells, rates, spent),
        "agreement": extras.agreement,
        "counterfactual": counterfactual(cells, question),
        "deviations": [*extras.deviations, *(() if extras.differs else warnings)],
        "comparability": classes(cells, extras),
        "cannot": cannot(cells, extras),
        "scope": scope(cells, extras),
        "appendix": _appendix(extras),
        "runs": listed,
        "runs_left_out": left_out,
    }
    found: dict[str, Any] = plain_data(known)
    return found


def _agents(
    cells: Cells,
    question: Question,
    rates: list[dict[str, Any]],
    spent: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Everything about each agent, the best first."""
    placed = ranks(cells, pairs)
    parts = zip(
        rates,
        several_attempts(cells),
        unknown_outcomes(cells, _generator),
        corrected(rates, question),
        spent,
        agent_runs(cells),
        strict=True,
    )
    found = [
        {**rate, "rank": placed[rate["agent"]], **attempts, **unknown, "corrected": right, "cost": cost, **runs}
        for rate, attempts, unknown, right, cost, runs in parts
    ]
    return sorted(found, key=lambda agent: (agent["rank"]["position"], agent["agent"]))


def _source(cells: Cells, extras: Extras) -> dict[str, Any]:
    attempts = cells.attempts[cells.attempts > 0]
    return {
        "kind": extras.kind,
        "name": extras.name,
        "digest": extras.digest,
        "rows": len(cells.table),
        "agents": len(cells.agents),
        "tasks": len(cells.tasks),
        "trials": {"min": int(attempts.min()), "max": int(attempts.max())},
        "notes": list(extras.notes),
    }


def _appendix(extras: Extras) -> dict[str, Any]:
    empty: Mapping[str, Any] = {
        "locks": [],
        "digests": {},
        "agents": [],
        "seeds": {"planned": SEED, "observed": [SEED]},
        "amendments": [],
        "stages": [],
    }
    return {**empty, **extras.appendix}


def runs_beside(table: Table, question: Question) -> list[dict[str, Any]]:
    """The runs of ``table``, which are not compared, as findings list those that are."""
    listed: list[dict[str, Any]] = plain_data(_runs(Cells(table, question))[0]) if len(table) else []
    return listed


def _runs(cells: Cells) -> tuple[list[dict[str, Any]], int]:
    """Runs by name with where they are, as many of each agent, and how many are left out."""
    share = max(1, MAX_RUNS // len(cells.agents))
    spans = [cells.runs_of(agent) for agent in range(len(cells.agents))]
    picked = [row for span in spans for row in range(span.start, min(span.stop, span.start + share))]
    table = cells.table.select(picked)
    listed = [
        {
            "run": run or "",
            "source": source or "",
            "agent": cells.agents[agent],
            "task": cells.tasks[task],
            "trial": None if trial != trial else int(trial),
            "status": status or "unknown",
            "cost_usd": cost,
            "seconds": seconds,
            "tags": tags or "",
        }
        for run, source, agent, task, trial, status, cost, seconds, tags in zip(
            table.run,
            table.source,
            cells.agent[picked].tolist(),
            cells.task[picked].tolist(),
            table.trial.tolist(),
            table.status,
            table.cost_usd.tolist(),
            table.seconds.tolist(),
            table.tags,
            strict=True,
        )
    ]
    return listed, len(cells.table) - len(listed)


def _generator() -> np.random.Generator:
    return np.random.default_rng(SEED)
