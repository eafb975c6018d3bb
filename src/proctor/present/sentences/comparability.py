"""What makes classes of conditions differ, and what changed since an earlier report."""

from __future__ import annotations

from proctor.present.sentences.phrases import Said, Sentences, items, level, number_of

NAMED = 10
"""How many tasks or agents a note lists."""


def _reconfigured(said: Said) -> str:
    one = len(said["agents"]) == 1
    has = "has another configuration" if one else "have other configurations"
    return f"{items(said['agents'], NAMED)} {has} than before under the same name, which may explain a change."


def _shared_runs(said: Said) -> str:
    some = f"All {said['of']} runs" if said["runs"] == said["of"] else f"{said['runs']} of the {said['of']} runs"
    return f"{some} of the earlier report are also in the later one: the two are not independent."


def _changed(said: Said) -> str:
    agents = items(said["agents"], NAMED) if said["agents"] else "no agent"
    adjusted = f"Adjusted for all {said['compared']} agents (Holm)"
    return (
        f"Intervals are for one agent each. {adjusted}, {agents} changed by more than chance explains at "
        f"{said['alpha']:.2g}."
    )


SENTENCES: Sentences = {
    "agents-changed": _changed,
    "agents-in-one-only": lambda said: f"Only in one of the two: {items(said['agents'], NAMED)}.",
    "agents-reconfigured": _reconfigured,
    "conditions-differ": lambda said: "conditions that are not recorded",
    "different-seeds": lambda said: (
        "The orders were drawn with different seeds: comparisons across seeds are provisional."
    ),
    "field-differs": lambda said: f"{said['field']}: {said['before']} -> {said['after']}",
    "interval-level": lambda said: f"Intervals are at a level of {level(said['level'])}.",
    "same-runs": lambda said: f"Both reports are about the same {number_of(said['runs'], 'run')}.",
    "shared-runs": _shared_runs,
    "shared-tasks": lambda said: (
        "Compared on the 1 task that is the same in both."
        if said["tasks"] == 1
        else f"Compared on the {said['tasks']} tasks that are the same in both."
    ),
    "task": lambda said: f"task {said['task']}",
    "tasks-changed": lambda said: f"Left out because their contracts changed: {items(said['tasks'], NAMED)}.",
    "tasks-in-one-only": lambda said: f"Left out because only one of the two has them: {items(said['tasks'], NAMED)}.",
}


def earlier(versus: Said) -> str:
    """The name of the earlier report; a report on the same study is named with its number of runs."""
    name = str(versus.get("name") or "other findings")
    return f"{name} (earlier report, {number_of(versus['runs'], 'run')})" if versus.get("same_study") else name
