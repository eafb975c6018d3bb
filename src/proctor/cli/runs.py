"""``proctor runs``: list runs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from itertools import islice
from math import inf, isfinite
from typing import Any

import click

from proctor.base.errors import BrokenSeal
from proctor.cli.output import as_json, print_json, print_table, printable, shortened
from proctor.cli.run import why
from proctor.cli.wiring import run_store
from proctor.record.report_model import Report, report_from
from proctor.record.run_directory import RunDirectory
from proctor.record.run_store import STATES, RunStore, StoredRun

RARE = ("METHOD", "REPLAY OF", "RETRY OF", "STARTED", "DURATION", "COST", "WHY")
"""Columns that are shown only when they contain something."""

WIDEST = 60
"""Characters of a reason in the table; ``--json`` has all of it."""

STATUSES = ("success", "failure", "acceptance-error", "invalid", *STATES)


@click.command(epilog="Example: proctor runs --status failure --last 10")
@click.option("--status", type=click.Choice(STATUSES), default=None, help="Only runs with this status.")
@click.option("--contract", default="", help="Only runs of the contract with this name.")
@click.option("-n", "--last", type=click.IntRange(1), default=None, help="Only the newest N.")
@as_json
def command(status: str | None, contract: str, last: int | None, json_: bool) -> None:
    """List runs.

    Lists the runs of the home directory, oldest first. The status is the verdict, or the state of a run that has none:
    running, waiting for an operator, paused by one (see `proctor decide`), cut off, or broken. A broken run differs
    from what was sealed; only `proctor verify` checks every byte. A copy is a directory that is named like one run and
    contains another; it does not count as a run. The last columns are the start in UTC, the duration, the projected
    cost and the reason of the status.
    """
    store = run_store()
    wanted = (
        item
        for item in _newest(store)
        if (not status or item.word == status) and (not contract or item.contract == contract)
    )
    found = list(islice(wanted, last))[::-1]
    for item in found:
        if item.copy_of:
            message = f"{item.id} contains the run {item.copy_of} under another id and does not count as a run"
            click.echo(
                printable(f"proctor: {message}\n  give the copy a name that is not a run id: {item.path}"), err=True
            )
    if json_:
        print_json({"runs": [_record(item) for item in found]})
        return
    if not found:
        said = "no run matches" if status or contract else "there are no runs"
        click.echo(printable(f"proctor: {store.runs}: {said}"), err=True)
    reports = [_sealed(item) for item in found]
    columns = {
        "RUN": [item.id for item in found],
        "CONTRACT": [item.contract for item in found],
        "METHOD": [item.method for item in found],
        "AGENT": [item.agent for item in found],
        "MODEL": [item.model for item in found],
        "STATUS": [item.word for item in found],
        "REPLAY OF": [item.replay_of for item in found],
        "RETRY OF": [item.retry_of for item in found],
        "STARTED": [item.started for item in found],
        "DURATION": [_duration(report) for report in reports],
        "COST": [_cost(report) for report in reports],
        "WHY": [shortened(printable(_why(report)), WIDEST) for report in reports],
    }
    shown = {name: cells for name, cells in columns.items() if name not in RARE or any(cells)}
    print_table(list(shown), [[cell or "-" for cell in row] for row in zip(*shown.values(), strict=True)])


def _newest(runs: RunStore) -> Iterator[StoredRun]:
    """The runs of a home, newest first; each is read when it is needed."""
    return (runs.describe(RunDirectory(runs.runs / name)) for name in runs.newest())


def _record(item: StoredRun) -> dict[str, Any]:
    report = _sealed(item)
    cost = report.usage.cost if report else None
    return {
        "run": item.id,
        "contract": item.contract,
        "method": item.method,
        "agent": item.agent,
        "model": item.model,
        "status": item.status,
        "state": item.state,
        "started": item.started,
        "seconds": report.durations.wall_seconds if report else None,
        "cost_usd": cost.usd if cost else None,
        "cost_units": cost.units if cost else None,
        "why": _why(report),
        "path": str(item.path),
        "replay_of": item.replay_of,
        "retry_of": item.retry_of,
        "copy_of": item.copy_of,
    }


def _sealed(item: StoredRun) -> Report | None:
    """The report of a run that is as it was sealed; none for any other, whose numbers prove nothing."""
    try:
        return report_from(item.report) if item.state == "finished" else None
    except BrokenSeal:
        return None


def _why(report: Report | None) -> str:
    """The reason of the status."""
    return why(report) if report else ""


def _duration(report: Report | None) -> str:
    """The time of a run for people: ``2.6 s``, ``3 min 20 s``, ``1 h 05 min``."""
    try:
        value = float(report.durations.wall_seconds) if report else inf
    except ValueError:
        return ""
    if not isfinite(value):
        return ""
    if value < 60:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _cost(report: Report | None) -> str:
    """The projected cost in dollars, or in units where the run had no prices."""
    cost = report.usage.cost if report else None
    for text, unit in ((cost.usd, "USD"), (cost.units, "units")) if cost else ():
        try:
            amount = Decimal(text or "")
        except InvalidOperation:
            continue
        if not amount.is_finite():
            continue
        number = f"{amount:,.2f}" if amount == 0 or amount >= Decimal("0.1") else f"{amount:.2g}"
        return f"{number} {unit}"
    return ""
