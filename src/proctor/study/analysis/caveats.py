"""What could change an answer, what the table does not support, and to what its findings do not extend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from proctor.study.analysis.capped_runs import where_cut
from proctor.study.analysis.cost_unit import UNITS, Unit
from proctor.study.analysis.number_format import first_names, percent, points
from proctor.study.analysis.outcome_counts import NAMELESS, Cells
from proctor.study.analysis.pairwise_comparison import ADOPT, RATED_TASKS, decide, is_separable
from proctor.study.analysis.question import ENDPOINTS, INTENTION_TO_TREAT, SEED, AlternativeCount, Extras, Question
from proctor.study.analysis.strata_rates import SEVERAL, strata_of
from proctor.study.run_table import Floats
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.paired_comparison import ALL_ALIKE, paired_difference

FEW_TASKS = 20
USUAL_ALPHA = 0.05
NAMED = 3
"""How many agents a sentence names."""


def _alpha(alpha: float) -> str:
    """Alpha with three digits, or with as many as tell it from the usual one."""
    return next(text for digits in range(3, 18) if (text := f"{alpha:.{digits}g}") != f"{USUAL_ALPHA:g}")


def caveats(cells: Cells, question: Question, agents: list[dict[str, Any]]) -> list[str]:
    """What could turn the answer, in the order in which a reader should know it."""
    found = []
    if question.alpha > USUAL_ALPHA:
        claimed = f"a difference that is not there would be claimed in up to {percent(question.alpha)}% of studies"
        found.append(f"Alpha is {_alpha(question.alpha)}, and not {USUAL_ALPHA:g}: {claimed}.")
    found += _namesakes(cells.agents)
    found.append(f"Agents are ranked by {ENDPOINTS[question.endpoint]}.")
    tasks = (cells.tries > 0).sum(axis=1)
    few = [name for name, many in zip(cells.agents, tasks.tolist(), strict=True) if many < RATED_TASKS]
    if few and len(few) < len(agents):
        told = "It takes outcomes at two tasks or more to have a rate"
        last = "has none, and stands last" if len(few) == 1 else "have none, and stand last"
        found.append(f"{told}: {first_names(few, NAMED)} {last}.")
    if len(agents) > 1 and (cells.attempts == 0).any():
        told = "Not all agents ran the same tasks: rates are over each agent's own"
        found.append(f"{told}, and comparisons over those that both ran.")
    if any(len(set(row[row > 0].tolist())) > 1 for row in cells.attempts):
        found.append("Tasks have unequal numbers of runs: rates count every run, comparisons every task alike.")
    attempted = sum(agent["attempted"] for agent in agents)
    unknown = sum(agent["bounds"]["unknown"] for agent in agents)
    invalid = attempted - sum(agent["scorable"] for agent in agents)
    if unknown:
        found.append(f"{unknown} of {attempted} outcomes are unknown ({percent(unknown / attempted)}%).")
    if invalid:
        found.append(f"{invalid} of {attempted} runs are invalid ({percent(invalid / attempted)}%).")
    if cells.repeated:
        told = "1 run was" if cells.repeated == 1 else f"{cells.repeated} runs were"
        found.append(f"{told} invalid through no fault of the agent and repeated; only the last run of a place counts.")
    rated = all(agent["intention_to_treat"].value is not None for agent in agents)
    if (unknown or invalid) and question.endpoint != INTENTION_TO_TREAT and len(agents) > 1 and rated:
        found.append(f"With every such run counted as no success, {_first_then(agents)}.")
        if (others := _could_be_first(agents)) and question.against is None:
            told = f"With such runs of {first_names(others, NAMED)} counted as successes"
            found.append(f"{told}, and those of {agents[0]['agent']} as none, the first place would be another's.")
    if unknown:
        found.append("In pass@k and all-of-k an unknown outcome counts as no success.")
    censored = int((cells.table.censored == 1).sum())
    if censored:
        found.append(f"{censored} of {attempted} runs were cut short by a cap; their time and cost are lower limits.")
    found += _priced(cells, agents)
    if len(cells.tasks) < FEW_TASKS:
        found.append(f"There {'is one task' if len(cells.tasks) == 1 else f'are {len(cells.tasks)} tasks'} only.")
    if cells.tries.max() <= 1:
        once = cells.attempts.max() <= 1
        told = "Each agent tried each task once" if once else "No agent has two outcomes at the same task"
        found.append(f"{told}: chance within a task cannot be told from skill.")
    return found


def _namesakes(names: Sequence[str]) -> list[str]:
    """Names that somebody may have written in two ways."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(" ".join(name.casefold().split()), []).append(repr(name))
    told = [first_names(group, NAMED) for group in alike.values() if len(group) > 1]
    more = f" (and {len(told) - NAMED} more such names)" if len(told) > NAMED else ""
    if not told:
        return []
    return [f"{'; '.join(told[:NAMED])}{more} differ only by case or blanks, and count as different agents."]


