"""Exit codes of commands about runs: runs without a verdict, and runs whose evidence is not intact.

The exit code of a command over several runs is the largest of its parts: 0 as expected, 1 a negative verdict, 2 usage
or a bad contract, 3 no verdict because of the machine or the provider, 4 broken evidence. A run without a verdict never
counts as a negative verdict.

A command about a run exits with 4 if the run was changed after its seal, has no seal, or has the id of another run. A
run that is in progress has no seal yet; commands that accept such a run pass ``live``.
"""

from __future__ import annotations

import shlex

import click

from proctor.base.errors import BrokenSeal, InfrastructureFault
from proctor.cli.output import printable
from proctor.record.report_model import Report
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.verify import Verification, verify

USAGE, UNDECIDED = 2, 3
NO_VERDICT = "no verdict, because of this machine or its set-up"
HINT = "fix the machine and start again; proctor doctor checks what a run needs"


MACHINE, MODEL, AGENT = "machine", "model", "agent"
_MESSAGES = {
    MACHINE: (NO_VERDICT, HINT),
    MODEL: (
        "no verdict, because of the model's provider or its set-up",
        "check --model, --endpoint and the key, or start again when the provider is available",
    ),
    AGENT: ("no verdict, because of the agent's command line", "a program must be inside the sandbox"),
}


def cause_of(report: Report) -> str:
    """What kept a run from its verdict."""
    if report.termination.reason == "not-started":
        return AGENT
    return MODEL if report.conversation and report.conversation.outage else MACHINE


def print_undecided(run: str, contract: str, why: str, cause: str = MACHINE) -> None:
    """Print a run without a verdict, the cause, and what to do next to standard error."""
    message, hint = _MESSAGES[cause]
    click.echo(printable(f"proctor: {contract}: {message}: {why}"), err=True)
    click.echo(printable(f"  {hint}; proctor show {run} has the details"), err=True)


def no_verdict(what: str, why: str) -> InfrastructureFault:
    """The error of a command that needs one verdict and got none."""
    return InfrastructureFault(f"{NO_VERDICT}: {why}", where=what, hint=HINT)


def evidence_problem(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> BrokenSeal | None:
    """What is wrong with the evidence of ``run``; ``None`` if it is intact, or in progress and ``live`` is set."""
    result = found or verify(run)
    if result.sound or (live and result.status == "unsealed" and is_held(run)):
        return None
    problem = result.problems[-1 if result.status == "unsealed" else 0]  # of a run that was cut off: no seal
    return BrokenSeal(
        f"do not trust this: the run is {result.status}: {problem.message}",
        where=f"{run.path.name}/{problem.where}",
        hint=f"proctor verify {shlex.quote(str(run.path))} lists everything that is wrong",
    )


def require_evidence(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> None:
    """Refuse a run whose evidence is not intact."""
    problem = evidence_problem(run, found, live=live)
    if problem is not None:
        raise problem
