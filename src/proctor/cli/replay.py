"""``proctor replay``: derive the decisions of a run again from its trace, or let its agent run on recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.cli.output import as_json, print_json, print_table, printable

if TYPE_CHECKING:
    from proctor.record.rundir import RunDirectory


@click.command(epilog="Example: proctor replay 20260307T120000 --breakers")
@click.argument("run")
@click.option("--breakers", is_flag=True, help="Derive every decision of the breakers; the default.")
@click.option("--model", is_flag=True, help="Run the agent again on the recorded answers and compare its tool calls.")
@as_json
def command(run: str, breakers: bool, model: bool, json_: bool) -> int:
    """Let the breakers decide again over the events of RUN; exits with 4 when they decide otherwise than recorded.

    With --model the agent runs again in a fresh sandbox, with no provider: its calls are answered from the cassette.
    That exits with 1 when its tool calls or its status differ from the recorded ones.
    """
    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import shelf

    if breakers and model:
        raise UsageFault("one thing is replayed at a time", hint="--breakers or --model")
    found = shelf().find(run)
    return _run_again(found, json_) if model else _decide_again(found, json_)


def _decide_again(found: RunDirectory, json_: bool) -> int:
    from proctor.conduct.replay import replay_breakers

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
        words = "the same decisions" if result.agree else "DIFFERENT decisions"
        click.echo(f"{found.path.name}: {len(rows)} decisions recorded, {words} when derived again")
    return 0 if result.agree else 4


def _run_again(found: RunDirectory, json_: bool) -> int:
    from proctor.base.errors import BrokenSeal, UsageFault
    from proctor.cli.batches import begin, fill
    from proctor.cli.wiring import machine
    from proctor.conduct.batch import load_batch
    from proctor.conduct.replay import first_difference, first_divergence, tool_calls
    from proctor.record.rundir import RunDirectory

    try:
        asked = found.read_json(found.manifest)["configuration"]
        paths = [Path(asked["contract_path"])]
        batch_id, agents, models = str(asked["batch"]), [str(asked["agent"])], [str(asked["model"])]
    except (KeyError, TypeError, ValueError):
        raise BrokenSeal("the manifest does not say what was asked for", where=found.path.name) from None
    if not models[0]:
        raise UsageFault("the run had no model", where=found.path.name)
    here = machine()
    before = load_batch(here.home, batch_id)
    kept = {name: text for name, text in before.settings.items() if name not in ("jobs", "task_usd", "batch_usd")}
    marks = {"command": "replay", "replay_of": found.path.name}
    settings = {**kept, **marks, "cassette": str(found.path.absolute())}
    plan = begin(here, paths, agents, before.agent_files, models=models, settings=settings)
    if plan.places[0].content_id != asked["contract"]:
        raise UsageFault("the contract has changed since the run", where=str(paths[0]))
    result = fill(here, plan, 1, quiet=json_)
    for _, error in (*result.errors, *result.refused):
        raise error
    if not result.outcomes:
        return 3
    outcome = result.outcomes[0][1]
    again = RunDirectory(outcome.directory)
    difference = first_divergence(again) or first_difference(tool_calls(found), tool_calls(again))
    status = str(found.read_json(found.report)["status"])
    if not difference and outcome.status != status:
        difference = f"the recorded status is {status}, now it is {outcome.status}"
    if json_:
        print_json({"run": found.path.name, "again": outcome.run_id, "same": not difference, "difference": difference})
    else:
        words = f"DIFFERENT: {printable(difference)}" if difference else "the same tool calls and the same status"
        click.echo(f"{found.path.name} again as {outcome.run_id}: {words}")
    return 1 if difference else 0
