"""Runs of a pilot that do not fit: missing, changed, surplus, or of another agent or machine.

A sealed run that was noted in the journal and is missing, or has another seal, stops the pilot: otherwise it could be
repeated until its result is good. What can happen without a fault of a user is listed in every report instead.

A pilot stops before the first block that another machine would make, and continues only if a user accepts the change.
The name of the user and the reason are recorded.

Runs under different conditions are counted together, and every report says so: to leave some out would be to choose
runs after seeing the results. A block has one run of each method, so conditions that change between blocks change for
all methods alike, and what differs within a block still is the method. This does not hold for blocks in which the
conditions changed, so they are counted separately. The comparison under only one condition of each task is given beside
the answer. Envelopes do not count as conditions of runs that they did not limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proctor.base.errors import BrokenSeal, InfrastructureFault, ProctorError, UsageFault
from proctor.conduct.batch.batch_record import batches_of
from proctor.execute.proctor_home import Home
from proctor.judge.manifest_differences import differences
from proctor.record.run_directory import RunDirectory
from proctor.study.pilot.ledger.interim_analysis import family, pairs_of
from proctor.study.pilot.ledger.journal import add_runs, read_journal
from proctor.study.pilot.ledger.machine_identity import Change, Identity, digest_of
from proctor.study.pilot.ledger.pilot_runs import CHECKS, SEALED, Run, key_of, surplus
from proctor.study.pilot.plan.frozen_plan import JOURNAL, Plan
from proctor.study.statements import Statement, statement

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
            hint="restore them from a copy; a run that was sealed is never repeated",
        )
    for name, seal in noted.items():
        if seals[name] != seal:
            raise BrokenSeal(
                f"a run of the pilot does not have the seal that is recorded in {JOURNAL}",
                where=str(home.runs / name),
                hint=f"restore the run whose seal is {seal}",
            )


def note(plan: Plan, runs: Sequence[Run]) -> None:
    """Record which runs are sealed, each once, so that none can be removed and repeated."""
    noted = read_journal(plan).runs
    sealed = (run for run in runs if run.state == SEALED and run.seal)
    add_runs(plan, {run.run: run.seal for run in sealed if run.run not in noted})


def wrong_home_fault(plan: Plan) -> UsageFault:
    """The error for a pilot that was begun in another home."""
    what, hint = "the pilot has runs, but none of them is in this home", "set PROCTOR_HOME to where its runs are"
    return UsageFault(what, where=str(plan.folder), hint=hint)


def _was_run_in(home: Home, plan: Plan) -> bool:
    return home.batches.is_dir() and any(True for _ in batches_of(home, plan.digest))


def departures(plan: Plan, runs: Sequence[Run], counted: Sequence[Run]) -> Iterator[Statement]:
    """Runs that the plan does not explain; ``counted`` are those that comparisons are made of.

    ``runs`` are in the order in which they were made.
    """
    retries = int(plan.protocol["retries"])
    places: dict[tuple[bool, str, int, str], list[Run]] = {}
    for run in runs:
        places.setdefault((run.stage == CHECKS, *run.key), []).append(run)
    for made in places.values():
        more = surplus(made, retries)
        if more:
            first = made[0]
            place = {"method": first.method, "task": first.task, "repeat": first.repeat, "retries": retries}
            check = first.stage == CHECKS
            yield statement("surplus-runs", check=check, **place, runs=[run.run for run in more])
    known = {key_of(slot) for slot in plan.slots}
    strange = [run.run for run in runs if run.stage != CHECKS and run.key not in known]
    if strange:
        yield statement("runs-without-place", runs=strange)
    yield from _agents(plan, counted)
    yield from _prefaces(plan, counted)


def _prefaces(plan: Plan, counted: Sequence[Run]) -> Iterator[Statement]:
    """Runs with a text before their task that their variation never had, neither when it was frozen nor later."""
    known = {one["name"]: {one["preface"]} for one in plan.protocol.get("variations", ())}
    for change in (change for one in plan.amendments for change in one["changed"]):
        name, _, part = str(change["field"]).removeprefix("variations[").rpartition("].")
        if part == "preface":
            known.setdefault(name, set()).update({change["before"] or "", change["after"] or ""})
    for name, prefaces in known.items():
        others = [run.run for run in counted if run.variation == name and run.preface not in prefaces]
        if others:
            yield statement("preface-changed", variation=name, runs=others)


def _agents(plan: Plan, counted: Sequence[Run]) -> Iterator[Statement]:
    """Methods that were run by several agents, or by another one than was frozen; solutions differ by task."""
    patches = {task["name"]: task.get("human_patch", "") for task in plan.protocol["tasks"]}
    for method in plan.protocol["methods"]:
        found: dict[str, list[Run]] = {}
        for run in counted:
            if run.method == method["name"]:
                found.setdefault(run.task if method["baseline"] else "", []).append(run)
        for task, runs in found.items():
            frozen = patches[task] if method["name"] == "human" and task else method["digest"]
            seen = list(dict.fromkeys(run.agent for run in runs))
            arm = {"method": method["name"], "task": task}
            if len(seen) > 1:
                yield statement("runs-by-several-agents", **arm, digests=seen)
            others = [run.run for run in runs if frozen and run.agent != frozen]
            if others:
                yield statement("runs-by-another-agent", **arm, digest=frozen, runs=others)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def changes_since(
    runs: Sequence[Run], now: Mapping[str, Identity], accepted: Collection[str] = ()
) -> tuple[Change, ...]:
    """In what the machine differs from the one that made the last run of each contract, each field once.

    ``now`` is the identity for each contract, ``accepted`` contains the digests of those that may continue all the
    same.
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
    """Refuse a machine that differs from the one that made the runs so far."""
    if changes:
        listed = "\n  ".join(map(str, changes))
        raise InfrastructureFault(
            f"the machine has changed since {changes[0].run}, and runs on both are no longer comparable:\n  {listed}",
            where=where,
            hint='undo the change, or accept it in every report: proctor pilot run PILOT --accept-machine "WHY"',
        )


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
"""The runs of a task by their comparability class, in the order in which the classes appeared."""


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


