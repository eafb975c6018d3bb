"""``proctor replay``: repeat a run from its evidence, at the depth that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proctor.base.dataclass_fields import field_items
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.cli.exit_codes import no_verdict, require_evidence
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, print_json, print_table, printable
from proctor.cli.progress import fill_with_progress
from proctor.cli.run import why
from proctor.cli.wiring import machine, run_store
from proctor.conduct.batch.batch_record import Batch, RedactedTexts, load_batch
from proctor.conduct.briefing import setting_of
from proctor.conduct.machine_setup import Machine
from proctor.conduct.replay.acceptance_replay import accept_again, find_base, has_hidden_patch, require_whole
from proctor.conduct.replay.command_divergence import CommandReplay
from proctor.conduct.replay.command_replay import replay_commands
from proctor.conduct.replay.recorded_commands import is_plain
from proctor.conduct.replay.trace_replay import (
    Divergence,
    OtherOrder,
    first_difference,
    first_divergence,
    first_unplayed_call,
    other_orders,
    out_of_memory,
    replay_breakers,
    tool_calls,
)
from proctor.conduct.session.agent_selection import kind_of
from proctor.conduct.session.agent_setup import agent_for, identified_agent
from proctor.conduct.session.batch_plan import begin_batch
from proctor.judge.manifest_differences import Difference
from proctor.judge.run_verdict import is_machine_fault
from proctor.record.report_model import read_report
from proctor.record.run_directory import RunDirectory

WITH_FILES = ("command", "endpoint")
"""Kinds of agents that may bring files along."""


def files_again(machine: Machine, batch: Batch, manifest: Mapping[str, Any]) -> str:
    """The directory of the agent's files, by its path; empty for none.

    Those of a pilot must be what its plan froze: with others a difference would say nothing about the run.
    """
    asked = manifest["configuration"]
    agent_value, model, method = str(asked["agent"]), str(asked["model"]), str(asked.get("method", ""))
    if RedactedTexts(machine.home, batch.settings).hidden(agent_value):
        hint = "--acceptance judges its patch again, without the agent"
        raise UsageFault(
            "the value of --agent contained a secret, which is not recorded", where=agent_value[:200], hint=hint
        )
    files = batch.files_of(method)
    if files and not Path(files).is_dir():
        raise UsageFault(
            "the agent's files are missing", where=files, hint="restore them at the path that the run used"
        )
    if not batch.settings.get("pilot") or kind_of(agent_value) not in WITH_FILES:
        return files
    now = identified_agent(machine, agent_value, files, model, batch.settings_of(method)).digest
    if now == manifest["agent"]["digest"]:
        return files
    if not files:
        hint = "the batch of the run does not record their path; --acceptance works without them"
        raise UsageFault("the agent's files are missing", where=str(manifest["run"]), hint=hint)
    raise UsageFault(
        "the agent's files have changed since the run", where=files, hint="restore the files that the pilot froze"
    )


OTHER_CONTRACT = "this is not the contract of the run"

NOT_REPEATED = ("jobs", "task_usd", "batch_usd", "pilot", "stage", "retry_invalid")
"""Settings of a batch that a repeated run does not get: it spends nothing, and is not part of a pilot."""


@click.command(epilog="Example: proctor replay 20260307T120000 --acceptance")
@click.argument("run", shell_complete=complete_runs)
@click.option("--breakers", is_flag=True, help="Derive every decision of the breakers again; the default.")
@click.option("--acceptance", is_flag=True, help="Judge the recorded patch again and compare check by check.")
@click.option("--tools", is_flag=True, help="Run the recorded commands again and report the first that differs.")
@click.option("--model", is_flag=True, help="Run the agent again on the recorded answers and compare its tool calls.")
@click.option(
    "--contract",
    type=click.Path(exists=True, path_type=Path),
    help="The contract, if it was moved; with --acceptance, --tools or --model.",
)
@as_json
def command(
    run: str, breakers: bool, acceptance: bool, tools: bool, model: bool, contract: Path | None, json_: bool
) -> int:
    """Repeat decisions, acceptance, commands or all of a run.

    By default the breakers decide again over the events of RUN; the exit code is 4 if a decision differs from the
    recorded one.

    With --acceptance the recorded patch is judged again in fresh sandboxes, without the agent or a model. With --tools
    the recorded commands run again in a fresh sandbox, with the recorded changes applied between them. With --model the
    agent runs again in a fresh sandbox without a provider: its calls are answered from the cassette. With these options
    the exit code is 1 if a result differs from the recorded one, and the difference is printed.
    """
    if breakers + acceptance + tools + model > 1:
        raise UsageFault("only one part can be replayed at a time", hint="--breakers, --acceptance, --tools or --model")
    if contract is not None and not (acceptance or tools or model):
        raise UsageFault("--contract needs --acceptance, --tools or --model")
    found = run_store().find(run)
    if acceptance:
        return _judge_again(found, contract, json_)
    if tools:
        return _act_again(found, contract, json_)
    return _run_again(found, contract, json_) if model else _decide_again(found, json_)


def _judge_again(found: RunDirectory, contract: Path | None, json_: bool) -> int:
    here = machine()
    base = find_base(here, found, contract)
    rows = accept_again(here, found, base)
    for row in rows:
        if row.machine_fault and not row.same:
            raise no_verdict(found.path.name, f"check {row.check}: {row.now}")
    same = bool(rows) and not base.differences and all(row.same for row in rows)
    if json_:
        print_json(
            {
                "run": found.path.name,
                "same": same,
                "base": [_difference(item) for item in base.differences],
                "checks": [
                    {
                        "check": row.check,
                        "recorded": row.recorded,
                        "now": row.now,
                        "tests": list(row.tests),
                        "same": row.same,
                    }
                    for row in rows
                ],
            }
        )
        return 0 if same else 1
    _print_base(base.differences)
    if rows:
        cells = [[row.check, row.recorded, row.now, "" if row.same else "DIFFERENT"] for row in rows]
        print_table(["CHECK", "RECORDED", "NOW", ""], [[printable(cell) for cell in row] for row in cells])
    for row in rows:
        for test in row.tests:
            click.echo(printable(f"{row.check}: {test} has a different outcome"))
    if not same and has_hidden_patch(base):
        click.echo("notice: secrets were removed from the recorded patch, which may cause a difference")
    different = "DIFFERENT" if rows else f"NOT judged again: {OTHER_CONTRACT}"
    result_text = "the same outcomes" if same else different
    click.echo(f"{found.path.name}: {result_text}")
    return 0 if same else 1


def _act_again(found: RunDirectory, contract: Path | None, json_: bool) -> int:
    here = machine()
    base = find_base(here, found, contract)
    differences, result = base.differences, CommandReplay(0, ())
    if base.prepared is not None:
        manifest = base.evidence.manifest
        asked = manifest["configuration"]
        batch = load_batch(here.home, str(asked["batch"]))
        agent_value, model = str(asked["agent"]), str(asked["model"])
        files, settings = files_again(here, batch, manifest), batch.settings_of(str(asked.get("method", "")))
        agent = agent_for(agent_value, files, base.prepared, here, model, settings)
        digest = agent.describe().digest
        if is_plain(base.evidence) and digest != manifest["agent"]["digest"]:
            differences += (Difference("agent", "agent.digest", str(manifest["agent"]["digest"]), digest),)
        result = replay_commands(here, base.prepared, base.evidence, agent, found)
    same = base.prepared is not None and not differences and not result.divergence
    if json_:
        print_json(
            {
                "run": found.path.name,
                "same": same,
                "base": [_difference(item) for item in differences],
                "commands": result.commands,
                "placed": list(result.placed),
                "where": result.where,
                "divergence": result.divergence,
                "notices": [dict(field_items(one)) for one in result.notices],
                "unheard": result.unheard,
                "own_programs": result.own,
            }
        )
        return 0 if same else 1
    _print_base(differences)
    for one in result.notices:
        difference = f"{one.stream} has {one.seen}; recorded: {one.recorded}"
        click.echo(printable(f"notice: {one.where}: call {one.call}, {one.command}: {difference}: it {one.why}"))
    if result.divergence:
        click.echo(printable(f"{result.where}: {result.divergence}"))
    if result.unheard:
        click.echo(f"notice: the output of {counted(result.unheard, 'command')} was not recorded and is not compared")
    if result.own:
        click.echo(f"notice: the agent started {counted(result.own, 'program')} by itself; these are not run again")
    result_text = _retraced(result, bool(differences)) if base.prepared else f"NOT run again: {OTHER_CONTRACT}"
    click.echo(f"{found.path.name}: {result_text}")
    return 0 if same else 1


def _retraced(result: CommandReplay, on_another_base: bool) -> str:
    """The result of the commands that ran again, in one sentence."""
    put = f", with {counted(len(result.placed), 'change')} written between them" if result.placed else ""
    ran = counted(result.commands, "command")
    if result.divergence and not result.commands:
        return "DIFFERENT before any command ran as recorded"
    if result.divergence:
        return f"DIFFERENT after {ran} that ran as recorded{put}"
    return f"{ran} ran as recorded{put}{', on another base: DIFFERENT' if on_another_base else ''}"


def _print_base(differences: tuple[Difference, ...]) -> None:
    for item in differences:
        click.echo(printable(f"{item.group}: {item.path}: recorded {item.one}, now {item.other}"))


def _difference(item: Difference) -> dict[str, str]:
    return {"group": item.group, "path": item.path, "recorded": item.one, "now": item.other}


def _decide_again(found: RunDirectory, json_: bool) -> int:
    require_evidence(found)
    result = replay_breakers(found)
    rows = [
        {"breaker": one.trip.breaker, "code": one.trip.code, "action": one.trip.action, "event": one.seq}
        for one in result.recorded
    ]
    if json_:
        differences = list(result.differences)
        print_json({"run": found.path.name, "agree": result.agree, "decisions": rows, "differences": differences})
    else:
        if rows:
            cells = [[one.trip.breaker, one.trip.code, one.trip.action, f"#{one.seq}"] for one in result.recorded]
            print_table(["BREAKER", "CODE", "ACTION", "EVENT"], cells)
        for difference in result.differences:
            click.echo(printable(difference))
        result_text = "the same decisions" if result.agree else "DIFFERENT decisions"
        click.echo(f"{found.path.name}: {counted(len(rows), 'decision')} recorded, {result_text} when derived again")
    return 0 if result.agree else 4


def _run_again(found: RunDirectory, contract: Path | None, json_: bool) -> int:
    require_whole(found)
    try:
        manifest = found.read_json(found.manifest)
        asked = manifest["configuration"]
        paths = [contract or Path(asked["contract_path"])]
        batch_id, agents, models = str(asked["batch"]), [str(asked["agent"])], [str(asked["model"])]
    except (KeyError, TypeError, ValueError):
        raise BrokenSeal("the manifest does not record the options of the run", where=found.path.name) from None
    if not models[0]:
        raise UsageFault("the run had no model", where=found.path.name)
    here = machine()
    base = find_base(here, found, contract)
    if base.prepared is None:
        return _print_model(found, base.differences, "", Again(), json_)
    before = load_batch(here.home, batch_id)
    known = before.settings_of(str(asked.get("method", "")))
    kept = {name: text for name, text in known.items() if name not in NOT_REPEATED}
    marks = {"command": "replay", "replay_of": found.path.name}
    marks |= setting_of([asked["variation"]] if asked.get("variation") else ())
    settings = {**kept, **marks, "cassette": str(found.path.absolute())}
    files = files_again(here, before, manifest)
    plan = begin_batch(here, paths, agents, files, models=models, settings=settings)
    result = fill_with_progress(here, plan, 1, quiet=json_)
    for _, error in (*result.errors, *result.refused):
        raise error
    if not result.outcomes:
        return 3
    outcome = result.outcomes[0][1]
    status = read_report(found).status
    again = RunDirectory(outcome.directory)
    divergence = first_divergence(again)
    difference = divergence.message if divergence else first_difference(tool_calls(found), tool_calls(again))
    difference = difference or first_unplayed_call(again)
    if not difference and is_machine_fault(outcome.status, outcome.report.attribution) and outcome.status != status:
        raise no_verdict(outcome.run_id, why(outcome.report))
    if not difference and outcome.status != status:
        difference = f"the recorded status is {status}, now it is {outcome.status}"
    if difference and (out_of_memory(found) or out_of_memory(again)):
        difference += (
            " (the kernel ended processes for lack of memory, which may happen at a different place each time)"
        )
    comparison = Again(difference, divergence, other_orders(again))
    return _print_model(found, base.differences, outcome.run_id, comparison, json_)


@dataclass(frozen=True)
class Again:
    """How a run with its model differs from its record: a message, the request, and the orders."""

    difference: str = ""
    divergence: Divergence | None = None
    orders: tuple[OtherOrder, ...] = ()


def _print_model(found: RunDirectory, base: tuple[Difference, ...], again: str, result: Again, json_: bool) -> int:
    """Print how the run ``again`` with its model compares, or that it was not run because its contract is another."""
    same = bool(again) and not base and not result.difference
    if json_:
        row = {"again": again, "same": same, "base": [_difference(item) for item in base]}
        divergence = dict(field_items(result.divergence)) if result.divergence else None
        orders = [dict(field_items(one)) for one in result.orders]
        row |= {"difference": result.difference, "divergence": divergence, "other_orders": orders}
        print_json({"run": found.path.name, **row})
        return 0 if same else 1
    _print_base(base)
    if not again:
        click.echo(f"{found.path.name}: NOT run again: {OTHER_CONTRACT}")
        return 1
    for order in result.orders:
        click.echo(printable(f"notice: {order.message}"))
    if result.divergence:
        _print_divergence(result.divergence)
    difference = (
        "the request above differs from the recorded one" if result.divergence else printable(result.difference)
    )
    message = difference or "the same tool calls and the same status"
    message = message if same else f"DIFFERENT: {message}" if difference else f"{message}, on another base: DIFFERENT"
    click.echo(f"{found.path.name} again as {again}: {message}")
    return 0 if same else 1


def _print_divergence(one: Divergence) -> None:
    click.echo(printable(f"model call {one.call}, {one.part or 'request'}, at {one.pointer or '/'}{one.more}"))
    click.echo(printable(f"  recorded  {one.marked(one.recorded)}"))
    click.echo(printable(f"  now       {one.marked(one.now)}"))