def _priced(cells: Cells, agents: list[dict[str, Any]]) -> list[str]:
    """What the costs are in, where that is not plain money."""
    dollars, units = cells.unit.mixed
    if dollars:
        told = f"The costs of {dollars} runs are in US dollars and those of {units} in units of a fixed schedule"
        return [f"{told}: they are not added, and none is told."]
    found = _unmetered(agents)
    methods = cells.table.cost_method.used().names
    if cells.unit == UNITS:
        told = "Costs are in units of a fixed schedule, not in money, since there was no price table"
        found.append(f"{told}; budgets count {UNITS.per_usd:,} units as a dollar.")
    if len(methods) > 1:
        found.append(f"Costs were reckoned by {len(methods)} price tables and cannot be compared as they stand.")
    return found


def _unmetered(agents: list[dict[str, Any]]) -> list[str]:
    """Whose costs are not all known, and what the price of a success takes for those that are not."""
    counts = [(agent["attempted"] - agent["cost"]["metered"], agent["attempted"], agent["agent"]) for agent in agents]
    some = [f"{dark} of {runs} runs of {name}" for dark, runs, name in counts if 0 < dark < runs]
    none = [name for dark, runs, name in counts if dark == runs]
    found = []
    if some:
        more = "; sums leave them out, and the price of a success takes the mean of the others for them"
        found.append(f"The cost of {first_names(some, NAMED)}{' agents' * (len(some) > NAMED + 1)} is not known{more}.")
    if none and len(none) < len(agents):
        found.append(f"The cost of {first_names(none, NAMED)} is not known.")
    return found


Supposed: TypeAlias = tuple[str, Estimate]
"""The verdict and the difference if runs that were left out had come out in some way."""


def against_all(cells: Cells, question: Question, best: dict[str, Any], against: dict[str, Any]) -> Supposed | None:
    """The verdict and the difference when every run that is neither success nor failure counts as no success.

    Nothing where there is no such run, or they count so already.
    """
    if not question.repeated and (question.endpoint == INTENTION_TO_TREAT or bool(cells.known.all())):
        return None
    return _supposed(cells, question, best, against, cells.wins)


def one_sided(
    cells: Cells, question: Question, best: dict[str, Any], against: dict[str, Any], gains: dict[str, Any]
) -> Supposed | None:
    """The same when these runs are successes of the one that ``gains`` and of no other: the most they can mean.

    Nothing where it has no such run.
    """
    row = cells.agents.index(gains["agent"])
    left = _attempted(cells, question)[row] - cells.count(cells.known)[row]
    if not left.any():
        return None
    wins = cells.wins.copy()
    wins[row] += left
    return _supposed(cells, question, best, against, wins)


def _supposed(
    cells: Cells, question: Question, best: dict[str, Any], against: dict[str, Any], wins: Floats
) -> Supposed:
    """What follows if all runs count, and agents had won so many of them."""
    pair = (cells.agents.index(best["agent"]), cells.agents.index(against["agent"]))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = wins / _attempted(cells, question)
    difference = paired_difference(means[pair[0]], means[pair[1]], cells.level).difference
    verdict = decide(difference, question.minimum_effect, True)
    if verdict == ADOPT:
        rng = np.random.default_rng(SEED)
        separable = is_separable(means.T, pair, bool(question.planned), question.alpha, rng)
        verdict = decide(difference, question.minimum_effect, separable)
    return verdict, difference


def _attempted(cells: Cells, question: Question) -> Floats:
    """How many runs each agent made at each task, those that were made again included."""
    agents, tasks = ({name: place for place, name in enumerate(names)} for names in (cells.agents, cells.tasks))
    found = cells.attempts.copy()
    for agent, task, count in question.repeated:
        if agent in agents and task in tasks:
            found[agents[agent], tasks[task]] += count
    return found


def left_out(question: Question) -> str:
    """The runs that are neither success nor failure, in words."""
    return "unknown, invalid and repeated runs" if question.repeated else "unknown and invalid runs"


