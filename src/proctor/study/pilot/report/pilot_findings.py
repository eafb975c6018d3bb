"""The findings of a pilot: the answer of its runs to the question that was fixed before the first of them.

Methods are compared with each other. Baselines are listed separately, unless the question names one: they are not
candidates, and would only take their share of the comparisons. Runs of removed tasks and of incomplete blocks do not
count, and the deviations name them. Runs of a task that were made under different conditions count together, and the
findings name them. The level of the answer is what looks have left of alpha, and what the share of the plan that was
run allows.

The same plan, journal and run directories give the same findings: no clock, no path of a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from sys import float_info
from typing import Any

import numpy as np

from proctor.base.errors import UsageFault
from proctor.record.run_directory import RunDirectory
from proctor.study.analysis.comparability_check import ALL
from proctor.study.analysis.findings import findings, runs_beside
from proctor.study.analysis.plain_data import plain_data
from proctor.study.analysis.question import Extras, Measured, Question
from proctor.study.index.run_row import row_of
from proctor.study.pilot.ledger.costs_besides_runs import paid_besides
from proctor.study.pilot.ledger.interim_look import Look
from proctor.study.pilot.ledger.run_consistency import alike, differs, doubts
from proctor.study.pilot.plan.pilot_model import STAGES
from proctor.study.pilot.plan.remaining_power_and_cost import promised
from proctor.study.pilot.report.pilot_status import bill_of
from proctor.study.pilot.report.sensitivity_analysis import (
    choices,
    made_again,
    put_back,
    unequal,
    with_equal_repeats,
    with_removed_tasks,
)
from proctor.study.pilot.report.significance_level import cautions, level_of, of_another_length
from proctor.study.pilot.report.unconfirmed_successes import agreement, could_be_forged, doubted
from proctor.study.pilot.running.pilot_state import (
    EMPTY_STAGE,
    OPEN,
    OVER,
    REFUSED,
    PilotState,
    Stage,
    deviations,
    places,
    record_of,
    stages_of,
)
from proctor.study.pilot.running.stage_criteria import unproven
from proctor.study.pilot.running.stopping_rules import methods_of, rules_so_far
from proctor.study.run_table import Table
from proctor.study.statements import Statement, statement
from proctor.study.stats.arrays import by_task
from proctor.study.stats.clustered_rates import cluster_rate

NOT_TO_GENERALISE = tuple(map(statement, ("other-tasks", "other-agents", "other-limits")))
EXPECTED = {"noop": 0.0, "reference": 1.0}
"""The success rates that baselines must have."""


def table_of(here: PilotState) -> Table:
    """The runs that count, one row for each, in the order of the plan."""
    return Table.from_rows(_rows(here))


def _rows(here: PilotState) -> Iterator[dict[str, Any]]:
    minutes = float(here.plan.protocol["baselines"]["human_minutes"])
    classes = {run.run: run.comparability for run in alike(run for _, run, counts in places(here) if run and counts)}
    for slot, run, counts in places(here):
        if run is None or not counts:
            continue
        row = row_of(RunDirectory(run.path))
        own = {"source": f"runs/{run.run}", "method": slot.method, "stratum": slot.stratum, "trial": slot.repeat}
        if slot.method == "human" and slot.repeat == 1:
            own["human_minutes"] = (row["human_minutes"] or 0.0) + minutes
        yield {**row, **own, "stage": slot.stage, "comparability": classes[run.run] or row["comparability"]}


def report_of(
    here: PilotState, tell: Callable[[str], None] | None = None, measured: Measured | None = None
) -> tuple[dict[str, Any], Table]:
    """The findings of a pilot so far, and the table that they are made from.

    ``measured`` is how often the checks of its tasks were wrong when that was measured.
    """
    whole, protocol = table_of(put_back(here)), here.plan.protocol
    table = whole.select(~_of_tasks(whole, here.journal.removed))
    compared = table.select(_among(table, compared_in(protocol)))
    if not len(compared) and not here.ledger.wanted():
        raise UsageFault("every task of the pilot was removed, and no run counts", hint="proctor pilot status PILOT")
    if not len(compared):
        raise UsageFault("no run of the pilot counts yet", hint="proctor pilot run PILOT")
    question = with_equal_repeats(here, compared, replace(_question(here), measured=measured))
    question = with_removed_tasks(here, whole.select(_among(whole, compared_in(protocol))), question)
    extras = _extras(here)
    if question.unfinished is None:
        extras = replace(extras, caveats=(*unequal(here, question), *extras.caveats))
    found = findings(compared, question, extras, tell)
    found["baselines"] = _baselines(table, protocol, question.level)
    found["baseline_runs"] = runs_beside(table.select(~_among(table, compared_in(protocol))), question)
    if protocol.get("variations"):
        found["variations"] = variations_of(here)
    found["bill"] = plain_data(in_one_unit(bill_of(here), found["cost"]["unit"]))
    found["progress"] = progress_of(here)
    found["plan"] = promised(here.plan, here.journal.removed, here.power)
    return found, table


def in_one_unit(bill: dict[str, Any], unit: Mapping[str, Any] | None) -> dict[str, Any]:
    """The bill, without a unit if its runs were not all priced like its charges, as after an amendment of prices."""
    return bill if bill["unit"] == unit else {**bill, "unit": None}


def compared_in(protocol: Mapping[str, Any]) -> list[str]:
    """The methods that are compared: no baselines but those that the question names."""
    named = (protocol["comparison"] or {}).values()
    return [one["name"] for one in protocol["methods"] if not one["baseline"] or one["name"] in named]


def progress_of(here: PilotState) -> dict[str, Any]:
    """The runs that are planned and that count, whether the pilot is complete, and what stops it."""
    last = list(stages_of(here))[-1]
    counted, planned, more = tally(here)
    complete = last.good and last.name == STAGES[-1]
    return {
        "planned": planned,
        "counted": counted,
        "planned_for_removed": more,
        "complete": complete,
        "removed": sorted(here.journal.removed),
        "held_up": None if complete else plain_data(_held_up(last)),
    }


def tally(here: PilotState) -> tuple[int, int, int]:
    """How many runs count, how many are planned for the tasks that are left, and how many more for removed tasks."""
    planned = len(here.ledger.wanted())
    return sum(counts for _, _, counts in places(here)), planned, len(here.plan.slots) - planned


def _held_up(stage: Stage) -> Statement:
    """Why the pilot has not continued after a stage."""
    if stage.verdict == REFUSED:
        return statement("stage-refused", stage=stage.name, unmet=[one.found for one in stage.unmet])
    if stage.stop is not None:
        return statement("stage-stopped", stage=stage.name, stop=stage.stop.why)
    if stage.verdict == OPEN:
        return statement("stage-not-over", stage=stage.name)
    return statement("stage-cut", stage=stage.name, blocks=len(stage.ahead.cut))


def _among(table: Table, methods: Sequence[str]) -> Any:
    return np.logical_or.reduce([table.method.is_(name) for name in methods])


def _of_tasks(table: Table, tasks: Iterable[str]) -> Any:
    return np.logical_or.reduce([np.zeros(len(table), dtype=bool), *(table.task.is_(name) for name in tasks)])


def _question(here: PilotState) -> Question:
    """The question of the protocol; its level is what looks, and the share that was run, have left."""
    protocol = here.plan.protocol
    comparison = protocol["comparison"] or {}
    held_up = unfinished(here)
    looks = rules_so_far(here.ledger, protocol)[1]
    so_far = float(looks[-1].nominal if looks else protocol["alpha"])
    return Question(
        endpoint=protocol["endpoints"]["primary"],
        alpha=max(so_far if held_up is not None else level_of(here), float_info.min),
        minimum_effect=float(protocol["minimum_effect"]),
        against=comparison.get("against"),
        candidate=comparison.get("candidate"),
        pilot=here.plan.digest,
        text=protocol["pilot"]["question"],
        unfinished=held_up,
        mixed=(ALL,),
        repeated=made_again(here),
    )


def unfinished(here: PilotState) -> Statement | None:
    """Why a pilot cannot be decided yet; nothing when its plan is complete or a rule has ended it.

    An earlier answer at the full level would be a look that was not planned.
    """
    if any(map(of_another_length, here.plan.amendments)):
        return statement("runs-per-task-changed")
    last = list(stages_of(here))[-1]
    if last.stop is not None or (last.name == STAGES[-1] and last.verdict in (OVER, EMPTY_STAGE)):
        return None
    counted, planned, _ = tally(here)
    if counted == planned and last.unmet:
        unmet = [one.found for one in last.unmet]
        return statement("stage-unmet", stage=last.name, verdict=last.verdict, unmet=unmet)
    return statement("pilot-incomplete", counted=counted, planned=planned)


def _extras(here: PilotState) -> Extras:
    protocol = here.plan.protocol
    tasks = protocol["tasks"]
    stages = list(stages_of(here))
    runs = [run for _, run, counts in places(here) if run is not None and counts]
    counted, planned, more = tally(here)
    notes: list[Statement] = []
    if counted < planned:
        notes.append(statement("planned-runs-missing", missing=planned - counted, planned=planned))
    if removed := sorted(here.journal.removed):
        counts = {"counted": counted, "planned": planned, "more": more}
        notes.append(statement("planned-runs-removed", **counts, tasks=removed))
    looks = rules_so_far(here.ledger, protocol)[1]
    notes += [_taken(look, here.journal.removed) for look in looks]
    notes += filter(None, [paid_besides(here.charges(), here.rates), varied(here)])
    return Extras(
        kind="pilot",
        name=protocol["pilot"]["title"] or protocol["pilot"]["name"],
        digest=here.plan.digest,
        deviations=tuple(deviations(here)),
        caveats=tuple(caveats_of(here)),
        cannot=could_be_forged(runs),
        notes=tuple(notes),
        languages=tuple(sorted({task["labels"]["language"] for task in tasks if task["labels"].get("language")})),
        kinds=tuple(sorted({task["kind"] for task in tasks})),
        differs=differs(runs),
        not_to_generalise=NOT_TO_GENERALISE,
        agreement=agreement(run.reviews for run in runs),
        appendix={
            "digests": {
                "pilot": here.plan.digest,
                "prices": protocol["prices"]["digest"],
                "contracts": {task["name"]: task["contract"] for task in tasks},
                "artefacts": dict(protocol["artefacts"]),
            },
            "locks": _locks(here),
            "agents": [_method(one) for one in protocol["methods"]],
            "seeds": {"planned": protocol["seeds"]["planned"], "observed": [protocol["seeds"]["observed"]]},
            "amendments": [dict(one) for one in here.plan.amendments],
            "stages": [_stage(record_of(here, stage)) for stage in stages],
        },
    )


def _doubted(here: PilotState) -> Iterator[Statement]:
    """What reviewers decided on successes, and what was not reviewed; the two agents in question come first."""
    asked = (here.plan.protocol["comparison"] or {}).values()
    methods = [*filter(None, asked), *compared_in(here.plan.protocol)]
    return doubted([run for _, run, counts in places(here) if run and counts], list(dict.fromkeys(methods)))


def _idle(here: PilotState) -> Iterator[Statement]:
    """Which of the methods never changed anything, or always failed: they may never have worked."""
    counted = (run for _, run, counts in places(here) if run is not None and counts)
    return unproven(counted, methods_of(here.plan.protocol))


def caveats_of(here: PilotState) -> Iterator[Statement]:
    """What could change the answer, the power of the plan first; most of it applies only to a pilot that is over."""
    over = unfinished(here) is None
    if over:
        yield from _weak(here)
    yield from (*_doubted(here), *_idle(here))
    if over:
        yield from (*cautions(here), *_doubts(here), *choices(here))


def _weak(here: PilotState) -> Iterator[Statement]:
    """That the plan lacked power but came to its end: without a stage three no criterion requires it."""
    if here.power["supported"] is not True:
        yield statement("power-not-reached", power=here.power["answer"])


def _doubts(here: PilotState) -> Iterator[Statement]:
    """How runs under different conditions could change the answer."""
    ledger = here.ledger
    return doubts(here.plan.protocol, [runs for block in ledger.blocks() if (runs := ledger.filled(block)) is not None])


def _taken(look: Look, removed: frozenset[str]) -> Statement:
    """A look, with its tasks that were removed later."""
    return statement("look-taken", **look.values, removed_later=[task for task in look.tasks if task in removed])


def _method(one: Mapping[str, Any]) -> dict[str, Any]:
    """A method as the appendix shows it, without what is empty."""
    return {name: value for name, value in one.items() if value not in ("", {}, None)}


def _stage(record: Mapping[str, Any]) -> dict[str, Any]:
    """A stage without its places, which follow from the runs, and its looks without the runs, which the journal has."""
    kept = ("stage", "verdict", "entry", "exit", "stop", "looks", "counts", "spent_usd", "charges", "attempts")
    looks = [{name: value for name, value in look.items() if name != "runs"} for look in record["looks"]]
    return {**{name: record[name] for name in kept}, "looks": looks}


def _locks(here: PilotState) -> list[dict[str, Any]]:
    """What each task was locked to, by digest, as its first run states it."""
    found: dict[str, dict[str, Any]] = {}
    for slot, run, _ in places(here):
        if run is None or slot.task in found:
            continue
        directory = RunDirectory(run.path)
        manifest = directory.read_json(directory.manifest)
        inputs = {f"{item['name']} ({item['for']})": item["sha256"] for item in manifest["inputs"]}
        found[slot.task] = {
            "task": slot.task,
            "repository": manifest["repository"]["identity"],
            "tree": manifest["repository"]["tree_digest"],
            "sandbox": manifest["sandbox"]["identity"]["digest"],
            "inputs": inputs,
            "toolchain": manifest["toolchain"],
            "harness": manifest["harness"],
        }
    return [found[name] for name in sorted(found)]


def _baselines(table: Table, protocol: Mapping[str, Any], level: float) -> list[dict[str, Any]]:
    """The success of each baseline, and whether it is what it must be."""
    found = []
    compared = compared_in(protocol)
    for method in (one for one in protocol["methods"] if one["name"] not in compared):
        rows = table.select(table.method.is_(method["name"]))
        known = rows.select(~np.isnan(rows.success))
        tasks = known.task.used()
        estimate = cluster_rate(*by_task(tasks.codes, known.success, len(tasks.names)), level).record()
        expected = EXPECTED.get(method["name"])
        held = None if expected is None or estimate["value"] is None else estimate["value"] == expected
        found.append(
            {"method": method["name"], "runs": len(rows), "success": estimate, "expected": expected, "held": held}
        )
    return found


NO_VARIATION = "(none)"
"""The variation of a run that was made when none was declared."""


def variations_of(here: PilotState) -> list[dict[str, Any]]:
    """For each method and variation: the runs that count, those with a verdict, and the successes.

    The variation is recorded in the run itself: the plan may have been amended since.
    """
    names, repeats = [one["name"] for one in here.plan.protocol["variations"]], _repeats(here)
    found = {(name, one["name"]): [0, 0, 0] for name in names for one in here.plan.protocol["methods"]}
    for slot, run, counts in places(here):
        if run is not None and counts:
            cell = found.setdefault((run.variation or NO_VARIATION, slot.method), [0, 0, 0])
            for column, one in enumerate((1, run.scorable, run.scorable and run.success)):
                cell[column] += one
    return [
        {
            "variation": name,
            "repeats": repeats.get(name, []),
            "method": method,
            "runs": runs,
            "scorable": scorable,
            "successes": successes,
        }
        for (name, method), (runs, scorable, successes) in found.items()
    ]


def _repeats(here: PilotState) -> dict[str, list[int]]:
    """Which repeats were made under which variation."""
    found: dict[str, set[int]] = {}
    for slot, run, counts in places(here):
        if run is not None and counts:
            found.setdefault(run.variation or NO_VARIATION, set()).add(slot.repeat)
    return {name: sorted(repeats) for name, repeats in found.items()}


def varied(here: PilotState) -> Statement | None:
    """Which repeats had which variation; nothing if none is declared."""
    found = [{"name": name, "repeats": of} for name, of in sorted(_repeats(here).items())]
    return statement("repeats-varied", variations=found) if here.plan.protocol.get("variations") and found else None
