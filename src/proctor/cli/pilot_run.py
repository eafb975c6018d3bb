"""``proctor pilot run``, ``status`` and ``remove``: conduct a pilot that was planned, and look on."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from proctor.base.clock import SystemClock, utc_text
from proctor.base.errors import UsageFault
from proctor.base.process import user_name
from proctor.cli.exit_codes import UNDECIDED, print_undecided
from proctor.cli.options import complete_runs, judge_slots_option, pilot_argument, plan_option
from proctor.cli.output import as_json, counted, print_json, print_table, printable
from proctor.cli.progress import Progress
from proctor.cli.wiring import home, machine, run_store
from proctor.execute.proctor_home import Home
from proctor.judge.run_verdict import is_machine_fault
from proctor.present.sentences import sentences
from proctor.present.sentences.phrases import bill_amount, bill_number, budget
from proctor.present.sentences.pilot_bill import NO_METHOD
from proctor.present.sentences.pilot_caveats import charges
from proctor.present.sentences.pilot_criteria import found, must, required, stop, todo
from proctor.present.sentences.pilot_deviations import removal
from proctor.study.analysis.plain_data import plain_data, text_numbers
from proctor.study.pilot.ledger.pilot_runs import Run
from proctor.study.pilot.plan.frozen_plan import Plan
from proctor.study.pilot.plan.pilot_draft import changed_since, plan_alone, planned
from proctor.study.pilot.report.pilot_status import CHECKING, CHECKS_LEFT, status_of
from proctor.study.pilot.running.conduct_pilot import conduct_pilot, require_machine
from proctor.study.pilot.running.pilot_runner import Paused, alone, is_busy
from proctor.study.pilot.running.pilot_state import OPEN, PilotState, Stage, done_of, read_pilot_state, record_of
from proctor.study.pilot.running.task_removal import Request
from proctor.study.pilot.running.task_removal import remove as remove_task

LOOK_SECONDS = 1.0
"""How often ``--watch`` looks."""


@click.command(epilog="Example: proctor pilot run pilot.yaml --jobs 2")
@pilot_argument
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Parallel runs.")
@judge_slots_option
@click.option(
    "--accept-machine", metavar="WHY", help="Continue although the machine has changed; every report shows the reason."
)
@plan_option
@as_json
def run(
    pilot: Path, jobs: int, judge_slots: int | None, accept_machine: str | None, plan_: Path | None, json_: bool
) -> int:
    """Run a planned pilot, or continue it.

    Runs what is left of the three stages, unattended. After a crash or Ctrl-C the same command continues. Exits with 0
    when the plan is complete or was ended for efficacy, with 1 when a stage is refused or a rule ended the pilot early,
    and with 3 when the pilot could not continue, or when a stage is refused because the machine left runs without a
    verdict.
    """
    here = machine(judge_slots)
    named = shlex.join([str(pilot), *(("--plan", str(plan_)) if plan_ else ())])
    slots = f" --judge-slots {judge_slots}" if judge_slots else ""
    again = f"proctor pilot run {named}{f' --jobs {jobs}' if jobs > 1 else ''}{slots}"
    if accept_machine is not None and not accept_machine.strip():
        raise UsageFault("the reason for accepting the change of the machine is empty", hint='--accept-machine "WHY"')
    made, plan = planned(here, pilot, plan_)
    require_machine(here, made)
    progress = Progress(*done_of(read_pilot_state(plan, here.home)), quiet=json_, resume=again)
    try:
        with progress:
            state, stages = conduct_pilot(here, made, plan, progress, jobs, (accept_machine or "").strip(), user_name())
    except Paused:
        click.echo(f"stopped; to run the rest: {again}", err=True)
        return 3
    good = stages[-1].good
    if json_:
        print_json(
            {"pilot": plan.digest, "complete": good, "stages": text_numbers([record_of(state, one) for one in stages])}
        )
    else:
        _tell(state, stages, named)
    undecided = _undecided(state, stages[-1])
    for one in undecided:
        print_undecided(one.run, one.task, one.problem or one.status)
    return 0 if good else UNDECIDED if undecided else 1


def _undecided(state: PilotState, stage: Stage) -> list[Run]:
    """The runs that the machine left without a verdict, among those that the unmet criteria of a stage name."""
    named = {name for one in stage.unmet for name in one.evidence}
    return [run for run in state.runs if run.run in named and is_machine_fault(run.status, run.attribution)]


def _tell(state: PilotState, stages: Sequence[Stage], named: str) -> None:
    """The state of each stage, and what to do where one holds the pilot up."""
    ledger = state.ledger
    rows = [[stage.name, stage.verdict, str(len(ledger.held(stage.name))), _unmet(stage.unmet)] for stage in stages]
    print_table(["STAGE", "VERDICT", "RUNS", "NOT MET"], rows)
    last = stages[-1]
    for one in last.unmet:
        said = plain_data(one.found)
        demand = f"not met: {one.id}, which demands that {must(said)}"
        click.echo(printable(f"{demand}: {found(said)}, required: {required(said)}"))
        if advice := todo(said):
            click.echo(printable(f"  {advice}"))
    if last.stop is not None:
        click.echo(printable(f"stopped by the rule for {stop(plain_data(last.stop.why))}"))
    for block in last.ahead.cut:
        click.echo(printable(f"not run, the budget of its task is used up: {block[0].task}, repeat {block[0].repeat}"))
    click.echo(f"records: {state.plan.folder}")
    if ledger.held():
        click.echo(f"next: proctor pilot report {named} writes the report of these runs")


def _unmet(criteria: Sequence[Any]) -> str:
    return ", ".join(one.id for one in criteria)


@click.command(epilog="Example: proctor pilot status pilot.yaml --watch")
@pilot_argument
@click.option("--watch", is_flag=True, help="Print the status again when it changes, until the pilot stops.")
@plan_option
@as_json
def status(pilot: Path, watch: bool, plan_: Path | None, json_: bool) -> None:
    """Show the progress of a pilot.

    Prints stages, runs, spending, the distance to each stopping rule, live runs and deviations. The command reads only
    the runs and the plan, and can be called at any time.
    """
    place, plan = home(), plan_alone(pilot, plan_)
    changed, before = changed_since(place, pilot, plan), None
    while True:
        now = {**_status(place, plan), "changed": changed}
        if now != before:
            if json_:
                print_json(text_numbers(now))
            else:
                if before is not None:
                    click.clear()
                _show(now)
            before = now
        if not watch or not (now["busy"] or now["running"]):
            return
        time.sleep(LOOK_SECONDS)


def _status(place: Home, plan: Plan) -> dict[str, Any]:
    return status_of(read_pilot_state(plan, place), is_busy(place, plan))


def _show(now: Mapping[str, Any]) -> None:
    """The status for users."""
    unit = str(now["unit"]["name"])
    click.echo(printable(f"{now['name']}  {now['title']}"))
    state = "complete" if now["complete"] else f"stage {now['stage']} {now['verdict']}"
    click.echo(f"{now['pilot']}  {state}{', running' if now['busy'] and now['verdict'] != CHECKING else ''}")
    click.echo("")
    rows = [[one["stage"], one["verdict"], f"{one['filled']}/{one['places']}"] for one in now["stages"]]
    print_table(["STAGE", "VERDICT", "PLACES"], rows)
    click.echo("")
    cells = [
        [
            printable(one["method"]),
            str(one["done"]),
            str(one["left"]),
            ", ".join(f"{count} {status}" for status, count in one["statuses"].items()),
            bill_number(float(one["spent_usd"]), unit),
        ]
        for one in now["methods"]
    ]
    print_table(["METHOD", "DONE", "LEFT", "STATUS", unit.upper()], cells)
    click.echo("")
    for one in now["envelopes"]:
        spent, cap = bill_number(float(one["spent_usd"]), unit), budget(float(one["cap_usd"]), unit)
        click.echo(printable(f"envelope  {one['envelope']}: {spent} of {cap}"))
    if now["checks"]["runs"]:
        runs, usd = counted(now["checks"]["runs"], "run"), bill_amount(float(now["checks"]["spent_usd"]), unit)
        click.echo(f"charged   {NO_METHOD}: {runs}, {usd}")
    for one in now["charges"]:
        click.echo(printable(f"charged   {charges(one)}, {bill_amount(float(one['usd']), unit)}"))
    for text in sentences(now["rules"]):
        click.echo(printable(f"rule      {text}"))
    for one in now["running"]:
        click.echo(printable(f"running   {one['run']}  {one['task']}  {one['method']}  repeat {one['repeat']}"))
    for one in now["unmet"]:
        said = one["found"]
        click.echo(printable(f"not met   {one['id']}: {found(said)}, required: {required(said)}"))
    if now["verdict"] == CHECKS_LEFT:
        click.echo("stopped   before the checks of all tasks were done; proctor pilot run PILOT continues")
    if now["verdict"] == OPEN and not now["busy"] and not now["running"]:
        click.echo(f"waiting   stage {now['stage']} is not running; proctor pilot run PILOT continues")
    if now["stop"]:
        click.echo(printable(f"stopped   {stop(now['stop']['why'])}"))
    for text in sentences(now["deviations"]):
        click.echo(printable(f"deviation {text}"))
    for line in now["changed"]:
        click.echo(printable(f"changed   {line.splitlines()[0]}"))
    if now["changed"]:
        click.echo("          proctor pilot run refuses the pilot until these changes are undone or recorded")


@click.command(epilog="Example: proctor pilot remove pilot.yaml a-task --reason flaky --why 'random port'")
@pilot_argument
@click.argument("task")
@click.option(
    "--reason",
    required=True,
    type=click.Choice(["flaky", "broken-oracle", "broken-environment"]),
    help="What is wrong with the task.",
)
@click.option(
    "--evidence",
    multiple=True,
    metavar="RUN",
    shell_complete=complete_runs,
    help="A run that shows it; can be given several times.",
)
@click.option("--why", required=True, help="The reason in a sentence; every later report shows it.")
@plan_option
@as_json
def remove(
    pilot: Path, task: str, reason: str, evidence: tuple[str, ...], why: str, plan_: Path | None, json_: bool
) -> None:
    """Remove an invalid task from a pilot.

    TASK is removed for good and not replaced, because recorded evidence shows that it is invalid. Its runs stay and are
    reported separately. The results of an agent are not a reason to remove a task. For a flaky task the pilot's own
    screening of its checks is evidence too.
    """
    place, plan = home(), plan_alone(pilot, plan_)
    place.create()
    runs = tuple(run_store().find(name) for name in evidence)
    at = utc_text(SystemClock().wall_ns())
    with alone(place, plan):
        removed = remove_task(read_pilot_state(plan, place), Request(task, reason, why, user_name(), at, runs))
    if json_:
        print_json(text_numbers(removed.record()))
        return
    click.echo(printable(removal(plain_data(removed.deviation))))
    click.echo(f"on record: {plan.folder / removed.pointer.partition('#')[0]}, {counted(len(runs), 'run')} as evidence")
