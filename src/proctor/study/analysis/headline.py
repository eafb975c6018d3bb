"""The answer in one sentence, by a rule that is fixed before the numbers are seen.

Without an agent to hold against there is a ranking. With one, let the interval be that of the difference, candidate
minus the agent in use, and the minimum effect the least difference that would be worth a change (0 when none is given):

    keep        the whole interval lies below the minimum effect, or below 0: a difference worth having is ruled out
    adopt       the interval lies above 0, the difference reaches the minimum effect, and with more than two agents the
                pair is separable with all comparisons counted
    undecided   anything else; the data allow both
"""

from __future__ import annotations

from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.analysis.cells import Cells
from proctor.study.analysis.question import ENDPOINTS, INTENTION_TO_TREAT, Question
from proctor.study.analysis.words import among, money, percent, points, span
from proctor.study.stats.estimate import Estimate, defined
from proctor.study.stats.paired import paired_difference

RANKING, ADOPT, KEEP, UNDECIDED = "ranking", "adopt", "keep", "undecided"
FALLBACK = "fallback"
"""How the names of schedules begin that know no prices."""
NAMED = 3
"""How many agents a sentence names."""


def headline(
    cells: Cells,
    question: Question,
    agents: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    """The verdict with its sentence, its cost and what to be careful about; ``agents`` stand in the order of ranks."""
    if question.against is None:
        best, against, pair = agents[0], None, None
        verdict, sentence = RANKING, _ranked(cells, agents, pairs)
        difference, p = None, None
    else:
        best, against = chosen(agents, question)
        pair = next(one for one in pairs if {one["a"], one["b"]} == {best["agent"], against["agent"]})
        difference, p = toward(pair, best["agent"]), pair["p_adjusted"]
        verdict = decide(difference, question.minimum_effect, pair["separable"] or len(agents) == 2)
        sentence = _decided(verdict, best, against, difference, question)
    return {
        "verdict": verdict,
        "sentence": sentence,
        "best": best["agent"],
        "against": against["agent"] if against else None,
        "difference": difference,
        "p": p,
        "cost": _cost(best, against),
        "caveats": [*warnings, *_turned(cells, question, best, against, verdict), *_caveats(cells, question, agents)],
    }


def chosen(agents: list[dict[str, Any]], question: Question) -> tuple[dict[str, Any], dict[str, Any]]:
    """The candidate and the agent it is held against."""
    by_name = {agent["agent"]: agent for agent in agents}
    for name in (question.against, question.candidate):
        if name is not None and name not in by_name:
            raise UsageFault(f"there is no agent {name!r}", hint=f"the agents are: {', '.join(list(by_name)[:30])}")
    others = [agent for agent in agents if agent["agent"] != question.against]
    if question.candidate is not None:
        others = [agent for agent in others if agent["agent"] == question.candidate]
    if not others:
        raise UsageFault(
            f"{question.against!r} cannot be held against itself", hint="the table needs another agent to compare"
        )
    return others[0], by_name[str(question.against)]


def toward(pair: dict[str, Any], agent: str) -> Estimate:
    """The difference of a pair seen from ``agent``."""
    found: Estimate = pair["difference"]
    if pair["a"] == agent or found.value is None or found.low is None or found.high is None:
        return found
    return defined(
        -found.value,
        -found.high,
        -found.low,
        level=found.level,
        method=found.method,
        n=found.n,
        clusters=found.clusters,
    )


def decide(difference: Estimate, minimum_effect: float | None, separable: bool) -> str:
    """Adopt, keep or undecided."""
    wanted = minimum_effect or 0.0
    if difference.value is None or difference.low is None or difference.high is None:
        return UNDECIDED
    if difference.high < wanted or difference.high <= 0:
        return KEEP
    if difference.low > 0 and difference.value >= wanted and separable:
        return ADOPT
    return UNDECIDED


def _ranked(cells: Cells, agents: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> str:
    best = agents[0]
    shown: Estimate = best["intention_to_treat" if cells.endpoint == INTENTION_TO_TREAT else "success"]
    if shown.value is None:
        return f"No ranking: the rate of {best['agent']} is undefined, {shown.undefined}."
    if len(agents) == 1:
        return f"{best['agent']} succeeded in {span(shown)} of its runs; there is no other agent in the table."
    alike = [
        one["b"] if one["a"] == best["agent"] else one["a"]
        for one in pairs
        if best["agent"] in (one["a"], one["b"]) and not one["separable"]
    ]
    open_ = [one for one in pairs if not one["separable"]]
    text = f"{best['agent']} has the highest success rate, {span(shown)}"
    if alike:
        text += f", but is not separable from {among(alike, NAMED)}"
    else:
        text += ", and is separable from every other agent"
    return f"{text}. {len(pairs) - len(open_)} of {len(pairs)} pairs are separable with all comparisons counted."


def _decided(
    verdict: str, best: dict[str, Any], against: dict[str, Any], difference: Estimate, question: Question
) -> str:
    names = f"{best['agent']} rather than {against['agent']}"
    if difference.value is None:
        return f"Undecided on {names}: the difference is undefined, {difference.undefined}."
    gap = points(difference)
    wanted = question.minimum_effect or 0.0
    at_least = f" of at least {percent(wanted)} points" if wanted else ""
    if verdict == ADOPT:
        return f"Adopt {names}: the success rate differs by {gap}."
    if verdict == KEEP:
        ruled = f"an advantage of {best['agent']}{at_least} is ruled out"
        return f"Keep {against['agent']}: {ruled}; the difference is {gap}."
    return f"Undecided on {names}: the difference is {gap}, which neither shows nor rules out an advantage{at_least}."


def _cost(best: dict[str, Any], against: dict[str, Any] | None) -> str:
    parts = []
    for agent in (best, against):
        if agent is None:
            continue
        cost = agent["cost"]
        if cost["total_usd"] is None:
            parts.append(f"what {agent['agent']} cost is not known")
            continue
        text = f"{agent['agent']} cost {money(cost['total_usd'] / cost['metered'])} a run"
        if cost["per_success_usd"] is not None:
            text += f", {money(cost['per_success_usd'])} a success"
        parts.append(text)
    return "; ".join(parts) + "."


def _turned(
    cells: Cells, question: Question, best: dict[str, Any], against: dict[str, Any] | None, verdict: str
) -> list[str]:
    """Whether the verdict changes when every run that is neither success nor failure counts as no success."""
    import numpy as np

    if against is None or question.endpoint == INTENTION_TO_TREAT or bool(cells.known.all()):
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        means = cells.wins / cells.attempts
    one, other = (means[cells.agents.index(agent["agent"])] for agent in (best, against))
    difference = paired_difference(one, other, cells.level).difference
    other_verdict = decide(difference, question.minimum_effect, True)
    if difference.value is None or verdict == other_verdict:
        return []
    gap = points(difference)
    return [f"With unknown and invalid runs counted as no success, the difference is {gap}: {other_verdict}."]


def _caveats(cells: Cells, question: Question, agents: list[dict[str, Any]]) -> list[str]:
    """What could turn the answer, in the order in which a reader should know it."""
    found = [f"Agents are ranked by {ENDPOINTS[question.endpoint]}."]
    attempted = sum(agent["attempted"] for agent in agents)
    unknown = sum(agent["bounds"]["unknown"] for agent in agents)
    invalid = attempted - sum(agent["scorable"] for agent in agents)
    if unknown:
        found.append(f"{unknown} of {attempted} outcomes are unknown ({percent(unknown / attempted)}%).")
    if invalid:
        found.append(f"{invalid} of {attempted} runs are invalid ({percent(invalid / attempted)}%).")
    if unknown or invalid:
        treated = max(agents, key=lambda agent: agent["intention_to_treat"].value or 0.0)
        first = agents[0]
        ahead = (treated["intention_to_treat"].value or 0.0) > (first["intention_to_treat"].value or 0.0)
        same = "the first place stays the same" if not ahead else f"{treated['agent']} would be first"
        if question.endpoint != INTENTION_TO_TREAT:
            found.append(f"With every such run counted as no success, {same}.")
    if unknown:
        found.append("In pass@k and all-of-k an unknown outcome counts as no success.")
    censored = int((cells.table.censored == 1).sum())
    if censored:
        found.append(f"{censored} of {attempted} runs were cut short by a cap; their time and cost are lower limits.")
    methods = cells.table.cost_method.used().names
    if any(method.startswith(FALLBACK) for method in methods):
        found.append("Costs without a price table are units of a fixed schedule, a thousand to the dollar, not money.")
    if len(methods) > 1:
        found.append(f"Costs were reckoned by {len(methods)} price tables and cannot be compared as they stand.")
    if len(cells.tasks) < 20:
        found.append(f"There are only {len(cells.tasks)} tasks.")
    if cells.tries.max() <= 1:
        found.append("Each agent tried each task once: chance within a task cannot be told from skill.")
    return found
