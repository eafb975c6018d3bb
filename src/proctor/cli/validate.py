"""``proctor validate``: the no-op must fail and the reference must pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from proctor.cli.output import as_json, print_json, print_table, printable


@click.command(epilog="Example: proctor validate examples/parse-time-zone --times 3")
@click.argument("contracts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--times", type=click.IntRange(1, 1000), default=2, show_default=True, help="How often each of the two is run."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, help="Runs side by side.")
@as_json
def command(contracts: tuple[Path, ...], times: int, jobs: int, json_: bool) -> int:
    """Run the no-op and the reference on CONTRACTS: every no-op a failure, every reference a success.

    What the checks try meanwhile (a name that is looked up, a write outside the tree) is remembered, and does not count
    against agents that try the same.
    """
    from proctor.cli.batches import begin, fill
    from proctor.cli.run import why
    from proctor.cli.wiring import machine

    here = machine()
    rows: list[dict[str, Any]] = []
    code = 0
    unready: dict[str, str] = {}
    for agent, wanted in (("noop", "failure"), ("reference", "success")):
        plan = begin(here, contracts, [agent], repeats=times, settings={"rehearse": "yes"})
        result = fill(here, plan, jobs, quiet=json_)
        for place, error in result.errors:
            code = max(code, error.exit_code)
            unready[place.contract] = str(error)
        for _, outcome in result.outcomes:
            report = outcome.report
            rows.append(
                {
                    "run": outcome.run_id,
                    "contract": report["contract"]["name"],
                    "agent": agent,
                    "status": outcome.status,
                    "wanted": wanted,
                    "why": why(report),
                }
            )
        if result.stopped:
            return 3
    for contract, message in unready.items():
        click.echo(f"proctor: {contract}: {message}", err=True)
    wrong = [row for row in rows if row["status"] != row["wanted"]]
    if json_:
        print_json({"runs": rows, "valid": not wrong and not code})
    else:
        head = ["CONTRACT", "AGENT", "STATUS", "WANTED", "WHY"]
        print_table(
            head,
            [
                [printable(row["contract"]), row["agent"], row["status"], row["wanted"], printable(row["why"])[:80]]
                for row in rows
            ],
        )
        click.echo(_verdict(len(wrong), len(unready)))
    return code or (1 if wrong else 0)


def _verdict(wrong: int, unready: int) -> str:
    reasons = [f"{wrong} runs came out wrong"] if wrong else []
    reasons += [f"{unready} contracts could not be run"] if unready else []
    return f"not valid: {', '.join(reasons)}" if reasons else "valid"
