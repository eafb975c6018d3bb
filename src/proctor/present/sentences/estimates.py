"""Why an estimate is undefined, and the names of the methods."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.present.readable_numbers import Form, finite_number, share, span
from proctor.present.sentences.phrases import Said, Sentences, number_of, percent


def _one_task(said: Said) -> str:
    share = said.get("rate")
    of = "" if share is None else f" ({percent(share)}% of {number_of(said['runs'], 'run')})"
    return f"there is only one task{of}, which gives no information about other tasks"


SENTENCES: Sentences = {
    "all-runs-alike": lambda said: f"all {said['runs']} runs have the same result, so that the logit is infinite",
    "all-tasks-cost-alike": lambda said: (
        f"all {said['tasks']} tasks cost the same, so that the cost of another task has no bound"
    ),
    "all-tasks-differ-alike": lambda said: (
        f"all {said['tasks']} tasks differ by the same {said['difference']:.3g}, "
        "so that the difference at another task has no bound"
    ),
    "checks-too-unreliable": lambda said: "checks that are wrong so often give no information",
    "empty-strata": lambda said: f"{said['empty']} of {said['strata']} strata with weight have no run",
    "fewer-than-two-tasks": lambda said: "there are fewer than two tasks",
    "fewer-than-two-units": lambda said: "fewer than two runs were rated twice",
    "no-cost-known": lambda said: "no cost is known",
    "no-mode-seen-once": lambda said: (
        "no failure mode was seen in exactly one run, so that the frequency of new modes is unknown"
    ),
    "no-outcome": lambda said: "no run has an outcome",
    "no-run": lambda said: "there is no run",
    "no-shared-task": lambda said: "no task has outcomes of both agents",
    "no-stratum-counts": lambda said: "no stratum has weight",
    "no-success": lambda said: "there is no success",
    "no-task-with-runs": lambda said: f"no task has {number_of(said['runs'], 'run')}",
    "no-weighted-task": lambda said: "no task has both weight and runs",
    "not-a-number": lambda said: "the value is not a number",
    "not-observed-so-long": lambda said: (
        f"no run was observed until {said['horizon']:g}; the longest was observed until {said['longest']:g}"
    ),
    "nothing-rated-twice": lambda said: "no run was rated by both reviewers",
    "one-category": lambda said: "all ratings are the same",
    "one-category-without-a-unit": lambda said: "without one of the runs all ratings are the same",
    "one-shared-task": lambda said: "only one task has outcomes of both agents",
    "one-task": _one_task,
    "one-task-with-runs": lambda said: f"only one task has {number_of(said['runs'], 'run')}",
    "one-weighted-task": lambda said: "only one task has both weight and runs",
    "undefined-in-draws": lambda said: f"in {said['missing']} of {said['draws']} draws it has no value",
}
"""The reasons, each to be read after *because*."""

METHODS: Mapping[str, str] = {
    "bootstrap-bca": "bootstrap over tasks, BCa",
    "cohen-kappa": "Cohen's kappa, Fleiss-Cohen-Everitt error",
    "exact-all-alike": "exact bound, all tasks alike",
    "exact-differences-alike": "exact bound, all tasks differ alike",
    "fleiss-kappa": "Fleiss' kappa, jackknife over units",
    "good-turing": "Good-Turing, exact Poisson interval of modes seen once",
    "korn-graubard": "Korn-Graubard, tasks as clusters",
    "korn-graubard-plain": "Korn-Graubard without adjustment",
    "multiple-imputation": "multiple imputation, Rubin",
    "paired-t": "paired t over tasks",
    "paired-t-resampled": "paired t over tasks, resampled because few tasks differ",
    "restricted-mean": "restricted mean below Kaplan-Meier",
    "restricted-mean-over-tasks": "restricted mean below Kaplan-Meier, tasks as clusters",
    "rogan-gladen": "Rogan-Gladen",
    "stratified": "strata by their shares, Korn-Graubard",
    "stratified-exact": "strata by their shares, exact bounds for strata without spread",
    "t-over-tasks": "t over tasks",
    "t-over-tasks-logit": "t over tasks on the logit scale",
    "t-ratio-of-sums": "t over tasks, ratio of sums",
    "unbiased-per-task": "unbiased for each task, Korn-Graubard over tasks",
    "weighted-tasks": "tasks by their weights, Korn-Graubard",
    "wilson": "Wilson, independent runs",
}


def method(code: object) -> str:
    """The name of a method."""
    return METHODS.get(str(code), str(code))


def undefined(why: object) -> str:
    """Why an estimate is undefined, to be read after *because*."""
    if not isinstance(why, Mapping):
        return "no reason is recorded"
    code = str(why.get("code"))
    return SENTENCES[code](why) if code in SENTENCES else code


def reason(estimate: Said | None) -> str:
    """Why an estimate is undefined, to be read after *because*; empty when it is not."""
    if not estimate:
        return "it was not computed"
    return undefined(estimate.get("undefined")) if finite_number(estimate.get("value")) is None else ""


def with_span(estimate: Said | None, form: Form = share) -> str:
    """An estimate in one line: its value and its range, or why it is undefined."""
    if why := reason(estimate):
        return f"undefined, because {why}"
    assert estimate is not None
    inside = span(estimate, form)
    return form(estimate["value"]) + (f" ({inside})" if inside else "")
