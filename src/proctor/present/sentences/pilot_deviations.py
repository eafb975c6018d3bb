"""In what a pilot departs from its plan, and what the evidence for a removal shows."""

from __future__ import annotations

import json
from typing import Any

from proctor.present.sentences.phrases import Said, Sentences, items, names, number_of
from proctor.present.sentences.pilot_criteria import power, stop

SHOWN = 60
"""How many characters of a value are shown."""


def value(given: Any) -> str:
    """A value of a protocol."""
    text = given if isinstance(given, str) else "nothing" if given is None else json.dumps(given, sort_keys=True)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def change(one: Said) -> str:
    """A changed field with both values."""
    return f"{one['field']}: {value(one['before']) or 'nothing'} -> {value(one['after']) or 'nothing'}"


def _amended(said: Said) -> str:
    changed = "; ".join(map(change, said["changed"])) or "no field"
    after = number_of(said["after_runs"], "run")
    return f"Amendment {said['number']} of {said['at']}, after {after}, changed {changed}. Reason: {said['why']}"


def _machine(said: Said) -> str:
    changed = "; ".join(map(change, said["changed"]))
    after = number_of(said["after_runs"], "run")
    return f"The machine was changed after {after} ({changed}). {said['by']} accepted the change: {said['why']}"


REMOVALS: Sentences = {
    "as-recorded": lambda said: str(said["text"]),
    "attempts-differ": lambda said: (
        f"the attempts at {said['check']} in {said['run']} have the results {' and '.join(said['outcomes'])}"
    ),
    "contract-in-error": lambda said: f"{said['run']} ended in an acceptance error of the contract itself",
    "no-op-succeeded": lambda said: f"{said['run']} changed nothing and is a success",
    "nothing-could-be-judged": lambda said: (
        f"neither {said['run']} nor any of the {said['checks']} runs that checked the task could be judged: "
        f"{said['problem']}"
    ),
    "same-patch-judged-differently": lambda said: (
        f"{said['check']} had the result {said['other_outcome']} in {said['other_run']} and {said['outcome']} in "
        f"{said['run']} for the same patch"
    ),
    "screen-deviates": lambda said: (
        f"{said['deviating']} of {said['of']} attempts at {said['check']} deviate ({said['pointer']})"
    ),
    "solution-not-accepted": lambda said: f"{said['run']} submitted the known solution and is a {said['status']}",
}


def removal(said: Said) -> str:
    """The removal of a task."""
    found = REMOVALS[said["found"]["code"]](said["found"])
    after = number_of(said["after_runs"], "run")
    return f"{said['task']} was removed after {after} and not replaced ({said['reason']}): {found}. {said['why']}"


def _runs(said: Said) -> str:
    return ", ".join(f"{one['run']} ({one['task']}, {one['method']})" for one in said["runs"])


def _surplus(said: Said) -> str:
    place = "the check of" if said["check"] else "the place of"
    where = f"{said['method']} on {said['task']}, repeat {said['repeat']}"
    retries = number_of(said["retries"], "retry", "retries")
    return f"There are more sealed runs for {place} {where} than {retries} after faults explain: {items(said['runs'])}."


def _arm(said: Said) -> str:
    return f"{said['method']} on {said['task']}" if said["task"] else str(said["method"])


def _conditions(said: Said) -> str:
    sides = [f"{said['first'][name]} and {said['later'][name]} of {name}" for name in said["first"]]
    fields = ", ".join(said["fields"]) or "conditions that are not recorded"
    return (
        f"Runs of {names(said['tasks'])} were made under different conditions and are counted together: {fields}. "
        f"Runs under the first conditions and under later ones: {', '.join(sides)}."
    )


SENTENCES: Sentences = {
    **REMOVALS,
    "agent-without-digest": lambda said: f"The agent of {said['method']} had no digest when the pilot was frozen.",
    "amended": _amended,
    "block-not-run": lambda said: (
        f"{said['task']}, repeat {said['repeat']}, was not run because the budget of its task was used up."
    ),
    "conditions-mixed": _conditions,
    "incomplete-blocks": lambda said: f"Runs of incomplete blocks, which do not count: {', '.join(said['runs'])}.",
    "machine-changed": _machine,
    "no-baseline-with-solution": lambda said: "There is no baseline with a known solution or a person's solution.",
    "no-stage-three": lambda said: (
        f"The plan has no stage three, so no criterion required its power: {power(said['power'])}."
    ),
    "pilot-stopped": lambda said: (
        f"The pilot was stopped in stage {said['stage']} by the rule for {stop(said['stop'])}."
    ),
    "preface-changed": lambda said: (
        f"Runs under the variation {said['variation']} had another text before their task than the plan: "
        f"{items(said['runs'])}."
    ),
    "run-spoilt": lambda said: (
        f"A fault of the machine spoilt {said['run']} ({said['task']}, {said['method']}): {said['problem']}."
    ),
    "runs-by-another-agent": lambda said: (
        f"Runs of {_arm(said)} were made by another agent than the frozen one, {said['digest']}: {items(said['runs'])}."
    ),
    "runs-by-several-agents": lambda said: (
        f"The runs of {_arm(said)} were made by {len(said['digests'])} agents, by their digests: "
        f"{items(said['digests'])}."
    ),
    "runs-cut-off": lambda said: f"Runs that were cut off, which fill no place: {_runs(said)}.",
    "runs-stopped-by-operator": lambda said: f"Runs that an operator stopped, which fill no place: {_runs(said)}.",
    "runs-without-place": lambda said: (
        f"Runs with the pilot's digest that have no place in its plan: {items(said['runs'])}."
    ),
    "seed-not-planned": lambda said: (
        f"The order was drawn with seed {said['seed']} instead of the planned {said['planned']}; comparisons of "
        "numbers across seeds are provisional."
    ),
    "stage-without-tasks": lambda said: (
        f"Removals left stage {said['stage']} without a task: its criteria were not checked."
    ),
    "surplus-runs": _surplus,
    "task-removed": removal,
}
