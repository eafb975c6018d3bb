"""``proctor pilot``: plan a comparison before it is run, then run it as it was planned."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.output import as_json, counted, print_json

pilot_argument = click.argument("pilot", type=click.Path(path_type=Path))
out_option = click.option(
    "--out", "out", type=click.Path(path_type=Path), default=None, help="The plan's folder; else PILOT's, in .plan."
)


@click.group(epilog="Example: proctor pilot plan pilot.yaml")
def command() -> None:
    """Pilots: who is compared on what, how often and under which rules, frozen before the first run."""


@command.command(epilog="Example: proctor pilot plan pilot.yaml --out plan")
@pilot_argument
@out_option
@as_json
def plan(pilot: Path, out: Path | None, json_: bool) -> None:
    """Freeze the pilot file PILOT: randomised order, power, projected cost, and one digest for all of it.

    Planning again gives the same bytes. A pilot that has changed since is refused; `proctor pilot amend` puts a change
    on record.
    """
    from proctor.cli.planned import draft
    from proctor.cli.wiring import machine
    from proctor.study.pilot.artefacts import make_artefacts
    from proctor.study.pilot.plan import freeze, plan_folder

    made = draft(machine(), pilot)
    frozen = freeze(out or plan_folder(made.pilot), made.protocol, make_artefacts(made.protocol))
    if json_:
        print_json({"pilot": frozen.digest, "folder": str(frozen.folder), "runs": len(frozen.slots)})
        return
    click.echo(f"pilot {frozen.digest}: {counted(len(frozen.slots), 'run')}")
    for words in frozen.deviations:
        click.echo(f"deviation: {words}")
    click.echo(f"plan: {frozen.folder}")
