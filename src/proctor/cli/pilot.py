"""``proctor pilot``: plan a comparison before it is run, then run it as it was planned."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from proctor.base.canonical import parse
from proctor.base.clock import utc_text
from proctor.base.errors import UsageFault
from proctor.cli.options import pilot_argument, plan_option
from proctor.cli.output import Group, as_json, counted, examples, print_json, print_table, printable
from proctor.cli.pilot_report import report
from proctor.cli.pilot_run import remove, run, status
from proctor.cli.wiring import machine
from proctor.execute.monitor.price_table import FALLBACK
from proctor.present.sentences import sentences
from proctor.present.sentences.phrases import amount, budget
from proctor.present.sentences.pilot_criteria import power as power_sentence
from proctor.present.sentences.pilot_plan import wrong
from proctor.study.analysis.cost_unit import UNITS, USD
from proctor.study.analysis.plain_data import plain_data, text_numbers
from proctor.study.pilot.ledger.costs_besides_runs import rates_of
from proctor.study.pilot.ledger.journal import read_journal, require_head
from proctor.study.pilot.plan.cost_projection import Projection
from proctor.study.pilot.plan.frozen_plan import PROTOCOL, Plan, amend, freeze, load_plan, plan_folder
from proctor.study.pilot.plan.pilot_draft import Draft, draft, runs_of_pilot
from proctor.study.pilot.plan.pilot_model import STAGES
from proctor.study.pilot.plan.pilot_template import scaffold
from proctor.study.pilot.plan.plan_files import make_artefacts
from proctor.study.pilot.plan.power_analysis import PowerQuestion, analyse, answer, curve, question_of, record, text
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.plan.remaining_power_and_cost import left_of, power_of, slots_left
from proctor.study.pilot.running.cap_criteria import concerns_of
from proctor.study.pilot.running.pilot_runner import alone
from proctor.study.pilot.running.pilot_state import read_pilot_state, take_looks


@click.group(
    cls=Group,
    epilog=examples("pilot init new-agent", "pilot plan pilot.yaml", "pilot run pilot.yaml", "pilot report pilot.yaml"),
)
def command() -> None:
    """Plan, run and report a comparison of agents.

    A pilot file names the agents, the tasks, the number of runs and the rules. The plan is frozen before the first run.
    """


command.add_command(run)
command.add_command(status)
command.add_command(remove)
command.add_command(report)


@command.command(epilog="Example: proctor pilot init new-agent contracts/one contracts/two")
@click.argument("name")
@click.argument("contracts", nargs=-1)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("pilot.yaml"),
    show_default=True,
    metavar="FILE",
    help="The file to write.",
)
@as_json
def init(name: str, contracts: tuple[str, ...], out: Path, json_: bool) -> None:
    """Write a pilot file with comments, to be filled in.

    NAME is the name of the pilot, and CONTRACTS are its tasks.
    """
    scaffold(out, name, [_from_file(Path(one), out) for one in contracts])
    if json_:
        print_json({"written": [str(out)]})
        return
    click.echo(f"wrote {out}")
    click.echo(f"next: fill it in, then proctor pilot plan {shlex.quote(str(out))}")


def _from_file(contract: Path, file: Path) -> str:
    """The path of ``contract`` as a pilot file names it: relative to the file, unless it is absolute."""
    return str(contract if contract.is_absolute() else Path(os.path.relpath(contract, file.parent)))


@command.command(epilog="Example: proctor pilot plan pilot.yaml --out plan")
@pilot_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder of the plan.  [default: PILOT with the suffix .plan]",
)
@as_json
def plan(pilot: Path, out: Path | None, json_: bool) -> None:
    """Freeze a pilot file: order, power, projected cost.

    The order of the runs is randomised, and one digest covers the whole plan. Planning again gives the same bytes. A
    pilot file that has changed since is refused; `proctor pilot amend` records a change.
    """
    here = machine()
    made = draft(here, pilot)
    folder = out or plan_folder(made.pilot)
    was_there = (folder / PROTOCOL).exists()
    frozen = freeze(folder, made.protocol, lambda: make_artefacts(made.protocol, made.prices))
    if was_there:
        require_head(frozen, here.home)
    _tell(frozen, made, json_)


@command.command("amend", epilog="Example: proctor pilot amend pilot.yaml --why 'the price list rose'")
@pilot_argument
@click.option("--why", required=True, help="The reason for the change; every later report shows it.")
@plan_option
@as_json
def amend_plan(pilot: Path, why: str, plan_: Path | None, json_: bool) -> None:
    """Record the current pilot file as an amendment.

    The record says what changed, why, when, and after how many runs. The pilot keeps its digest. Once there are runs,
    the tasks and everything that decides (question, comparison, methods, endpoint, runs, looks, variations, cap of a
    run, seed, retries) cannot change. Alpha and the number of violations that end the pilot can only decrease; the
    minimum effect and the budgets of tasks and pilot can only increase.
    """
    here = machine()
    made = draft(here, pilot)
    folder = plan_ or plan_folder(made.pilot)
    with alone(here.home, load_plan(folder)):
        frozen = load_plan(folder)
        take_looks(read_pilot_state(frozen, here.home))
        at, runs = utc_text(here.clock.wall_ns()), runs_of_pilot(here, frozen.digest)
        amended = amend(frozen, made.protocol, lambda: make_artefacts(made.protocol, made.prices), why, at, runs)
    _tell(amended, made, json_)


@command.command(epilog="Example: proctor pilot power pilot.yaml --tasks 40 --runs 5")
@pilot_argument
@click.option("--tasks", type=click.IntRange(2, 100_000), default=None, help="Compute for this number of tasks.")
@click.option(
    "--runs", type=click.IntRange(1, 1000), default=None, help="Compute for this number of runs of each task."
)
@click.option(
    "--effect", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=None, help="Compute for this effect."
)
@click.option(
    "--icc",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="Compute for this correlation of runs of one task; can be given several times.",
)
@click.option("--curve", "curve_", is_flag=True, help="Print the power over the number of tasks.")
@plan_option
@as_json
def power(
    pilot: Path,
    tasks: int | None,
    runs: int | None,
    effect: float | None,
    icc: tuple[float, ...],
    curve_: bool,
    plan_: Path | None,
    json_: bool,
) -> int:
    """Compute the power of a pilot to detect an effect.

    The power is computed by formula and by simulation; the options try other numbers. Removed tasks do not count. Exits
    with 0 when the target power is reached under every assumed correlation, and with 1 when it is not. Nothing is
    written.
    """
    made = draft(machine(), pilot)
    removed = _removed_from(made, plan_) if tasks is None else ()
    asked = question_of(left_of(made.protocol, removed))
    given: dict[str, Any] = {"tasks": tasks, "runs": runs, "effect": effect, "iccs": icc or None}
    asked = replace(asked, **{name: value for name, value in given.items() if value is not None})
    if asked.rate + asked.effect > 1:
        what = f"the assumed rate of {asked.rate:g} plus an effect of {asked.effect:g} is more than 1"
        raise UsageFault(what, where="--effect", hint="ask for a smaller one")
    if curve_:
        return _curve(asked, json_)
    found = analyse(asked)
    if json_:
        print_json(record(found))
        return 0 if found.supported else 1
    without = f", without {', '.join(removed)}" if removed else ""
    click.echo(
        printable(f"{counted(asked.tasks, 'task')}, {counted(asked.runs, 'run')} of each by every method{without}")
    )
    rows = [
        [
            f"{row.icc:g}",
            f"{row.correlation:g}",
            f"{row.design_effect:.2f}",
            f"{row.power:.3f}",
            f"{row.simulated.power:.3f}",
            "none" if row.smallest is None else text(row.smallest, 3),
            "none" if row.needed is None else str(row.needed),
        ]
        for row in found.rows
    ]
    head = ["ICC", "CORRELATION", "DESIGN EFFECT", "POWER", "SIMULATED", "LEAST EFFECT", "TASKS BY FORMULA"]
    if rows:
        print_table(head, rows)
    click.echo(
        ("supported: " if found.supported else "not supported: ") + power_sentence(plain_data(answer(record(found))))
    )
    return 0 if found.supported else 1


def _removed_from(made: Draft, plan_: Path | None) -> tuple[str, ...]:
    """The tasks of a pilot that were removed since it was planned; none where it was not."""
    folder = plan_ or plan_folder(made.pilot)
    if plan_ is None and not (folder / PROTOCOL).exists():
        return ()
    removed = read_journal(load_plan(folder)).removed
    return tuple(task["name"] for task in made.protocol["tasks"] if task["name"] in removed)


def _curve(asked: PowerQuestion, json_: bool) -> int:
    rows = [
        {
            "tasks": tasks,
            "icc": text(row.icc),
            "correlation": text(row.correlation),
            "power": text(row.power),
            "minimum_detectable_effect": None if row.smallest is None else text(row.smallest),
        }
        for tasks, row in curve(asked)
    ]
    if json_:
        print_json({"runs_per_task": asked.runs, "effect": text(asked.effect), "curve": rows})
    else:
        cells = [[str("none" if value is None else value) for value in row.values()] for row in rows]
        print_table(["TASKS", "ICC", "CORRELATION", "POWER", "LEAST EFFECT"], cells)
    return 0


def _tell(frozen: Plan, made: Draft, json_: bool) -> None:
    """The plan in force, its power and cost, and what a reader should know before it is run."""

    def part(name: str) -> Any:
        return parse((frozen.current / name).read_bytes())

    removed = read_journal(frozen).removed
    protocol, slots, can = left_of(frozen.protocol, removed), slots_left(frozen, removed), power_of(frozen, removed)
    cost = Projection(protocol, made.prices).summary(slots) if removed else part("projection.json")
    doubts = [check for checks in part("sanity.json")["checks"].values() for check in checks if not check["held"]]
    concerns = plain_data(concerns_of(cost, protocol, rates_of(frozen).start))
    if json_:
        print_json(
            text_numbers(
                {
                    "pilot": frozen.digest,
                    "folder": str(frozen.folder),
                    "runs": len(slots),
                    "tasks": len(protocol["tasks"]),
                    "removed": sorted(removed),
                    "methods": [method["name"] for method in protocol["methods"]],
                    "supported": can["supported"],
                    "answer": plain_data(can["answer"]),
                    "usd": cost["usd"],
                    "budget": cost["budget"],
                    "concerns": concerns,
                    "deviations": plain_data(frozen.deviations),
                    "doubts": doubts,
                    "amendments": len(frozen.amendments),
                }
            )
        )
        return
    methods, tasks = counted(len(protocol["methods"]), "method"), counted(len(protocol["tasks"]), "task")
    click.echo(f"pilot    {frozen.digest}")
    click.echo(f"plan     {counted(len(slots), 'run')}: {methods}, {tasks}, {protocol['runs_per_task']} of each")
    if removed:
        frozen_ones = f"{counted(len(frozen.slots), 'run')} and {counted(len(frozen.protocol['tasks']), 'task')}"
        click.echo(printable(f"removed  {', '.join(sorted(removed))}; {frozen_ones} were frozen"))
    click.echo(f"stages   {_stages(slots)}")
    third = any(slot.stage == STAGES[-1] for slot in slots)
    so = " (stage three will be refused)" if third else " (there is no stage three; reports will say so)"
    verdict = "supported" if can["supported"] else "not supported"
    click.echo(f"power    {verdict}: {power_sentence(plain_data(can['answer']))}{'' if can['supported'] else so}")
    click.echo(f"cost     {_amounts(cost, protocol)}")
    for line in sentences(concerns):
        click.echo(printable(f"concern  {line}"))
    for check in doubts:
        click.echo(f"doubt    {wrong(check['name'])}: {check['seen']}")
    for line in sentences(plain_data(frozen.deviations)):
        click.echo(printable(f"deviates {line}"))
    click.echo(f"folder   {frozen.folder}")


def _stages(slots: Sequence[Slot]) -> str:
    counts = {stage: sum(slot.stage == stage for slot in slots) for stage in STAGES}
    return ", ".join(f"{stage} {counted(count, 'run')}" for stage, count in counts.items())


def _amounts(cost: Mapping[str, Any], protocol: Mapping[str, Any]) -> str:
    """What a pilot may cost and its budget, both in dollars, or both in units if it has no prices."""
    unit = (USD if protocol["prices"]["currency"] != FALLBACK.table.currency else UNITS).name
    low, expected, high = (amount(float(cost["usd"][level]), unit) for level in ("low", "expected", "high"))
    return f"{expected} expected, {low} to {high}; the budget is {budget(float(cost['budget']['pilot_usd']), unit)}"
