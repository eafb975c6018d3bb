"""Options that several commands share."""

from __future__ import annotations

import click

judge_slots_option = click.option(
    "--judge-slots",
    type=click.IntRange(1, 4096),
    default=None,
    help="How many checks may run at the same time in all commands that share this home; else one per processor.",
)
