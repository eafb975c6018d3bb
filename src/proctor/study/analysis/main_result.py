"""The answer: a ranking, or a decision by the rule of :mod:`proctor.study.analysis.pairwise_comparison`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.base.errors import UsageFault
from proctor.study.analysis.caveats import (
    against_all,
    caveats,
    cheaper,
    comparable,
    one_sided,
    picked,
    smaller,
    turned,
    unconfirmed,
    unknown_outcome_counts,
)
from proctor.study.analysis.cost_unit import Unit
from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.pairwise_comparison import ADOPT, KEEP, RANKING, UNDECIDED, decide, toward
from proctor.study.analysis.question import INTENTION_TO_TREAT, AlternativeCount, Question
from proctor.study.statements import Statement, statement
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.paired_comparison import ENOUGH_TASKS

LISTED = 30
"""How many agents a message lists."""


def headline(
    cells: Cells,
    question: Question,
    agents: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
    warnings: list[Statement],
) -> dict[str, Any]:
    """The verdict with its reason, its cost and what could change it; ``agents`` are in the order of ranks."""
    if question.against is None:
        best, against = agents[0], None
        verdict, reason = RANKING, _ranked(cells, agents, pairs)
        if question.unfinished is not None:
            reason = statement("ranking-not-yet", why=question.unfinished)
        difference, p = None, None
        over = question.unfinished is None
        doubts = unconfirmed(pairs[0], question.alpha) if len(pairs) == 1 and over else []
        offers = cheaper(best, agents[1:], pairs, cells.unit) if over else []
    else:
        best, against = chosen(agents, question, pairs)
        pair = next(one for one in pairs if {one["a"], one["b"]} == {best["agent"], against["agent"]})
        difference, p = toward(pair, best["agent"]), pair["p_adjusted"]
        verdict = seen = decide(difference, question.minimum_effect, pair["separable"])
        reason = _decided(verdict, best, against, difference, question, pair)
        other = against_all(cells, question, best, against) if question.unfinished is None else None
        gains = best if verdict == KEEP else against
        most = one_sided(cells, question, best, against, gains) if question.unfinished is None else None
        ways = [*unknown_outcome_counts(question, against["agent"], other, most), *question.counted]
        turning = next((one for one in ways if one.verdict != ADOPT), None)
        if verdict == ADOPT and turning is not None:
            verdict, reason = UNDECIDED, _hidden(best, against, difference, turning, question)
        if question.unfinished is not None:
            verdict = UNDECIDED
            reason = statement("undecided-not-yet", **_names(best, against), why=question.unfinished)
        doubts = smaller(difference, question) if verdict == ADOPT else []
        doubts += [*turned(other, most, seen, gains["agent"], question), *unconfirmed(pair, question.alpha)]
        doubts += picked(question, best, agents, pairs, cells.unit)
        if question.planned and len(pairs) > 1:
            doubts.append(statement("one-comparison", planned=question.pilot is not None))
        offers = []
    return {
        "verdict": verdict,
        "reason": reason,
        "best": best["agent"],
        "against": against["agent"] if against else None,
        "difference": difference,
        "p": p,
        "counting": _counting(cells, best["agent"], question.against, difference),
        "cost": [*_cost(best, against, cells.unit), *offers],
        "caveats": [*warnings, *doubts, *caveats(cells, question, agents)],
    }


def chosen(
    agents: list[dict[str, Any]], question: Question, pairs: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The candidate and the agent in use; an agent that cannot be compared is chosen only if no other can."""
    by_name = {agent["agent"]: agent for agent in agents}
    others = [agent for agent in agents if agent["agent"] != question.against]
    able = comparable(pairs, str(question.against))
    first = next((agent for agent in others if agent["agent"] in able), others[0])
    best = first if question.candidate is None else by_name[question.candidate]
    return best, by_name[str(question.against)]


def check_names(agents: Sequence[str], question: Question) -> None:
    """Refuse a question about agents that the table does not have, before anything is computed."""
    asked = [name for name in (question.against, question.candidate) if name is not None]
    strangers = [repr(name) for name in dict.fromkeys(asked) if name not in agents]
    if strangers:
        more = f" and {len(agents) - LISTED} more" if len(agents) > LISTED else ""
        have = f"the agents are: {', '.join(agents[:LISTED])}{more}"
        raise UsageFault(f"there is no agent {' and no agent '.join(strangers)}", hint=have)
    if question.against is not None and (question.candidate == question.against or len(agents) < 2):
        raise UsageFault(
            f"{question.against!r} cannot be compared with itself", hint="the table needs another agent to compare"
        )


