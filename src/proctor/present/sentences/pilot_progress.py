"""How far a pilot has come, and what holds it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.present.sentences.phrases import Said, Sentences, names, number_of
from proctor.present.sentences.pilot_criteria import criterion, stop


def _unmet(criteria: Sequence[Said]) -> str:
    return "; ".join(criterion(one) for one in criteria)


SENTENCES: Sentences = {
    "every-repeat-cut": lambda said: "the budgets of tasks cut every repeat of some task",
    "pilot-incomplete": lambda said: (
        f"the pilot is not complete ({said['counted']} of {said['planned']} planned runs count), "
        "and a decision now would be a look that was not planned"
    ),
    "runs-per-task-changed": lambda said: "the number of runs of a task was changed after runs",
    "stage-cut": lambda said: (
        f"stage {said['stage']} is over without {number_of(said['blocks'], 'block')} that the budget of a task cut"
    ),
    "stage-not-over": lambda said: f"stage {said['stage']} is not over",
    "stage-refused": lambda said: (
        f"stage {said['stage']} was refused because a criterion is not met: {_unmet(said['unmet'])}"
    ),
    "stage-stopped": lambda said: f"stage {said['stage']} was stopped by the rule for {stop(said['stop'])}",
    "stage-unmet": lambda said: (
        f"stage {said['stage']} is {said['verdict']} because a criterion is not met: {_unmet(said['unmet'])}"
    ),
}
"""What holds a pilot up, to be read within a sentence."""


def sentence(said: Said) -> str:
    """What holds a pilot up, to be read within a sentence."""
    code = str(said.get("code"))
    return SENTENCES[code](said) if code in SENTENCES else code


def progress(given: Said) -> str:
    """The progress of a pilot in sentences."""
    removed: list[Any] = list(given.get("removed") or ())
    more = ""
    if removed:
        more = f" ({given.get('planned_for_removed') or 0} more were planned for {names(removed)}, removed since)"
    text = f"{given.get('counted')} of {given.get('planned')} planned runs count{more}."
    held = given.get("held_up")
    if not held:
        return text
    why = sentence(held)
    return f"{text} {why[0].upper()}{why[1:]}."
