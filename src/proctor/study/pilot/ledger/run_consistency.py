"""Runs of a pilot that do not fit: missing, changed, surplus, or of another agent or machine.

A sealed run that was noted in the journal and is gone, or has another seal, holds the pilot up: else it would be made
again until it comes out well. What can happen without anybody's fault is told in every report instead.

A pilot stops before the first block that another machine would make, and goes on only where somebody accepts the change
by name and reason, on record.

They are counted together, and told: to leave some out would be to choose runs with the results in view. A block has one
run of each method, so conditions that change between blocks change for all methods alike, and what differs within a
block still is the method. Blocks that a change went through do not have that, and are counted by themselves. How the
comparison comes out with one condition of each task alone stands beside the answer, and is none. Envelopes are no
conditions of runs that they did not bind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proctor.base.errors import BrokenSeal, InfrastructureFault, ProctorError, UsageFault
from proctor.conduct.batch.batch_record import batches_of
from proctor.execute.home import Home
from proctor.judge.manifest_differences import differences
from proctor.record.run_directory import RunDirectory
from proctor.study.analysis.number_format import first_names
from proctor.study.pilot.ledger.interim_analysis import family, pairs_of
from proctor.study.pilot.ledger.journal import add_runs, read_journal
from proctor.study.pilot.ledger.machine_identity import Change, Identity, digest_of
from proctor.study.pilot.ledger.pilot_runs import CHECKS, SEALED, Run, key_of, surplus
from proctor.study.pilot.plan.frozen_plan import JOURNAL, Plan

MOST_NAMED = 5


def require_noted(plan: Plan, home: Home, noted: Mapping[str, str], runs: Sequence[Run]) -> None:
    """Refuse runs that are not those of the journal, which gives the digest of each one's seal."""
    seals = {run.run: run.seal for run in runs}
    gone = [name for name in noted if name not in seals]
    if gone and not runs and not _was_run_in(home, plan):
        raise wrong_home_fault(plan)
    if gone:
        raise BrokenSeal(
            f"sealed runs of the pilot are missing ({len(gone)}): {_named(gone)}",
            where=str(home.runs),
            hint="put them back from a copy; a run that was sealed is never made again",
        )
    for name, seal in noted.items():
        if seals[name] != seal:
            raise BrokenSeal(
                f"a run of the pilot does not have the seal that {JOURNAL} notes",
                where=str(home.runs / name),
                hint=f"put back the run whose seal is {seal}",
            )


def note(plan: Plan, runs: Sequence[Run]) -> None:
    """Put down which runs are sealed, each once, so that none can be taken away and made again."""
    noted = read_journal(plan).runs
    sealed = (run for run in runs if run.state == SEALED and run.seal)
    add_runs(plan, {run.run: run.seal for run in sealed if run.run not in noted})


def wrong_home_fault(plan: Plan) -> UsageFault:
    """What to say where a pilot was begun in another home."""
    words, hint = "the pilot was begun, and none of its runs is in this home", "set PROCTOR_HOME to where its runs are"
    return UsageFault(words, where=str(plan.folder), hint=hint)


def _was_run_in(home: Home, plan: Plan) -> bool:
    return home.batches.is_dir() and any(True for _ in batches_of(home, plan.digest))


def departures(plan: Plan, runs: Sequence[Run], counted: Sequence[Run]) -> Iterator[str]:
    """Runs that the plan does not explain, in sentences; ``counted`` are those that comparisons are made of.

    ``runs`` stand in the order in which they were made.
    """
    retries = int(plan.protocol["retries"])
    places: dict[tuple[bool, str, int, str], list[Run]] = {}
    for run in runs:
        places.setdefault((run.stage == CHECKS, *run.key), []).append(run)
    for made in places.values():
        more = surplus(made, retries)
        if more:
            held, first = "the check of" if made[0].stage == CHECKS else "the place of", made[0]
            yield (
                f"More runs were sealed for {held} {first.method} on {first.task}, repeat {first.repeat}, than "
                f"{retries} repeats after faults explain: {_named([run.run for run in more])}."
            )
    known = {key_of(slot) for slot in plan.slots}
    strange = [run.run for run in runs if run.stage != CHECKS and run.key not in known]
    if strange:
        yield f"Runs that carry the pilot's digest and have no place in its plan: {_named(strange)}."
    yield from _agents(plan, counted)
    yield from _prefaces(plan, counted)


