"""What does not fit in the runs of a pilot: gone or changed since it was noted, too many, out of place, another agent.

A sealed run that was noted in the journal and is gone, or has another seal, holds the pilot up: else it would be made
again until it comes out well. What can happen without anybody's fault is told in every report instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.conduct.batch import batches_of
from proctor.execute.home import Home
from proctor.study.pilot.journal import add_runs, read_journal
from proctor.study.pilot.ledger import CHECKS, SEALED, Run, key_of, surplus
from proctor.study.pilot.plan import JOURNAL, Plan

MOST_NAMED = 5


def require_noted(plan: Plan, home: Home, noted: Mapping[str, str], runs: Sequence[Run]) -> None:
    """Refuse runs that are not those of the journal, which gives the digest of each one's seal."""
    seals = {run.run: run.seal for run in runs}
    gone = [name for name in noted if name not in seals]
    if gone and not runs and not _was_run_in(home, plan):
        raise elsewhere(plan)
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


def elsewhere(plan: Plan) -> UsageFault:
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
