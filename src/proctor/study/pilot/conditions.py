"""What a pilot says where runs of the same task were made under different conditions.

They are counted together, and told: to leave some out would be to choose runs with the results in view. A block has one
run of each method, so conditions that change between blocks change for all methods alike, and what differs within a
block still is the method. Blocks that a change went through do not have that, and are counted by themselves. How the
comparison comes out with one condition of each task alone stands beside the answer, and is none. Envelopes are no
conditions of runs that they did not bind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proctor.base.errors import ProctorError
from proctor.judge.compare import differences
from proctor.record.rundir import RunDirectory
from proctor.study.analysis.words import among
from proctor.study.pilot.ledger import Run
from proctor.study.pilot.looks import family, pairs_of

NAMED = 3
PARTS = (
    "sandbox.",
    "harness.version",
    "environment.",
    "limits.",
    "seeds.",
    "locale",
    "configuration.watch.",
    "repository",
)
"""The fields of a manifest that a comparability class is made of."""
DIGEST = "sandbox.identity.digest"
"""What follows from other fields."""
BUDGETS = {
    "configuration.watch.task_usd": "budgets.task_usd",
    "configuration.watch.batch_usd": "budgets.pilot_usd",
}
"""The envelopes in a manifest, and what they are called in a pilot file."""

Classes = dict[str, list[Run]]
"""The runs of a task by their comparability class, in the order in which the classes came."""


def alike(counted: Iterable[Run]) -> tuple[Run, ...]:
    """The runs, those under one class, the first, that differ in envelopes only; not on tasks where one bound a run."""
    runs = tuple(counted)
    bound = {run.task for run in runs if run.comparability and not run.conditions}
    first: dict[str, str] = {}
    for run in sorted(runs, key=lambda one: (one.begun, one.run)):
        first.setdefault(run.conditions, run.comparability)
    return tuple(
        replace(run, comparability=first[run.conditions])
        if run.conditions and run.task not in bound
        else replace(run, conditions="")
        for run in runs
    )


def mixed(counted: Iterable[Run]) -> dict[str, Classes]:
    """The tasks whose runs are of several classes; ``counted`` are the runs that count."""
    found: dict[str, Classes] = {}
    for run in sorted(alike(counted), key=lambda one: one.begun):
        if run.comparability:
            found.setdefault(run.task, {}).setdefault(run.comparability, []).append(run)
    return {task: classes for task, classes in sorted(found.items()) if len(classes) > 1}


def told(counted: Iterable[Run]) -> Iterator[str]:
    """Which tasks have runs of several classes, what differs, and how many runs of each method stand on each side."""
    alike: dict[tuple[str, ...], list[str]] = {}
    apart = mixed(counted)
    for task, classes in apart.items():
        alike.setdefault(_fields(classes), []).append(task)
    for fields, tasks in alike.items():
        first: Counter[str] = Counter()
        later: Counter[str] = Counter()
        for task in tasks:
            for number, runs in enumerate(apart[task].values()):
                (later if number else first).update(run.method for run in runs)
        counts = [f"{first[name]} and {later[name]} of {name}" for name in sorted({*first, *later})]
        yield (
            f"Runs of {among(tasks, NAMED)} were made under different conditions and are counted together: "
            f"{', '.join(fields)}. Under the first and under later ones: {', '.join(counts)}."
        )


def differs(counted: Iterable[Run]) -> dict[str, tuple[str, ...]]:
    """What makes each class of a task with several differ from the first of them."""
    found: dict[str, tuple[str, ...]] = {}
    for task, classes in mixed(counted).items():
        first, *others = classes
        found[first] = (f"task {task}",)
        for other in others:
            found[other] = (f"task {task}", *_apart(classes[first], classes[other]))
    return found


def doubts(protocol: Mapping[str, Any], blocks: Sequence[Sequence[Run]]) -> Iterator[str]:
    """What different conditions could do to the answer, in sentences for the first screen."""
    classes = {run.run: run for run in alike(run for block in blocks for run in block)}
    blocks = [tuple(classes[run.run] for run in block) for block in blocks]
    apart = mixed(classes.values())
    if not apart:
        return
    torn = [block for block in blocks if len({run.comparability for run in block}) > 1]
    if torn:
        yield (
            f"In {len(torn)} of {len(blocks)} blocks the conditions changed between the runs of the methods: what "
            "differs there may be the conditions."
        )
    if protocol["comparison"] is not None:
        yield from _alone(protocol, apart, blocks)


def _alone(protocol: Mapping[str, Any], apart: Mapping[str, Classes], blocks: Sequence[Sequence[Run]]) -> Iterator[str]:
    """The comparison with the blocks alone that were made under the conditions with most runs of their task."""
    most = {task: max(classes, key=lambda name: len(classes[name])) for task, classes in apart.items()}
    ((candidate, against),) = pairs = pairs_of(protocol)
    compared = [[run for run in block if run.method in (candidate, against)] for block in blocks]
    kept = [
        run
        for block in compared
        if all(run.task not in most or run.comparability == most[run.task] for run in block)
        for run in block
    ]
    ((gap, p),) = family(kept, (candidate, against), pairs, protocol)
    whole = f"{len(kept)} of {sum(map(len, compared))} runs"
    if gap is not None and p is not None:
        probability = "< 0.001" if p < 0.001 else f"= {p:.3f}"
        yield (
            f"With one condition of each task alone, that with most of its runs ({whole}), the difference would be "
            f"{100 * gap:+.1f} points (p {probability})."
        )


def _fields(classes: Classes) -> tuple[str, ...]:
    """The names of the fields in which any class differs from the first."""
    first, *others = classes.values()
    return tuple(dict.fromkeys(told.partition(": ")[0] for runs in others for told in _apart(first, runs)))


def _apart(some: Sequence[Run], others: Sequence[Run]) -> tuple[str, ...]:
    """The fields in which two classes differ, with both values; runs of one method are held against each other."""
    methods = {run.method: run for run in some}
    one, other = next(((methods[run.method], run) for run in others if run.method in methods), (some[0], others[0]))
    return tuple(_read(one, other) or _machines(one, other)) or ("conditions that are not told",)


def _machines(one: Run, other: Run) -> list[str]:
    old, new = dict(one.machine), dict(other.machine)
    fields = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return [f"{name}: {old.get(name, 'absent')} -> {new.get(name, 'absent')}" for name in fields]


def _read(one: Run, other: Run) -> list[str]:
    """What the manifests tell, which is more than the machine; nothing where they are not at hand."""
    try:
        manifests = [directory.read_json(directory.manifest) for directory in map(RunDirectory, (one.path, other.path))]
    except (ProctorError, OSError):
        return []
    left_out = {DIGEST, *(BUDGETS if one.conditions and other.conditions else ())}
    return [
        f"{BUDGETS.get(item.path, item.path)}: {item.one} -> {item.other}"
        for item in differences(manifests[0], manifests[1])
        if item.path.startswith(PARTS) and item.path not in left_out
    ]
