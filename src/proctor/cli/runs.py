"""``proctor runs``: list runs."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table, printable
from proctor.record.shelf import STATES

RARE = ("METHOD", "REPLAY OF", "RETRY OF")
"""Columns that are shown only when something stands in them."""

STATUSES = ("success", "failure", "acceptance-error", "invalid", *STATES)


@click.command(epilog="Example: proctor runs --status failure")
@click.option("--status", type=click.Choice(STATUSES), default=None, help="Only runs with this word under STATUS.")
@click.option("--contract", default="", help="Only runs of the contract with this name.")
@click.option("-n", "--last", type=click.IntRange(1), default=None, help="Only the newest N.")
@as_json
def command(status: str | None, contract: str, last: int | None, json_: bool) -> None:
    """List the runs of the home directory, oldest first.

    Besides a verdict a run can be running, waiting for a human or paused by one (see `proctor decide`), cut off, or
    broken: what is listed of it is not what was sealed. Only `proctor verify` looks at every byte. A copy is a
    directory that is named like one run and contains another; it does not count as a run. An id begins with the time at
    which its run began, in UTC. Runs of pilots are listed with their methods.
    """
    from proctor.cli.wiring import shelf

    found = [
        item
        for item in shelf().list()
        if (not status or item.word == status) and (not contract or item.contract == contract)
    ]
    found = found[-last:] if last else found
    for item in found:
        if item.copy_of:
            said = f"{item.id} contains the run {item.copy_of} under another id and does not count as a run"
            click.echo(
                printable(f"proctor: {said}\n  give the copy a name that is not a run id: {item.path}"), err=True
            )
    if json_:
        print_json(
            [
                {
                    "run": item.id,
                    "contract": item.contract,
                    "method": item.method,
                    "agent": item.agent,
                    "model": item.model,
                    "status": item.status,
                    "state": item.state,
                    "started": item.started,
                    "path": str(item.path),
                    "replay_of": item.replay_of,
                    "retry_of": item.retry_of,
                    "copy_of": item.copy_of,
                }
                for item in found
            ]
        )
        return
    columns = {
        "RUN": [item.id for item in found],
        "CONTRACT": [item.contract for item in found],
        "METHOD": [item.method for item in found],
        "AGENT": [item.agent for item in found],
        "MODEL": [item.model for item in found],
        "STATUS": [item.word for item in found],
        "REPLAY OF": [item.replay_of for item in found],
        "RETRY OF": [item.retry_of for item in found],
    }
    shown = {name: cells for name, cells in columns.items() if name not in RARE or any(cells)}
    print_table(list(shown), [[cell or "-" for cell in row] for row in zip(*shown.values(), strict=True)])
