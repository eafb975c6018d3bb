"""What every command of ``proctor pilot`` takes: the pilot file, and the folder of its plan."""

from __future__ import annotations

from pathlib import Path

import click

pilot_argument = click.argument("pilot", type=click.Path(path_type=Path))
out_option = click.option(
    "--out", "out", type=click.Path(path_type=Path), default=None, help="The plan's folder; else PILOT's, in .plan."
)