def _ranked(cells: Cells, agents: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> Statement:
    best = agents[0]
    shown: Estimate = best["intention_to_treat" if cells.endpoint == INTENTION_TO_TREAT else "success"]
    if shown.undefined is not None:
        return statement("rate-undefined", agent=best["agent"], why=shown.undefined)
    rated = {"agent": best["agent"], "endpoint": cells.endpoint, "rate": shown}
    if len(agents) == 1:
        return statement("one-agent-ranked", **rated)
    return statement(
        "ranked",
        **rated,
        first=[agent["agent"] for agent in agents if agent["rank"]["position"] == 1],
        **_told_apart(best["agent"], pairs),
        separable_pairs=sum(one["separable"] for one in pairs),
        pairs=len(pairs),
    )


def _told_apart(best: str, pairs: list[dict[str, Any]]) -> dict[str, list[str]]:
    """From which agents the first is separable, and in which direction: its rate may be that of easier tasks."""
    own = {one["b"] if one["a"] == best else one["a"]: one for one in pairs if best in (one["a"], one["b"])}
    apart = [name for name, one in own.items() if one["difference"].value is None]
    alike = [name for name, one in own.items() if name not in apart and not one["separable"]]
    ahead = [name for name, one in own.items() if one["separable"] and (toward(one, best).value or 0.0) < 0]
    return {"better": ahead, "not_separable": alike, "not_comparable": apart, "others": list(own)}


def _names(best: dict[str, Any], against: dict[str, Any]) -> dict[str, str]:
    return {"candidate": best["agent"], "against": against["agent"]}


def _decided(
    verdict: str,
    best: dict[str, Any],
    against: dict[str, Any],
    difference: Estimate,
    question: Question,
    pair: dict[str, Any],
) -> Statement:
    names, wanted = _names(best, against), question.minimum_effect or 0.0
    if difference.undefined is not None:
        return statement("undecided-undefined", **names, why=difference.undefined)
    if verdict == ADOPT:
        return statement("adopt", **names, difference=difference)
    if verdict == KEEP:
        return statement("keep", **names, difference=difference, minimum_effect=wanted)
    if decide(difference, question.minimum_effect, True) == ADOPT:
        flipped = pair["p_sign_flip"]
        if pair["tasks"] < ENOUGH_TASKS and flipped is not None and flipped >= question.alpha:
            return statement("undecided-few-tasks", **names, difference=difference, p=flipped)
        return statement("undecided-chance", **names, difference=difference, p=pair["p_adjusted"])
    return statement("undecided-open", **names, difference=difference, minimum_effect=wanted)


def _hidden(
    best: dict[str, Any], against: dict[str, Any], seen: Estimate, other: AlternativeCount, question: Question
) -> Statement:
    """An advantage that depends on leaving out runs does not count: an unreported failure would be such a run too."""
    then = {"counted": other.how, "then": other.difference, "minimum_effect": question.minimum_effect or 0.0}
    return statement("undecided-alternative-count", **_names(best, against), difference=seen, **then)


def _counting(cells: Cells, best: str, against: str | None, difference: Estimate | None) -> Statement | None:
    """Why the difference is not that of both rates: one agent lacks tasks, or tasks have unequal numbers of runs."""
    if against is None or difference is None or difference.value is None:
        return None
    tries = cells.tries[[cells.agents.index(best), cells.agents.index(against)]]
    left = int((~(tries > 0).all(axis=0)).sum())
    if not left and not any(len(np.unique(row)) > 1 for row in tries):
        return None
    return statement(
        "rates-and-difference-count-differently",
        without=left,
        tasks=len(cells.tasks),
        of_neither=bool((tries == 0).all(axis=0).any()),
        endpoint=cells.endpoint,
    )


def _cost(best: dict[str, Any], against: dict[str, Any] | None, unit: Unit) -> list[Statement]:
    if any(unit.mixed):
        return [statement("costs-in-two-units")]
    found = []
    for agent in filter(None, (best, against)):
        cost = agent["cost"]
        if cost["total_usd"] is None:
            found.append(statement("agent-cost-unknown", agent=agent["agent"]))
            continue
        prices = {"per_run_usd": cost["total_usd"] / cost["metered"], "per_success_usd": cost["per_success_usd"]}
        found.append(statement("agent-cost", agent=agent["agent"], **prices, unit=unit.name))
    return found
