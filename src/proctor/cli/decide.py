"""``proctor decide``: answer a run that waits for a human."""

from __future__ import annotations

import os

import click

from proctor.cli.output import as_json, print_json, printable


@click.command(epilog="Example: proctor decide 20260307T120000 deny --why 'it reads the key file' --code unsafe")
@click.argument("run")
@click.argument("decision", type=click.Choice(["approve", "deny"]))
@click.option("--why", required=True, help="The reason, in a sentence; it goes into the evidence.")
@click.option("--code", default="operator", help="A short code for the reason.")
@as_json
def command(run: str, decision: str, why: str, code: str, json_: bool) -> None:
    """Let RUN go on (approve) or end it (deny). The run must be waiting for an answer."""
    import pwd

    from proctor.base.errors import UsageFault
    from proctor.cli.wiring import home, shelf
    from proctor.conduct.operator import Answer, give_answer, open_question

    found = shelf().find(run)
    question = open_question(found)
    if question is None:
        raise UsageFault("the run does not wait for a decision", where=found.path.name)
    try:
        by = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        by = str(os.getuid())
    give_answer(home().decisions / f"{found.path.name}.json", Answer(decision, why, code, by))
    if json_:
        print_json({"run": found.path.name, "decision": decision, "question": question})
    else:
        click.echo(printable(f"{found.path.name}: {decision} ({question})"))
