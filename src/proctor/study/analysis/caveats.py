"""What could change an answer, what the table does not support, and the limits of its findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from proctor.study.analysis.capped_runs import where_cut
from proctor.study.analysis.cost_unit import UNITS, Unit
from proctor.study.analysis.outcome_counts import NAMELESS, Cells
from proctor.study.analysis.pairwise_comparison import ADOPT, RATED_TASKS, decide, is_separable
from proctor.study.analysis.question import INTENTION_TO_TREAT, SEED, AlternativeCount, Extras, Question
from proctor.study.analysis.strata_rates import SEVERAL, strata_of
from proctor.study.run_table import Floats
from proctor.study.statements import Statement, statement
from proctor.study.stats.estimate import Estimate
from proctor.study.stats.paired_comparison import ALL_ALIKE, paired_difference

FEW_TASKS = 20
USUAL_ALPHA = 0.05


def caveats(cells: Cells, question: Question, agents: list[dict[str, Any]]) -> list[Statement]:
    """What could change the answer, in the order in which a reader should know it."""
    found = []
    if question.alpha > USUAL_ALPHA:
        found.append(statement("alpha-above-usual", alpha=question.alpha, usual=USUAL_ALPHA))
    found += _names_alike(cells.agents)
    found.append(statement("ranked-by", endpoint=question.endpoint))
    tasks = (cells.tries > 0).sum(axis=1)
    few = [name for name, many in zip(cells.agents, tasks.tolist(), strict=True) if many < RATED_TASKS]
    if few and len(few) < len(agents):
        found.append(statement("agents-without-rate", agents=few))
    if len(agents) > 1 and (cells.attempts == 0).any():
        found.append(statement("different-tasks"))
    if any(len(set(row[row > 0].tolist())) > 1 for row in cells.attempts):
        found.append(statement("unequal-runs"))
    attempted = sum(agent["attempted"] for agent in agents)
    unknown = sum(agent["bounds"]["unknown"] for agent in agents)
    invalid = attempted - sum(agent["scorable"] for agent in agents)
    if unknown:
        found.append(statement("runs-unknown", runs=unknown, attempted=attempted))
    if invalid:
        found.append(statement("runs-invalid", runs=invalid, attempted=attempted))
    if cells.repeated:
        found.append(statement("runs-repeated", runs=cells.repeated))
    rated = all(agent["intention_to_treat"].value is not None for agent in agents)
    if (unknown or invalid) and question.endpoint != INTENTION_TO_TREAT and len(agents) > 1 and rated:
        found.append(_first_if_no_success(agents))
        if (others := _could_be_first(agents)) and question.against is None:
            found.append(statement("first-if-success", agents=others, first=agents[0]["agent"]))
    if unknown:
        found.append(statement("unknown-is-no-success-in-k"))
    censored = int((cells.table.censored == 1).sum())
    if censored:
        found.append(statement("runs-cut-short", runs=censored, attempted=attempted))
    found += _priced(cells, agents)
    if len(cells.tasks) < FEW_TASKS:
        found.append(statement("few-tasks", tasks=len(cells.tasks)))
    if cells.tries.max() <= 1:
        found.append(statement("one-trial-per-task" if cells.attempts.max() <= 1 else "one-outcome-per-task"))
    return found


def _names_alike(names: Sequence[str]) -> list[Statement]:
    """Names that may be one name, written in two ways."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    groups = [group for group in alike.values() if len(group) > 1]
    return [statement("names-alike", groups=groups)] if groups else []


def _priced(cells: Cells, agents: list[dict[str, Any]]) -> list[Statement]:
    """What unit the costs have, unless they are plain money."""
    dollars, units = cells.unit.mixed
    if dollars:
        return [statement("costs-not-added", dollars=dollars, units=units)]
    found = _unmetered(agents)
    methods = cells.table.cost_method.used().names
    if cells.unit == UNITS:
        found.append(statement("costs-in-units", per_usd=UNITS.per_usd))
    if len(methods) > 1:
        found.append(statement("costs-by-several-price-tables", tables=len(methods)))
    return found