def unknown_outcome_counts(
    question: Question, against: str, other: Supposed | None, most: Supposed | None
) -> list[AlternativeCount]:
    """Both suppositions about runs that are neither success nor failure, as ways to count them."""
    left = left_out(question)
    ways = (
        (f"{left} counted as no success", other),
        (f"{left} of {against} counted as successes, and others as none", most),
    )
    return [AlternativeCount(how, *supposed) for how, supposed in ways if supposed is not None]


def turned(other: Supposed | None, most: Supposed | None, verdict: str, gains: str, question: Question) -> list[str]:
    """Whether the verdict is another one when runs that are neither success nor failure count in some way."""
    if other is not None and other[1].value is not None and other[0] != verdict:
        return [f"With {left_out(question)} counted as no success, the difference is {points(other[1])}: {other[0]}."]
    if most is not None and most[1].value is not None and most[0] != verdict:
        supposed = f"If {left_out(question)} of {gains} were successes, and others none"
        return [f"{supposed}, the difference would be {points(most[1])}: {most[0]}."]
    return []


def picked(
    question: Question, best: dict[str, Any], agents: list[dict[str, Any]], pairs: list[dict[str, Any]], unit: Unit
) -> list[str]:
    """That nobody named the candidate beforehand, and the cheapest agent that may be as good."""
    if question.candidate is not None:
        return []
    able = comparable(pairs, str(question.against))
    rest = [one for one in agents if one["agent"] not in (question.against, best["agent"])]
    others = [one for one in rest if one["agent"] in able]
    strangers = [one["agent"] for one in rest if one["agent"] not in able]
    apart = []
    if strangers and able:
        told = f"{first_names(strangers, NAMED)} cannot be compared with {question.against}"
        apart = [f"{told}: too few tasks have outcomes of both."]
    if not others:
        return apart
    told = f"The candidate was chosen by its result: {best['agent']} is the first of {len(others) + 1} that could be "
    found = [f"{told}held against {question.against}, and the first of several tends to look better than it is."]
    return [*found, *apart, *cheaper(best, others, pairs, unit)]


def comparable(pairs: list[dict[str, Any]], against: str) -> set[str]:
    """The agents whose difference to ``against`` is defined."""
    own = [one for one in pairs if against in (one["a"], one["b"]) and one["difference"].value is not None]
    return {one["a"] if one["b"] == against else one["b"] for one in own}


def cheaper(best: dict[str, Any], others: list[dict[str, Any]], pairs: list[dict[str, Any]], unit: Unit) -> list[str]:
    """The cheapest of the agents that may be as good as the best, where it costs less."""
    open_ = [{one["a"], one["b"]} for one in pairs if not one["separable"] and one["difference"].value is not None]
    own = _per_run(best)
    prices = [(_per_run(one), one["agent"]) for one in others if {one["agent"], best["agent"]} in open_]
    less = [(usd, name) for usd, name in prices if own is not None and usd is not None and usd < own]
    if own is None or not less:
        return []
    usd, name = min(less)
    text = f"{name} is not separable from {best['agent']} and cheaper"
    return [f"{text}: {unit.words(usd)} a run instead of {unit.words(own)}."]


def _per_run(agent: dict[str, Any]) -> float | None:
    cost = agent["cost"]
    return None if cost["total_usd"] is None else float(cost["total_usd"] / cost["metered"])


def smaller(difference: Estimate, question: Question) -> list[str]:
    """That an advantage was shown, and not that it is as large as would be worth a change."""
    wanted, low = question.minimum_effect or 0.0, difference.low
    if low is None or low >= wanted:
        return []
    shown = f"An advantage is shown, and not that it reaches the {100 * wanted:g} points that are worth a change"
    return [f"{shown}: the interval begins at {100 * low:+.1f}."]


def unconfirmed(pair: dict[str, Any], alpha: float) -> list[str]:
    """Whether the comparison that flips signs, which assumes no shape, fails to confirm a difference."""
    flipped = pair["p_sign_flip"]
    if flipped is not None and pair["p"] is not None and pair["p"] < alpha <= flipped:
        told = (
            "The interval of the difference leaves out 0, but flipping signs, which assumes less, does not confirm it"
        )
        return [f"{told} (p = {flipped:.3f})."]
    alike = pair["difference"].method == ALL_ALIKE
    if alike and pair["p_adjusted"] is not None and pair["p_adjusted"] < alpha and not pair["separable"]:
        told = f"All {pair['tasks']} tasks differ alike: p counts their signs ({pair['p_adjusted']:.3f})"
        bound = "the interval is an exact bound on what other tasks may show"
        return [f"{told}, and {bound}; it holds 0, so that the pair is not separable."]
    return []


