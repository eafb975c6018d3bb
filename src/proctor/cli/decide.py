"""``proctor decide``: answer a run that waits for a human."""

from __future__ import annotations

import os

import click

from proctor.cli.evidence import require_evidence
from proctor.cli.output import as_json, print_json, printable


@click.command(epilog="Example: proctor decide 20260307T120000 deny --why 'it reads the key file' --code unsafe")
@click.argument("run")
@click.argument("decision", type=click.Choice(["approve", "deny", "rollback"]))
@click.option("--why", required=True, help="The reason, in a sentence; it goes into the evidence.")
@click.option("--code", default="operator", help="A short code for the reason.")
@click.option(
    "--to", default="", metavar="CHECKPOINT", help="Where a rollback leads; else before what was asked about."
)
@as_json
def command(run: str, decision: str, why: str, code: str, to: str, json_: bool) -> None:
    """Let RUN go on (approve), end it (deny), or bring its workspace back and let it go on (rollback).

    The run must be waiting for an answer. `proctor trace RUN --type workspace.checkpoint` lists the checkpoints.
    """
    import pwd

    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import home, shelf
    from proctor.conduct.operator import Answer, give_answer, open_question

    found = shelf().find(run)
    question = open_question(found)
    if question is None:
        require_evidence(found, live=True)
        hint = (
            "a run waits from its operator.asked to its operator.decided: see proctor trace RUN --type operator.asked"
        )
        raise UsageFault("the run does not wait for a decision", where=found.path.name, hint=hint)
    if to and decision != "rollback":
        raise UsageFault(f"--to belongs to a rollback, not to {decision!r}")
    if decision == "rollback" and (not question.checkpoints or (to and to not in question.checkpoints)):
        there = ", ".join(f"{name} ({reason})" for name, reason in question.checkpoints.items())
        words = f"the run has no checkpoint {to!r}" if to else "the run has no checkpoint to go back to"
        raise UsageFault(words, where=found.path.name, hint=f"there are: {there}" if there else "approve or deny")
    try:
        by = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        by = str(os.getuid())
    give_answer(home().decisions / f"{found.path.name}.json", question.seq, Answer(decision, why, code, by, to))
    if json_:
        print_json({"run": found.path.name, "decision": decision, "to": to, "question": question.words})
    else:
        click.echo(printable(f"{found.path.name}: {decision} ({question.words})"))
