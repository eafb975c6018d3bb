"""Runs that this machine could not judge: the messages and the exit code of commands.

The exit code of a command over several runs is the largest of its parts: 0 as expected, 1 a negative verdict, 2 usage
or a bad contract, 3 no verdict because of the machine, 4 broken evidence. A run without a verdict never counts as a
negative verdict.
"""

from __future__ import annotations

import click

from proctor.base.errors import InfrastructureFault
from proctor.cli.output import printable

UNDECIDED = 3
NO_VERDICT = "no verdict, because of this machine or its set-up"
HINT = "fix the machine and start again; proctor doctor checks what a run needs"


def tell_undecided(run: str, contract: str, why: str) -> None:
    """Print a run without a verdict, the cause, and what to do next to standard error."""
    click.echo(printable(f"proctor: {contract}: {NO_VERDICT}: {why}"), err=True)
    click.echo(printable(f"  {HINT}; proctor show {run} has the details"), err=True)


def no_verdict(what: str, why: str) -> InfrastructureFault:
    """The error of a command that needs one verdict and got none."""
    return InfrastructureFault(f"{NO_VERDICT}: {why}", where=what, hint=HINT)