def condition_changes(counted: Iterable[Run]) -> Iterator[Statement]:
    """The tasks with runs of several classes, what differs, and how many runs of each method are on each side."""
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
        names = sorted({*first, *later})
        sides = ({name: side[name] for name in names} for side in (first, later))
        yield statement("conditions-mixed", tasks=tasks, fields=list(fields), **dict(zip(SIDES, sides, strict=True)))


SIDES = ("first", "later")
"""Runs under the first conditions of their task, and under later ones."""


def differs(counted: Iterable[Run]) -> dict[str, tuple[Statement, ...]]:
    """What makes each class of a task with several differ from the first of them."""
    found: dict[str, tuple[Statement, ...]] = {}
    for task, classes in mixed(counted).items():
        first, *others = classes
        found[first] = (statement("task", task=task),)
        for other in others:
            found[other] = (statement("task", task=task), *_apart(classes[first], classes[other]))
    return found


def doubts(protocol: Mapping[str, Any], blocks: Sequence[Sequence[Run]]) -> Iterator[Statement]:
    """How different conditions could change the answer."""
    classes = {run.run: run for run in alike(run for block in blocks for run in block)}
    blocks = [tuple(classes[run.run] for run in block) for block in blocks]
    apart = mixed(classes.values())
    if not apart:
        return
    torn = [block for block in blocks if len({run.comparability for run in block}) > 1]
    if torn:
        yield statement("conditions-changed-in-blocks", blocks=len(torn), of=len(blocks))
    if protocol["comparison"] is not None:
        yield from _alone(protocol, apart, blocks)


def _alone(
    protocol: Mapping[str, Any], apart: Mapping[str, Classes], blocks: Sequence[Sequence[Run]]
) -> Iterator[Statement]:
    """The comparison over only those blocks that were made under the conditions with most runs of their task."""
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
    if gap is not None and p is not None:
        runs = {"runs": len(kept), "of": sum(map(len, compared))}
        yield statement("difference-under-one-condition", **runs, difference=gap, p=p)


def _fields(classes: Classes) -> tuple[str, ...]:
    """The names of the fields in which any class differs from the first."""
    first, *others = classes.values()
    return tuple(
        dict.fromkeys(
            str(one.values["field"]) for runs in others for one in _apart(first, runs) if "field" in one.values
        )
    )


def _apart(some: Sequence[Run], others: Sequence[Run]) -> tuple[Statement, ...]:
    """The fields in which two classes differ, with both values; runs of one method are compared with each other."""
    methods = {run.method: run for run in some}
    one, other = next(((methods[run.method], run) for run in others if run.method in methods), (some[0], others[0]))
    return tuple(_read(one, other) or _machines(one, other)) or (statement("conditions-differ"),)


def _machines(one: Run, other: Run) -> list[Statement]:
    old, new = dict(one.machine), dict(other.machine)
    fields = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return [_differs(name, old.get(name, "absent"), new.get(name, "absent")) for name in fields]


def _differs(name: str, before: str, after: str) -> Statement:
    return statement("field-differs", field=name, before=before, after=after)


def _read(one: Run, other: Run) -> list[Statement]:
    """The differences of the manifests, which contain more than the machine; nothing where they cannot be read."""
    try:
        manifests = [directory.read_json(directory.manifest) for directory in map(RunDirectory, (one.path, other.path))]
    except (ProctorError, OSError):
        return []
    left_out = {DIGEST, *(BUDGETS if one.conditions and other.conditions else ())}
    return [
        _differs(BUDGETS.get(item.path, item.path), item.one, item.other)
        for item in differences(manifests[0], manifests[1])
        if item.path.startswith(PARTS) and item.path not in left_out
    ]
