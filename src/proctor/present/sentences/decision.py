"""The answer of a study: a ranking, or the decision between a candidate and the agent in use."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.present.sentences import pilot_progress
from proctor.present.sentences.estimates import undefined
from proctor.present.sentences.phrases import Said, Sentences, level, names, p_value, percent, points, rate
from proctor.study.analysis.question import INTENTION_TO_TREAT

EVERYTHING = "unknown and invalid runs"
REPEATED = "unknown, invalid and repeated runs"


def _left_out(said: Said) -> str:
    return REPEATED if said["repeated"] else EVERYTHING


COUNTING: Sentences = {
    "against-the-candidate": lambda said: (
        f"{_left_out(said)} of {said['against']} counted as successes, and those of other agents as no success"
    ),
    "as-no-success": lambda said: f"{_left_out(said)} counted as no success",
    "equal-repeats": lambda said: (
        f"only the repeats that no budget of a task cut ({', '.join(f'{repeat:g}' for repeat in said['repeats'])})"
    ),
    "removed-tasks-counted": lambda said: "the runs of removed tasks counted",
}
"""Ways to count runs, to be read after *with*."""


def counted(ways: Sequence[Said]) -> str:
    """Several ways to count runs together, to be read after *with*."""
    return " and ".join(COUNTING[one["code"]](one) for one in ways)


def measure(endpoint: str) -> str:
    """The rate by which agents are ranked."""
    return "success rate over all attempted runs" if endpoint == INTENTION_TO_TREAT else "success rate"


def _one_agent(said: Said) -> str:
    runs = "attempted runs" if said["endpoint"] == INTENTION_TO_TREAT else "runs"
    return (
        f"{said['agent']} succeeded in {rate(said['rate'])} of its {runs}; there is no other agent to compare it with."
    )


def _ranked(said: Said) -> str:
    best, first = said["agent"], said["first"]
    if len(first) > 1:
        shared = f"{names(first)} share the highest {measure(said['endpoint'])}, {percent(said['rate']['value'])}%"
        text = f"{shared}; {best}{_separable(said, ' ', ' ')}"
    else:
        head = f"{best} has the highest {measure(said['endpoint'])}, {rate(said['rate'])}"
        text = f"{head}{_separable(said, ', but ', ', and ')}"
    if said["pairs"] == 1:
        return f"{text}."
    return f"{text}. {said['separable_pairs']} of {said['pairs']} pairs are separable, adjusted for all comparisons."


def _separable(said: Said, but: str, and_: str) -> str:
    """Which agents the first can be separated from, and in which direction."""
    parts = []
    if said["better"]:
        parts.append(f"is worse than {names(said['better'])} on the tasks that both ran")
    if said["not_separable"]:
        parts.append(f"is not separable from {names(said['not_separable'])}")
    if said["not_comparable"]:
        few = "because too few tasks have outcomes of both"
        parts.append(f"cannot be compared with {names(said['not_comparable'])}, {few}")
    if parts:
        return f"{but}{', and '.join(parts)}"
    every = "every other agent" if len(said["others"]) > 1 else said["others"][0]
    return f"{and_}is separable from {every}"


def _pair(said: Said) -> str:
    return f"{said['candidate']} rather than {said['against']}"


def _at_least(said: Said) -> str:
    wanted = said["minimum_effect"]
    return f" of at least {percent(wanted)} points" if wanted else ""


def _chance(said: Said) -> str:
    p = "" if said["p"] is None else f" ({p_value(said['p'])})"
    chance = f"it may be due to chance, adjusted for all comparisons{p}"
    return f"Undecided on {_pair(said)}: the difference is {points(said['difference'])}, but {chance}."


def _hidden(said: Said) -> str:
    then = f"with {counted(said['counted'])} it is {_then(said['then'])}"
    shows = f"which does not show an advantage{_at_least(said)}"
    return f"Undecided on {_pair(said)}: the difference is {points(said['difference'])}, but {then}, {shows}."


def _then(estimate: Said) -> str:
    if estimate["value"] is None:
        return f"undefined, because {undefined(estimate['undefined'])}"
    return points(estimate)


SENTENCES: Sentences = {
    **COUNTING,
    "adopt": lambda said: f"Adopt {_pair(said)}: the success rates differ by {points(said['difference'])}.",
    "keep": lambda said: (
        f"Keep {said['against']}: the data rule out an advantage of {said['candidate']}{_at_least(said)}; "
        f"the difference is {points(said['difference'])}."
    ),
    "one-agent-ranked": _one_agent,
    "ranked": _ranked,
    "rate-undefined": lambda said: (
        f"No ranking: the rate of {said['agent']} is undefined, because {undefined(said['why'])}."
    ),
    "ranking-not-yet": lambda said: f"No ranking yet: {pilot_progress.sentence(said['why'])}.",
    "undecided-alternative-count": _hidden,
    "undecided-chance": _chance,
    "undecided-few-tasks": lambda said: (
        f"Undecided on {_pair(said)}: the difference is {points(said['difference'])}, but with so few tasks it "
        f"may be due to chance: flipping signs does not confirm it ({p_value(said['p'])})."
    ),
    "undecided-not-yet": lambda said: f"Undecided on {_pair(said)}: {pilot_progress.sentence(said['why'])}.",
    "undecided-open": lambda said: (
        f"Undecided on {_pair(said)}: the difference is {points(said['difference'])}, "
        f"which neither shows nor rules out an advantage{_at_least(said)}."
    ),
    "undecided-undefined": lambda said: (
        f"Undecided on {_pair(said)}: the difference is undefined, because {undefined(said['why'])}."
    ),
}


def at_level(estimate: Said, usual: float) -> str:
    """The level of an interval, where it is not the usual one."""
    value = estimate.get("level")
    return "" if value is None or abs(value - usual) < 1e-9 else f", at a level of {level(value)}"
