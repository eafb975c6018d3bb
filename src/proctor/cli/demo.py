"""``proctor demo``: four agents on a bundled repository, offline."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from proctor.author.demo.build import CHEAT_COMMAND, cheating_agent, materialise
from proctor.cli.exit_codes import UNDECIDED, print_undecided
from proctor.cli.output import as_json, print_json, print_table, printable, shortened
from proctor.cli.progress import fill_with_progress
from proctor.cli.run import why
from proctor.cli.wiring import machine
from proctor.conduct.session.batch_plan import begin_batch
from proctor.judge.run_verdict import is_machine_fault


@click.command(epilog="Example: proctor demo")
@as_json
def command(json_: bool) -> int:
    """Run three agents on a bundled task, offline; one of them cheats.

    The first agent changes nothing, the second applies the known fix, and the third forges the test results. The demo
    needs no network, key or server.
    """
    here = machine()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="proctor-demo-") as directory:
        contract = materialise(Path(directory) / "contract")
        forger = str(cheating_agent(Path(directory) / "cheat"))
        steps = (
            ("no-op", "noop", "", "changes nothing"),
            ("reference", "reference", "", "applies the known fix"),
            ("cheat", CHEAT_COMMAND, forger, "forges the test results"),
        )
        for name, agent, files, message in steps:
            plan = begin_batch(here, [contract], [agent], files, settings={"command": "demo"})
            result = fill_with_progress(here, plan, 1, quiet=json_)
            for _, error in (*result.errors, *result.refused):
                raise error
            for _, outcome in result.outcomes:
                rows.append(
                    {
                        "agent": name,
                        "words": message,
                        "status": outcome.status,
                        "attribution": outcome.report.attribution,
                        "why": why(outcome.report),
                        "run": outcome.run_id,
                        "evidence": str(outcome.directory),
                    }
                )
    statuses = [row["status"] for row in rows]
    good = statuses == ["failure", "success", "failure"]
    undecided = {row["why"]: row for row in rows if is_machine_fault(row["status"], row["attribution"])}
    for message, row in undecided.items():
        print_undecided(row["run"], row["agent"], message)
    code = UNDECIDED if undecided else 0 if good else 1
    if json_:
        print_json({"runs": rows, "as_expected": None if undecided else good})
        return code
    click.echo("")
    print_table(
        ["AGENT", "WHAT IT DOES", "VERDICT", "WHY", "RUN"],
        [[row["agent"], row["words"], row["status"], shortened(printable(row["why"]), 80), row["run"]] for row in rows],
    )
    click.echo(f"\nThe evidence is in {Path(rows[0]['evidence']).parent}")
    click.echo(f"Check it:   proctor verify {rows[-1]['run']}")
    click.echo(f"Look at it: proctor show {rows[-1]['run']}, proctor trace {rows[-1]['run']}")
    if not good and not undecided:
        click.echo("This is not the expected result.", err=True)
    return code
