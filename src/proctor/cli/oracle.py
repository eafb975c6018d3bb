"""The option that says how often checks were seen to err; the same for every report."""

from __future__ import annotations

import click

oracle_option = click.option(
    "--oracle",
    metavar="A/N,R/M",
    help="Measured errors of the checks: A of N correct patches accepted, R of M faulty ones rejected. Adds corrected "
    "rates.",
)