def _unmetered(agents: list[dict[str, Any]]) -> list[Statement]:
    """Which agents have runs without a known cost."""
    counts = [(agent["agent"], agent["attempted"] - agent["cost"]["metered"], agent["attempted"]) for agent in agents]
    some = [(name, dark, runs) for name, dark, runs in counts if 0 < dark < runs]
    none = [name for name, dark, runs in counts if dark == runs]
    found = []
    if some:
        unknown, runs = {name: dark for name, dark, _ in some}, {name: runs for name, _, runs in some}
        found.append(statement("cost-partly-unknown", unknown=unknown, runs=runs))
    if none and len(none) < len(agents):
        found.append(statement("cost-unknown", agents=none))
    return found


Supposed: TypeAlias = tuple[str, Estimate]
"""The verdict and the difference if runs that were left out had some outcome."""


def against_all(cells: Cells, question: Question, best: dict[str, Any], against: dict[str, Any]) -> Supposed | None:
    """The verdict and the difference when every run that is neither success nor failure counts as a failure.

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
    """What follows if all runs count, and agents had so many successes."""
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


def unknown_outcome_counts(
    question: Question, against: str, other: Supposed | None, most: Supposed | None
) -> list[AlternativeCount]:
    """Both suppositions about runs that are neither success nor failure, as ways to count them."""
    repeated = bool(question.repeated)
    ways = (
        (statement("as-no-success", repeated=repeated), other),
        (statement("against-the-candidate", repeated=repeated, against=against), most),
    )
    return [AlternativeCount((how,), *supposed) for how, supposed in ways if supposed is not None]


def turned(
    other: Supposed | None, most: Supposed | None, verdict: str, gains: str, question: Question
) -> list[Statement]:
    """Whether the verdict changes when runs that are neither success nor failure count in some way."""
    for one in unknown_outcome_counts(question, gains, other, most):
        if one.difference.value is not None and one.verdict != verdict:
            return [one.caveat]
    return []


def picked(
    question: Question, best: dict[str, Any], agents: list[dict[str, Any]], pairs: list[dict[str, Any]], unit: Unit
) -> list[Statement]:
    """That the candidate was not named beforehand, and the cheapest agent that may be as good."""
    if question.candidate is not None:
        return []
    able = comparable(pairs, str(question.against))
    rest = [one for one in agents if one["agent"] not in (question.against, best["agent"])]
    others = [one for one in rest if one["agent"] in able]
    strangers = [one["agent"] for one in rest if one["agent"] not in able]
    apart = []
    if strangers and able:
        apart = [statement("not-comparable", agents=strangers, against=str(question.against))]
    if not others:
        return apart
    names = {"candidate": best["agent"], "against": str(question.against)}
    found = [statement("candidate-chosen-by-result", **names, candidates=len(others) + 1)]
    return [*found, *apart, *cheaper(best, others, pairs, unit)]


def comparable(pairs: list[dict[str, Any]], against: str) -> set[str]:
    """The agents whose difference to ``against`` is defined."""
    own = [one for one in pairs if against in (one["a"], one["b"]) and one["difference"].value is not None]
    return {one["a"] if one["b"] == against else one["b"] for one in own}


def cheaper(
    best: dict[str, Any], others: list[dict[str, Any]], pairs: list[dict[str, Any]], unit: Unit
) -> list[Statement]:
    """The cheapest of the agents that may be as good as the best, where it costs less."""
    open_ = [{one["a"], one["b"]} for one in pairs if not one["separable"] and one["difference"].value is not None]
    own = _per_run(best)
    prices = [(_per_run(one), one["agent"]) for one in others if {one["agent"], best["agent"]} in open_]
    less = [(usd, name) for usd, name in prices if own is not None and usd is not None and usd < own]
    if own is None or not less:
        return []
    usd, name = min(less)
    costs = {"usd": usd, "than": best["agent"], "than_usd": own, "unit": unit.name}
    return [statement("cheaper-and-not-separable", agent=name, **costs)]


def _per_run(agent: dict[str, Any]) -> float | None:
    cost = agent["cost"]
    return None if cost["total_usd"] is None else float(cost["total_usd"] / cost["metered"])


def smaller(difference: Estimate, question: Question) -> list[Statement]:
    """That an advantage was shown, but not that it reaches the minimum effect."""
    wanted, low = question.minimum_effect or 0.0, difference.low
    if low is None or low >= wanted:
        return []
    return [statement("advantage-may-be-smaller", minimum_effect=wanted, low=low)]


def unconfirmed(pair: dict[str, Any], alpha: float) -> list[Statement]:
    """Whether the comparison that flips signs, which assumes no shape, fails to confirm a difference."""
    flipped = pair["p_sign_flip"]
    if flipped is not None and pair["p"] is not None and pair["p"] < alpha <= flipped:
        return [statement("signs-do-not-confirm", p=flipped)]
    alike = pair["difference"].method == ALL_ALIKE
    if alike and pair["p_adjusted"] is not None and pair["p_adjusted"] < alpha and not pair["separable"]:
        return [statement("tasks-differ-alike", tasks=pair["tasks"], p=pair["p_adjusted"])]
    return []


def _first_if_no_success(agents: list[dict[str, Any]]) -> Statement:
    """Which agents would be first by intention to treat."""
    rates = [round(agent["intention_to_treat"].value, 12) for agent in agents]
    firsts = [agent["agent"] for agent, rate in zip(agents, rates, strict=True) if rate == max(rates)]
    return statement("first-if-no-success", first=firsts, unchanged=firsts == [agents[0]["agent"]])


def _could_be_first(agents: list[dict[str, Any]]) -> list[str]:
    """The agents whose rate would be above that of the first if all their runs without an outcome were successes."""
    least = agents[0]["intention_to_treat"].value
    found = []
    for agent in agents[1:]:
        left = (agent["attempted"] - agent["success"].n) / agent["attempted"]
        if agent["intention_to_treat"].value + left > least + 1e-12 and left:
            found.append(agent["agent"])
    return found


def cannot(cells: Cells, extras: Extras) -> list[Statement]:
    """What the table does not support."""
    table, said = cells.table, list(extras.cannot)
    known = {one.code for one in said}
    if cells.tries.max() <= 1:
        said.append(statement("variation-unknown", trials=bool(cells.attempts.max() <= 1)))
    if len(cells.tasks) < 2:
        said.append(statement("one-task-only"))
    elif len(cells.tasks) < FEW_TASKS:
        said.append(statement("only-few-tasks", tasks=len(cells.tasks)))
    if len(cells.agents) < 2:
        said.append(statement("one-agent"))
    if any(cells.unit.mixed):
        said.append(statement("cannot-add-costs"))
    elif np.isnan(table.cost_usd).all() and "no-column-of-costs" not in known:
        said.append(statement("no-costs"))
    if np.isnan(table.seconds).all() and "no-column-of-times" not in known:
        said.append(statement("no-times"))
    if (cells.attempts == 0).any():
        said.append(statement("pairs-without-runs", pairs=int((cells.attempts == 0).sum()), of=cells.attempts.size))
    said += _cut_short(cells)
    labels, of_task = strata_of(cells)
    if labels == (NAMELESS,) and "no-column-of-strata" not in known:
        said.append(statement("no-strata"))
    if SEVERAL in labels:
        said.append(statement("task-in-several-strata", tasks=int((of_task == labels.index(SEVERAL)).sum())))
    if (table.comparability.codes < 0).all():
        said.append(statement("no-conditions"))
    return said


def _cut_short(cells: Cells) -> list[Statement]:
    """What curves and means assume of runs that a cap cut short."""
    table = cells.table
    cut = table.censored == 1
    seconds, usd = (values[cut & ~np.isnan(values)] for values in (table.seconds, table.cost_usd))
    said = []
    if len(seconds) and where_cut(seconds) is None:
        said.append(statement("times-cut-at-different-values"))
    if len(usd) and where_cut(usd) is None:
        said.append(statement("costs-cut-at-different-values"))
    return said


def scope(cells: Cells, extras: Extras) -> dict[str, Any]:
    """When runs were made, what they cover, and to what their findings do not extend."""
    begun = cells.table.begun.used()
    labels, _ = strata_of(cells)
    warned = [statement("these-tasks", tasks=len(cells.tasks)), statement("these-agents"), *extras.not_to_generalise]
    return {
        "window": [begun.names[0], begun.names[-1]] if begun.names else [None, None],
        "languages": list(extras.languages),
        "kinds": list(extras.kinds),
        "strata": [label for label in labels if label != NAMELESS][:200],
        "not_to_generalise": warned,
    }
