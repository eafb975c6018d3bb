"""The answer in one sentence.

A ranking, or a decision by the rule of :mod:`proctor.study.analysis.pairwise_comparison`.
"""

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
from proctor.study.analysis.number_format import first_names, percent, points, span
from proctor.study.analysis.outcome_counts import Cells
from proctor.study.analysis.pairwise_comparison import ADOPT, KEEP, RANKING, UNDECIDED, decide, toward
from proctor.study.analysis.question import INTENTION_TO_TREAT, AlternativeCount, Question
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.paired_comparison import ENOUGH_TASKS

ONE_PLANNED = (
    "The question names this one comparison, so its p value is its own; those of all other pairs are adjusted."
)
NAMED_WHEN = "That holds only if both were named before anybody saw the results, which a table cannot show."
NAMED = 3
"""How many agents a sentence names."""
LISTED = 30
"""How many agents are listed for somebody who named another."""


def headline(
    cells: Cells,
    question: Question,
    agents: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    """The verdict with its sentence, its cost and what to be careful about; ``agents`` stand in the order of ranks."""
    if question.against is None:
        best, against = agents[0], None
        verdict, sentence = RANKING, _ranked(cells, agents, pairs)
        if question.unfinished:
            sentence = f"No ranking yet: {question.unfinished}."
        difference, p = None, None
        doubts = unconfirmed(pairs[0], question.alpha) if len(pairs) == 1 and not question.unfinished else []
        offers = [] if question.unfinished else cheaper(best, agents[1:], pairs, cells.unit)
    else:
        best, against = chosen(agents, question, pairs)
        pair = next(one for one in pairs if {one["a"], one["b"]} == {best["agent"], against["agent"]})
        difference, p = toward(pair, best["agent"]), pair["p_adjusted"]
        verdict = seen = decide(difference, question.minimum_effect, pair["separable"])
        sentence = _decided(verdict, best, against, difference, question, pair)
        other = None if question.unfinished else against_all(cells, question, best, against)
        gains = best if verdict == KEEP else against
        most = None if question.unfinished else one_sided(cells, question, best, against, gains)
        ways = [*unknown_outcome_counts(question, against["agent"], other, most), *question.counted]
        turning = next((one for one in ways if one.verdict != ADOPT), None)
        if verdict == ADOPT and turning is not None:
            verdict, sentence = UNDECIDED, _hidden(best, against, difference, turning, question)
        if question.unfinished:
            verdict = UNDECIDED
            sentence = f"Undecided on {best['agent']} rather than {against['agent']}: {question.unfinished}."
        doubts = smaller(difference, question) if verdict == ADOPT else []
        doubts += [*turned(other, most, seen, gains["agent"], question), *unconfirmed(pair, question.alpha)]
        doubts += picked(question, best, agents, pairs, cells.unit)
        if question.planned and len(pairs) > 1:
            doubts.append(ONE_PLANNED if question.pilot else f"{ONE_PLANNED} {NAMED_WHEN}")
        offers = []
    return {
        "verdict": verdict,
        "sentence": sentence,
        "best": best["agent"],
        "against": against["agent"] if against else None,
        "difference": difference,
        "p": p,
        "counting": _counting(cells, best["agent"], question.against, difference),
        "cost": " ".join([_cost(best, against, cells.unit), *offers]),
        "caveats": [*warnings, *doubts, *caveats(cells, question, agents)],
    }


def chosen(
    agents: list[dict[str, Any]], question: Question, pairs: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The candidate and the agent it is held against; nobody is picked who cannot be compared while others can."""
    by_name = {agent["agent"]: agent for agent in agents}
    others = [agent for agent in agents if agent["agent"] != question.against]
    able = comparable(pairs, str(question.against))
    first = next((agent for agent in others if agent["agent"] in able), others[0])
    best = first if question.candidate is None else by_name[question.candidate]
    return best, by_name[str(question.against)]


def check_names(agents: Sequence[str], question: Question) -> None:
    """Refuse a question about agents that are not there, before anything is computed."""
    asked = [name for name in (question.against, question.candidate) if name is not None]
    strangers = [repr(name) for name in dict.fromkeys(asked) if name not in agents]
    if strangers:
        more = f" and {len(agents) - LISTED} more" if len(agents) > LISTED else ""
        have = f"the agents are: {', '.join(agents[:LISTED])}{more}"
        raise UsageFault(f"there is no agent {' and no agent '.join(strangers)}", hint=have)
    if question.against is not None and (question.candidate == question.against or len(agents) < 2):
        raise UsageFault(
            f"{question.against!r} cannot be held against itself", hint="the table needs another agent to compare"
        )


def _ranked(cells: Cells, agents: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> str:
    best = agents[0]
    everything = cells.endpoint == INTENTION_TO_TREAT
    shown: Estimate = best["intention_to_treat" if everything else "success"]
    if shown.value is None:
        return f"No ranking: the rate of {best['agent']} is undefined, {shown.undefined}."
    measure = "its attempted runs" if everything else "its runs"
    if len(agents) == 1:
        return f"{best['agent']} succeeded in {span(shown)} of {measure}; there is no other agent in the table."
    first = [agent["agent"] for agent in agents if agent["rank"]["position"] == 1]
    rate = "highest success rate over all attempted runs" if everything else "highest success rate"
    if len(first) > 1:
        text = f"{first_names(first, NAMED)} share the {rate}, {percent(shown.value)}%; {best['agent']}"
    else:
        text = f"{best['agent']} has the {rate}, {span(shown)}"
    text += _told_apart(best["agent"], agents, pairs, len(first) > 1)
    if len(pairs) == 1:
        return f"{text}."
    apart = sum(one["separable"] for one in pairs)
    return f"{text}. {apart} of {len(pairs)} pairs are separable with all comparisons counted."


def _told_apart(best: str, agents: list[dict[str, Any]], pairs: list[dict[str, Any]], shared: bool) -> str:
    """From whom the first is separable, and in which direction: its rate may be that of easier tasks."""
    own = {one["b"] if one["a"] == best else one["a"]: one for one in pairs if best in (one["a"], one["b"])}
    strangers = [name for name, one in own.items() if one["difference"].value is None]
    alike = [name for name, one in own.items() if name not in strangers and not one["separable"]]
    ahead = [name for name, one in own.items() if one["separable"] and (toward(one, best).value or 0.0) < 0]
    said = []
    if ahead:
        said.append(f"is worse than {first_names(ahead, NAMED)} on the tasks that both ran")
    if alike:
        said.append(f"is not separable from {first_names(alike, NAMED)}")
    if strangers:
        said.append(
            f"cannot be compared with {first_names(strangers, NAMED)}, since too few tasks have outcomes of both"
        )
    if said:
        return f"{' ' if shared else ', but '}{', and '.join(said)}"
    every = "every other agent" if len(agents) > 2 else next(iter(own))
    return f"{' ' if shared else ', and '}is separable from {every}"


def _decided(
    verdict: str,
    best: dict[str, Any],
    against: dict[str, Any],
    difference: Estimate,
    question: Question,
    pair: dict[str, Any],
) -> str:
    names = f"{best['agent']} rather than {against['agent']}"
    if difference.value is None:
        return f"Undecided on {names}: the difference is undefined, {difference.undefined}."
    gap, at_least = points(difference), _at_least(question)
    if verdict == ADOPT:
        return f"Adopt {names}: the success rate differs by {gap}."
    if verdict == KEEP:
        ruled = f"an advantage of {best['agent']}{at_least} is ruled out"
        return f"Keep {against['agent']}: {ruled}; the difference is {gap}."
    if decide(difference, question.minimum_effect, True) == ADOPT:
        return f"Undecided on {names}: the difference is {gap}, but {_chance(pair, question)}."
    return f"Undecided on {names}: the difference is {gap}, which neither shows nor rules out an advantage{at_least}."


def _chance(pair: dict[str, Any], question: Question) -> str:
    """Why a difference whose interval leaves out 0 may be chance all the same."""
    flipped, p = pair["p_sign_flip"], pair["p_adjusted"]
    if pair["tasks"] < ENOUGH_TASKS and flipped is not None and flipped >= question.alpha:
        return f"so few tasks can show it by chance: flipping signs does not confirm it (p = {flipped:.3f})"
    return f"it may be chance with all comparisons counted{'' if p is None else f' (p = {p:.3f})'}"


def _hidden(
    best: dict[str, Any], against: dict[str, Any], seen: Estimate, other: AlternativeCount, question: Question
) -> str:
    """Why an advantage is none that rests on leaving out runs: a failure that is not told would be such a run too."""
    text = f"Undecided on {best['agent']} rather than {against['agent']}: the difference is {points(seen)}"
    shows = f"which does not show an advantage{_at_least(question)}"
    return f"{text}, but {points(other.difference)} with {other.how}, {shows}."


def _at_least(question: Question) -> str:
    """How large an advantage has to be, after the word."""
    wanted = question.minimum_effect or 0.0
    return f" of at least {percent(wanted)} points" if wanted else ""


def _counting(cells: Cells, best: str, against: str | None, difference: Estimate | None) -> str:
    """Why the difference is not that of both rates, where it is not: tasks that one lacks, or that count more often."""
    if against is None or difference is None or difference.value is None:
        return ""
    tries = cells.tries[[cells.agents.index(best), cells.agents.index(against)]]
    both = (tries > 0).all(axis=0)
    left = int((~both).sum())
    if not left and not any(len(np.unique(row)) > 1 for row in tries):
        return ""
    lacks = ""
    if left:
        what = "run" if cells.endpoint == INTENTION_TO_TREAT else "outcome"
        which = "one or both of them" if (tries == 0).all(axis=0).any() else "one of them"
        lacks = f"{left} of {len(cells.tasks)} tasks {'has' if left == 1 else 'have'} no {what} of {which}. "
    return f"{lacks}Rates count every run, the difference every task alike."


def _cost(best: dict[str, Any], against: dict[str, Any] | None, unit: Unit) -> str:
    if any(unit.mixed):
        return "Costs are in two units, US dollars and units of a fixed schedule, and cannot be compared."
    parts = []
    for agent in (best, against):
        if agent is None:
            continue
        cost = agent["cost"]
        if cost["total_usd"] is None:
            parts.append(f"The cost of {agent['agent']} is not known")
            continue
        text = f"{agent['agent']} cost {unit.words(cost['total_usd'] / cost['metered'])} a run"
        if cost["per_success_usd"] is not None:
            text += f", {unit.words(cost['per_success_usd'])} a success"
        parts.append(text)
    return ". ".join(parts) + "."
