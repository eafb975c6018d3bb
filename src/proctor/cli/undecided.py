"""Runs without a verdict, because of this machine, the model's provider or the agent's command line.

The exit code of a command over several runs is the largest of its parts: 0 as expected, 1 a negative verdict, 2 usage
or a bad contract, 3 no verdict because of the machine or the provider, 4 broken evidence. A run without a verdict never
counts as a negative verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from proctor.base.errors import InfrastructureFault
from proctor.cli.output import printable

USAGE, UNDECIDED = 2, 3
NO_VERDICT = "no verdict, because of this machine or its set-up"
HINT = "fix the machine and start again; proctor doctor checks what a run needs"


MACHINE, MODEL, AGENT = "machine", "model", "agent"
_SAID = {
    MACHINE: (NO_VERDICT, HINT),
    MODEL: (
        "no verdict, because of the model's provider or its set-up",
        "check --model, --endpoint and the key, or start again when the provider is well",
    ),
    AGENT: ("no verdict, because of the agent's command line", "a program must be inside the sandbox"),
}


def cause_of(report: Mapping[str, Any]) -> str:
    """What kept a run from its verdict."""
    if report["termination"]["reason"] == "not-started":
        return AGENT
    return MODEL if (report.get("conversation") or {}).get("outage") else MACHINE


def tell_undecided(run: str, contract: str, why: str, cause: str = MACHINE) -> None:
    """Print a run without a verdict, the cause, and what to do next to standard error."""
    said, hint = _SAID[cause]
    click.echo(printable(f"proctor: {contract}: {said}: {why}"), err=True)
    click.echo(printable(f"  {hint}; proctor show {run} has the details"), err=True)


def no_verdict(what: str, why: str) -> InfrastructureFault:
    """The error of a command that needs one verdict and got none."""
    return InfrastructureFault(f"{NO_VERDICT}: {why}", where=what, hint=HINT)
