"""What each agent achieved: success, acceptance errors and invalid runs, pass@k, and bounds for unknown outcomes.

Success and acceptance errors are shares of the scorable runs, invalid runs of those attempted; the intention-to-treat
rate over everything attempted is given as well. Tasks are the clusters of every interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.question import SEED, Question
from proctor.study.run_table import Floats
from proctor.study.statements import statement
from proctor.study.stats.bootstrap import success_price
from proctor.study.stats.clustered_rates import KORN_GRAUBARD, all_of_k, cluster_mean, cluster_rate, pass_at_k
from proctor.study.stats.estimate import Estimate, undefined
from proctor.study.stats.missing_outcomes import imputed_rate, manski, rogan_gladen

MAX_RUNS = 200
"""How many runs of an agent are named; the query selects all of them."""
DUST = 1e-9
"""An interval that is narrower than this share of its value has no width except for rounding."""


def agent_rates(cells: Cells) -> list[dict[str, Any]]:
    """One entry for each agent, in the order of ``cells.agents``."""
    scorable = cells.count(cells.scorable)
    known = cells.count(cells.known)
    errors = cells.count(cells.scorable & cells.table.status.is_("acceptance-error"))
    invalid = cells.count(~cells.scorable)
    return [
        {
            "agent": name,
            "attempted": int(cells.attempts[agent].sum()),
            "scorable": int(scorable[agent].sum()),
            "tasks": int((cells.attempts[agent] > 0).sum()),
            "success": _success(cells.wins[agent], known[agent], cells.level),
            "intention_to_treat": cluster_rate(cells.wins[agent], cells.attempts[agent], cells.level),
            "error": cluster_rate(errors[agent], scorable[agent], cells.level),
            "invalid": cluster_rate(invalid[agent], cells.attempts[agent], cells.level),
        }
        for agent, name in enumerate(cells.agents)
    ]


def _success(wins: Floats, known: Floats, level: float) -> Estimate:
    """The rate over runs with an outcome, of which there may be none."""
    if not known.any():
        return undefined("no-outcome", level=level, method=KORN_GRAUBARD)
    return cluster_rate(wins, known, level)


def agent_costs(cells: Cells) -> list[dict[str, Any]]:
    """What each agent cost; null where nothing was metered. A mean can be without an interval.

    In the price of a success a run without a known cost counts with the mean of the others: it was paid for as well.
    """
    table = cells.table
    usd, has = cells.sum(table.cost_usd), cells.count(~np.isnan(table.cost_usd))
    wins, runs = cells.wins.sum(axis=1), cells.attempts.sum(axis=1)
    found = []
    for agent in range(len(cells.agents)):
        metered, total = has[agent].sum(), float(usd[agent].sum())
        per_run = _uncertain(cluster_mean(usd[agent], has[agent], cells.level, floor=0.0))
        rows, ran = cells.runs_of(agent), cells.attempts[agent] > 0
        # Every agent has the same random numbers, so that a name has no influence.
        price = success_price(
            usd[agent, ran],
            cells.wins[agent, ran],
            np.random.default_rng(SEED),
            cells.level,
            counts=(has[agent, ran], cells.attempts[agent, ran]),
        )
        each = total / float(wins[agent]) * float(runs[agent] / metered) if metered and wins[agent] else None
        found.append(
            {
                "total_usd": total if metered else None,
                "metered": int(metered),
                "per_run_usd": total / float(metered) if metered else None,
                "per_run": per_run,
                "per_success_usd": each,
                "per_success": _uncertain(price),
                "billed_usd": _sum(table.billed_usd[rows]),
                "human_minutes": _sum(table.human_minutes[rows]),
                "review_usd": _sum(table.review_usd[rows]),
                "tokens_in": _total(table.tokens_in[rows]),
                "tokens_out": _total(table.tokens_out[rows]),
            }
        )
    return found


def _uncertain(found: Estimate) -> Estimate:
    """``found`` unless its interval has no width: equal costs do not bound the cost of another task."""
    if found.value is None or found.low is None or found.high is None:
        return found
    if found.high - found.low > DUST * abs(found.value):
        return found
    why = statement("all-tasks-cost-alike", tasks=found.clusters)
    return undefined(why, level=found.level, method=found.method, n=found.n, clusters=found.clusters)


def agent_runs(cells: Cells) -> list[dict[str, Any]]:
    """The runs behind each agent's numbers: the first of them by name, and the query that selects all."""
    found = []
    for agent, name in enumerate(cells.agents):
        rows = cells.runs_of(agent)
        first = range(rows.start, min(rows.stop, rows.start + MAX_RUNS))
        quoted = name.replace("'", "''")
        found.append(
            {
                "runs": [cells.table.run[row] or "" for row in first],
                "query": f"select * from runs where method = '{quoted}' order by task, trial",
            }
        )
    return found


