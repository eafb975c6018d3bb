"""The option that says how often checks were seen to err; the same for every report."""

from __future__ import annotations

import click

oracle_option = click.option(
    "--oracle",
    metavar="A/N,R/M",
    help="Right patches that the checks accepted, of N, and faulty ones they refused, of M; corrects rates, apart.",
)