def _prefaces(plan: Plan, counted: Sequence[Run]) -> Iterator[str]:
    """Runs that had a text before their task which their variation had neither when it was frozen nor later."""
    known = {one["name"]: {one["preface"]} for one in plan.protocol.get("variations", ())}
    for change in (change for one in plan.amendments for change in one["changed"]):
        name, _, part = str(change["field"]).removeprefix("variations[").rpartition("].")
        if part == "preface":
            known.setdefault(name, set()).update({change["before"] or "", change["after"] or ""})
    for name, prefaces in known.items():
        others = [run.run for run in counted if run.variation == name and run.preface not in prefaces]
        if others:
            words = f"Runs under the variation {name} had another text before their task than was frozen"
            yield f"{words}: {_named(others)}."


def _agents(plan: Plan, counted: Sequence[Run]) -> Iterator[str]:
    """Arms that were not run by one agent, or by another than was frozen; solutions differ from task to task."""
    patches = {task["name"]: task.get("human_patch", "") for task in plan.protocol["tasks"]}
    for method in plan.protocol["methods"]:
        found: dict[str, list[Run]] = {}
        for run in counted:
            if run.method == method["name"]:
                found.setdefault(run.task if method["baseline"] else "", []).append(run)
        for task, runs in found.items():
            frozen = patches[task] if method["name"] == "human" and task else method["digest"]
            seen = list(dict.fromkeys(run.agent for run in runs))
            arm = f"{method['name']} on {task}" if task else method["name"]
            if len(seen) > 1:
                yield f"The runs of {arm} were made by {len(seen)} agents, by their digests: {_named(seen)}."
            others = [run.run for run in runs if frozen and run.agent != frozen]
            if others:
                yield f"Runs of {arm} were made by another agent than the protocol's, {frozen}: {_named(others)}."


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def changes_since(
    runs: Sequence[Run], now: Mapping[str, Identity], accepted: Collection[str] = ()
) -> tuple[Change, ...]:
    """In what the machine differs from the one that made the last run of each contract, each field once.

    ``now`` is the identity for each contract, ``accepted`` holds the digests of those that may go on all the same.
    """
    last = {run.contract: run for run in runs if run.machine}
    found: dict[tuple[str, str, str], Change] = {}
    for contract, identity in now.items():
        before = last.get(contract)
        if before is None or digest_of(identity) in accepted:
            continue
        old, new = dict(before.machine), dict(identity)
        for field in sorted({*old, *new}):
            values = old.get(field, ""), new.get(field, "")
            if values[0] != values[1]:
                found.setdefault((field, *values), Change(field, *values, before.run))
    return tuple(found.values())


def require_same(changes: Sequence[Change], where: str) -> None:
    """Begin nothing on a machine that is not the one that made the runs so far."""
    if changes:
        told = "\n  ".join(one.words for one in changes)
        raise InfrastructureFault(
            f"the machine has changed since {changes[0].run}, and runs on both are no longer comparable:\n  {told}",
            where=where,
            hint='put it back; or proctor pilot run PILOT --accept-machine "WHY" goes on, and every report tells it',
        )


NAMED = 3
PARTS = (
    "sandbox.",
    "harness.version",
    "environment.",
    "limits.",
    "seeds.",
    "locale",
    "plugins.",
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


def condition_changes(counted: Iterable[Run]) -> Iterator[str]:
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
            f"Runs of {first_names(tasks, NAMED)} were made under different conditions and are counted together: "
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
    return tuple(
        dict.fromkeys(
            condition_changes.partition(": ")[0] for runs in others for condition_changes in _apart(first, runs)
        )
    )


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
