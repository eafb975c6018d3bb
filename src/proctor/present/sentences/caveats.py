"""What could change the answer."""

from __future__ import annotations

from proctor.present.sentences.decision import counted
from proctor.present.sentences.phrases import NAMED, Said, Sentences, names, number_of, p_value, percent, points
from proctor.study.analysis.question import INTENTION_TO_TREAT, SUCCESS

ENDPOINTS = {
    SUCCESS: "success over scorable runs. Acceptance errors are no success; invalid and unknown runs are left out",
    INTENTION_TO_TREAT: "success over all attempted runs. Every run that is not a success counts against the agent",
}
"""What each endpoint does with runs that are neither success nor failure."""


def _alpha(said: Said) -> str:
    """Alpha with three digits, or with as many as distinguish it from the usual one."""
    usual = f"{said['usual']:g}"
    shown = next((text for digits in range(3, 18) if (text := f"{said['alpha']:.{digits}g}") != usual), usual)
    share = percent(said["alpha"])
    return (
        f"Alpha is {shown} instead of {usual}: up to {share}% of studies would claim a difference where there is none."
    )


def _partly(said: Said) -> str:
    some = [f"{count} of {said['runs'][agent]} runs of {agent}" for agent, count in said["unknown"].items()]
    agents = " agents" if len(some) > NAMED + 1 else ""
    taken = "Sums leave these runs out; the cost of a success assumes that they cost as much as the others on average."
    return f"The cost of {names(some)}{agents} is not known. {taken}"


def _first(said: Said) -> str:
    if said["unchanged"]:
        return "If all these runs counted as no success, the first place would not change."
    first = said["first"]
    if len(first) > 1:
        return f"If all these runs counted as no success, {names(first)} would share the first place."
    return f"If all these runs counted as no success, {first[0]} would be first."


def _alike(said: Said) -> str:
    groups = [names([repr(name) for name in group]) for group in said["groups"]]
    more = f" (and {number_of(len(groups) - NAMED, 'more group')})" if len(groups) > NAMED else ""
    return f"{'; '.join(groups[:NAMED])}{more} differ only in case or spaces, and count as different agents."


def _without_rate(said: Said) -> str:
    one = len(said["agents"]) == 1
    ending = "has no rate and is listed last" if one else "have no rate and are listed last"
    return f"A rate needs outcomes at two tasks or more: {names(said['agents'])} {ending}."


def _repeated(said: Said) -> str:
    were = "run was" if said["runs"] == 1 else "runs were"
    return f"{said['runs']} {were} invalid through no fault of the agent and repeated; only the last run counts."


def _counting(said: Said) -> str:
    text = "Rates count every run; the difference counts every task equally."
    if not said["without"]:
        return text
    lack = "has" if said["without"] == 1 else "have"
    what = "run" if said["endpoint"] == INTENTION_TO_TREAT else "outcome"
    which = "one or both of the agents" if said["of_neither"] else "one of the agents"
    return f"{said['without']} of {said['tasks']} tasks {lack} no {what} of {which}. {text}"


def _one_comparison(said: Said) -> str:
    text = "The question names this one comparison, so its p value is not adjusted; those of all other pairs are."
    if said["planned"]:
        return text
    return (
        f"{text} This is valid only if both agents were named before the results were known, which a table cannot show."
    )


def _smaller(said: Said) -> str:
    wanted, low = 100 * said["minimum_effect"], 100 * said["low"]
    return (
        f"The data show an advantage, but not that it reaches the {wanted:g} points that are worth a change: "
        f"the interval begins at {low:+.1f}."
    )


def _of(said: Said, what: str) -> str:
    """``3 of 24 runs are invalid (12.5%)``."""
    verb = "is" if said["runs"] == 1 else "are"
    return f"{said['runs']} of {said['attempted']} runs {verb} {what} ({percent(said['runs'] / said['attempted'])}%)"


SENTENCES: Sentences = {
    "advantage-may-be-smaller": _smaller,
    "agents-without-rate": _without_rate,
    "alpha-above-usual": _alpha,
    "candidate-chosen-by-result": lambda said: (
        f"The candidate was chosen by its result: {said['candidate']} is the best of {said['candidates']} agents that "
        f"could be compared with {said['against']}. The best of several tends to look better than it is."
    ),
    "cost-partly-unknown": _partly,
    "cost-unknown": lambda said: f"The cost of {names(said['agents'])} is not known.",
    "costs-by-several-price-tables": lambda said: (
        f"Costs were computed with {said['tables']} price tables and cannot be compared."
    ),
    "costs-in-units": lambda said: (
        "Costs are in units of a fixed schedule, not in money, because there was no price table; "
        f"budgets count {said['per_usd']:,} units as a dollar."
    ),
    "costs-not-added": lambda said: (
        f"The costs of {number_of(said['dollars'], 'run')} are in US dollars and those of {said['units']:,} in units "
        "of a fixed schedule. They are not added, and no costs are shown."
    ),
    "difference-if-counted": lambda said: (
        f"With {counted(said['counted'])}, the difference is {points(said['difference'])}: {said['verdict']}."
    ),
    "different-tasks": lambda said: (
        "Not all agents ran the same tasks: rates are over each agent's own tasks, comparisons over the tasks that "
        "both ran."
    ),
    "few-tasks": lambda said: (
        "There is only one task." if said["tasks"] == 1 else f"There are only {said['tasks']} tasks."
    ),
    "first-if-no-success": _first,
    "first-if-success": lambda said: (
        f"If such runs of {names(said['agents'])} counted as successes, and those of {said['first']} as no success, "
        "another agent would be first."
    ),
    "mixed-conditions": lambda said: (
        f"Mixed conditions: the runs of {names(said['tasks'])} were made under different conditions and are counted "
        "together; the table of comparability lists them."
    ),
    "names-alike": _alike,
    "not-comparable": lambda said: (
        f"{names(said['agents'])} cannot be compared with {said['against']}, because too few tasks have outcomes of "
        "both."
    ),
    "one-comparison": _one_comparison,
    "one-outcome-per-task": lambda said: (
        "No agent has two outcomes at the same task: chance within a task cannot be distinguished from skill."
    ),
    "one-trial-per-task": lambda said: (
        "Each agent tried each task once: chance within a task cannot be distinguished from skill."
    ),
    "ranked-by": lambda said: f"Agents are ranked by {ENDPOINTS.get(said['endpoint'], said['endpoint'])}.",
    "rates-and-difference-count-differently": _counting,
    "runs-cut-short": lambda said: f"{_of(said, 'cut short by a cap')}; their time and cost are lower limits.",
    "runs-invalid": lambda said: f"{_of(said, 'invalid')}.",
    "runs-repeated": _repeated,
    "runs-unknown": lambda said: f"{_of(said, 'unknown')}.",
    "signs-do-not-confirm": lambda said: (
        "The interval of the difference excludes 0, but flipping signs, which assumes less, does not confirm the "
        f"difference ({p_value(said['p'])})."
    ),
    "tasks-differ-alike": lambda said: (
        f"All {said['tasks']} tasks differ by the same amount. The p value counts their signs ({said['p']:.3f}), but "
        "the interval bounds other tasks and contains 0, so the pair is not separable."
    ),
    "unequal-runs": lambda said: "Tasks have unequal numbers of runs: rates weigh runs, comparisons weigh tasks.",
    "unknown-is-no-success-in-k": lambda said: "In pass@k and all-of-k an unknown outcome counts as no success.",
}