def _sum(values: Floats) -> float | None:
    """A sum of what is known; null when nothing is."""
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def _total(values: Floats) -> int | None:
    """A sum of whole numbers; null when none is known."""
    known = values[~np.isnan(values)]
    return int(known.sum()) if len(known) else None


MAX_K = 10
MOST_TRIALS = 100
"""A k above ``MAX_K`` is looked at only for the largest number of trials, and only up to this."""


def several_attempts(cells: Cells) -> list[dict[str, Any]]:
    """For each agent: at least one success in k, and k successes in k, for every k up to the trials of most tasks.

    Over scorable runs, an unknown outcome counts as no success: leaving such runs out would leave out whole tasks, and
    other tasks for every k.
    """
    found = []
    for wins, tries in zip(cells.wins, cells.count(cells.scorable), strict=True):
        counts = tries[tries > 0]
        most = int(np.median(counts)) if len(counts) else 1
        ks = [*range(1, min(most, MAX_K) + 1), *([min(most, MOST_TRIALS)] if most > MAX_K else [])]
        found.append(
            {
                "pass_at": [{"k": k, "estimate": pass_at_k(wins, tries, k, cells.level)} for k in ks],
                "all_of": [{"k": k, "estimate": all_of_k(wins, tries, k, cells.level)} for k in ks],
            }
        )
    return found


def unknown_outcomes(cells: Cells, generator: Callable[[], np.random.Generator]) -> list[dict[str, Any]]:
    """For each agent the bounds that unknown outcomes leave, and the rate with those outcomes drawn.

    Every agent has the same random numbers, so that a name has no influence.
    """
    known = cells.count(cells.known)
    unknown = cells.count(cells.scorable & ~cells.known)
    found = []
    for agent in range(len(cells.agents)):
        wins, lost = int(cells.wins[agent].sum()), int(unknown[agent].sum())
        bounds = manski(wins, lost, int(known[agent].sum()) + lost)
        imputed = None
        if lost:
            imputed = imputed_rate(cells.wins[agent], known[agent], unknown[agent], generator(), cells.level)
        found.append(
            {"bounds": {"low": bounds.low, "high": bounds.high, "unknown": bounds.unknown}, "imputed": imputed}
        )
    return found


def corrected(rates: list[dict[str, Any]], question: Question) -> list[list[dict[str, Any]]]:
    """For each agent the rate if acceptance errs as often as was measured, and as the question assumes."""
    known = question.measured
    errs: list[tuple[float, float, int | None, int | None]] = [(*pair, None, None) for pair in question.oracle]
    if known is not None:
        errs = [(known.accepted / known.right, known.refused / known.faulty, known.right, known.faulty), *errs]
    return [
        [
            {
                "sensitivity": sensitivity,
                "specificity": specificity,
                "sensitivity_n": right,
                "specificity_n": faulty,
                "estimate": rogan_gladen(rate["success"], sensitivity, specificity, right, faulty),
            }
            for sensitivity, specificity, right, faulty in errs
        ]
        for rate in rates
    ]
