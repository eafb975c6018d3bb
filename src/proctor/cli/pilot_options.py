"""What every command of ``proctor pilot`` takes: the pilot file, and the folder of its plan."""

from __future__ import annotations

from pathlib import Path

import click

from proctor.cli.options import Renamed

pilot_argument = click.argument("pilot", type=click.Path(path_type=Path))
plan_option = click.option(
    "--plan",
    "plan_",
    cls=Renamed,
    former=["--out"],
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder of the plan.  [default: PILOT with the suffix .plan]",
)
