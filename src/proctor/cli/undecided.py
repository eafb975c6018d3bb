"""Runs that this machine could not judge: what commands say of them, and the exit code that they give.

The exit code of a command over several runs is the largest that any of its parts gives: 0 as wanted, 1 a negative
verdict, 2 usage or a bad contract, 3 no verdict for reasons of the machine, 4 broken evidence. A run without a verdict
is never counted as a negative one.
"""

from __future__ import annotations

import click

from proctor.base.errors import InfrastructureFault
from proctor.cli.output import printable

UNDECIDED = 3
NO_VERDICT = "no verdict, for reasons of this machine or its set-up"
HINT = "mend the machine and start again; proctor doctor tries what a run needs"


def tell_undecided(run: str, contract: str, why: str) -> None:
    """Name a run without a verdict, the cause, and what to do next, on the error output."""
    click.echo(
        printable(f"proctor: {contract}: no verdict, for reasons of this machine or its set-up: {why}"), err=True
    )
    click.echo(printable(f"  {HINT}; proctor show {run} has the details"), err=True)


def no_verdict(what: str, why: str) -> InfrastructureFault:
    """The error of a command that asked for one verdict and got none."""
    return InfrastructureFault(f"{NO_VERDICT}: {why}", where=what, hint=HINT)