def _first_then(agents: list[dict[str, Any]]) -> str:
    """Who would be first by intention to treat, in words."""
    rates = [round(agent["intention_to_treat"].value, 12) for agent in agents]
    firsts = [agent["agent"] for agent, rate in zip(agents, rates, strict=True) if rate == max(rates)]
    if len(firsts) > 1:
        return f"{first_names(firsts, NAMED)} would share the first place"
    return "the first place stays the same" if firsts[0] == agents[0]["agent"] else f"{firsts[0]} would be first"


def _could_be_first(agents: list[dict[str, Any]]) -> list[str]:
    """Whose rate would be above that of the first, if all its runs without an outcome were successes."""
    least = agents[0]["intention_to_treat"].value
    found = []
    for agent in agents[1:]:
        left = (agent["attempted"] - agent["success"].n) / agent["attempted"]
        if agent["intention_to_treat"].value + left > least + 1e-12 and left:
            found.append(agent["agent"])
    return found


FEW_TASKS_FOR_INTERVALS = 20


def cannot(cells: Cells, extras: Extras) -> list[str]:
    """Sentences on what cannot be said."""
    table, said = cells.table, list(extras.cannot)
    most = cells.tries.max()
    if most <= 1:
        once = "one trial for each task" if cells.attempts.max() <= 1 else "at most one outcome for each task"
        said.append(f"{once}: how much an agent varies on a task, pass@k beyond 1 and all-of-k are unknown")
    if len(cells.tasks) < 2:
        said.append("one task only: nothing can be said about other tasks")
    elif len(cells.tasks) < FEW_TASKS_FOR_INTERVALS:
        said.append(f"only {len(cells.tasks)} tasks: intervals are wide, and tests on so few are coarse")
    if len(cells.agents) < 2:
        said.append("one agent only: there is nothing to compare it with")
    told = " ".join(said)
    if any(cells.unit.mixed):
        said.append("no costs: they are in units that cannot be added")
    elif np.isnan(table.cost_usd).all() and "no costs" not in told:
        said.append("no costs: none of the runs was metered")
    if np.isnan(table.seconds).all() and "no times" not in told:
        said.append("no times: none of the runs says how long it took")
    if (cells.attempts == 0).any():
        pairs = int((cells.attempts == 0).sum())
        said.append(
            f"{pairs} of {cells.attempts.size} pairs of agent and task were never run: "
            "pairs of agents are compared on the tasks that both ran, rates on each agent's own"
        )
    said += _cut_short(cells)
    labels, of_task = strata_of(cells)
    if labels == (NAMELESS,) and "no strata" not in told:
        said.append("no strata: the table does not say what kinds of tasks there are")
    if SEVERAL in labels:
        torn = int((of_task == labels.index(SEVERAL)).sum())
        many = "1 task is" if torn == 1 else f"{torn} tasks are"
        said.append(f"{many} in several strata, by different rows: what kind of task that is cannot be told")
    if (table.comparability.codes < 0).all():
        said.append("no conditions: the table does not say whether runs of a task had the same tools and limits")
    return said


def _cut_short(cells: Cells) -> list[str]:
    """What curves and means take for granted of runs that a cap cut short."""
    table = cells.table
    cut = table.censored == 1
    seconds, usd = (values[cut & ~np.isnan(values)] for values in (table.seconds, table.cost_usd))
    said = []
    if len(seconds) and where_cut(seconds) is None:
        told = (
            "runs were cut at different times: curves and means of time take this as unrelated to how long they would"
        )
        said.append(f"{told} have gone on, which caps by task are not")
    if len(usd) and where_cut(usd) is None:
        told = "runs were cut at different costs, as by a cap on time: what they had cost by then goes with what they"
        said.append(f"{told} would have cost, so that curves and means of cost are rough")
    return said


def scope(cells: Cells, extras: Extras) -> dict[str, Any]:
    """When runs were made, what they cover, and what must not be made of them."""
    begun = cells.table.begun.used()
    labels, _ = strata_of(cells)
    warned = [
        f"{_these(len(cells.tasks))}: intervals speak of tasks like them, not of software work as a whole",
        "the agents are these versions under these limits; another model, budget or prompt is another agent",
        *extras.not_to_generalise,
    ]
    return {
        "window": [begun.names[0], begun.names[-1]] if begun.names else [None, None],
        "languages": list(extras.languages),
        "kinds": list(extras.kinds),
        "strata": [label for label in labels if label != NAMELESS][:200],
        "not_to_generalise": warned,
    }


def _these(tasks: int) -> str:
    return "the task is this one" if tasks == 1 else f"the tasks are these {tasks}"
