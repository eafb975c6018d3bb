"""``proctor decide``: answer a run that waits for an operator; stop, pause or resume any running run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.process import user_name
from proctor.cli.exit_codes import require_evidence
from proctor.cli.options import Renamed, complete_runs
from proctor.cli.output import as_json, print_json, printable
from proctor.cli.wiring import home, run_store
from proctor.conduct.run.control import Request, give_request, next_number, result_of
from proctor.conduct.run.operator_answers import (
    TAKEN_SECONDS,
    Answer,
    decided_before,
    decision_on,
    give_answer,
    last_decision,
    open_question,
)
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.signing.operator_identity import Identity, act_signature, load_identity

ANSWERS = ("approve", "deny", "rollback")
ACTIONS = ("stop", "pause", "resume")
CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


@click.command(epilog="Example: proctor decide last deny --why 'it reads the key file' --code unsafe")
@click.argument("run", shell_complete=complete_runs)
@click.argument("decision", type=click.Choice([*ANSWERS, *ACTIONS]))
@click.option("--why", required=True, help="The reason, in a sentence; it is recorded in the evidence.")
@click.option("--code", default="operator", help="A short code for the reason.")
@click.option(
    "--checkpoint",
    "to",
    cls=Renamed,
    former=["--to"],
    default="",
    metavar="CHECKPOINT",
    help="The checkpoint of a rollback.  [default: the one before the question]",
)
@click.option(
    "--identity",
    "identity_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Sign with this private identity (see proctor vault identity).",
)
@as_json
def command(run: str, decision: str, why: str, code: str, to: str, identity_file: Path | None, json_: bool) -> None:
    """Answer, stop, pause or resume a run as an operator.

    A run that waits for an answer continues (approve), ends (deny), or continues with an earlier state of its workspace
    (rollback). `proctor trace RUN --type workspace.checkpoint` lists the checkpoints.

    Any running run can be ended (stop). Its agent can be frozen (pause) and can continue (resume); the
    pause does not count as time of the agent.
    """
    if not why.strip():
        raise UsageFault("the reason is empty", where="--why", hint="say why in a sentence")
    if not CODE.fullmatch(code):
        raise UsageFault(f"not a code: {code[:40]!r}", where="--code", hint="small letters, digits and -")
    if to and decision != "rollback":
        raise UsageFault(f"--checkpoint can only be combined with rollback, not with {decision!r}")
    identity = load_identity(identity_file) if identity_file else None
    found = run_store().find(run)
    decide = _answer if decision in ANSWERS else _act
    about = decide(found, decision, why, code, to, identity)
    if json_:
        print_json({"run": found.path.name, "decision": decision, "to": to, "question": about})
    else:
        click.echo(printable(f"{found.path.name}: {decision} ({about})" if about else f"{found.path.name}: {decision}"))


def _answer(run: RunDirectory, decision: str, why: str, code: str, to: str, identity: Identity | None) -> str:
    """Answer the open question of ``run``; returns the question."""
    question = open_question(run)
    if question is None:
        before = last_decision(run)
        if before is not None:
            raise decided_before(before)
        _require_live(run)
        hint = (
            "a run waits from its operator.asked to its operator.decided: see proctor trace RUN --type operator.asked"
        )
        raise UsageFault("the run does not wait for a decision", where=run.path.name, hint=hint)
    if decision == "rollback" and (not question.checkpoints or (to and to not in question.checkpoints)):
        there = ", ".join(f"{name} ({reason})" for name, reason in question.checkpoints.items())
        message = f"the run has no checkpoint {to!r}" if to else "the run has no checkpoint to go back to"
        raise UsageFault(message, where=run.path.name, hint=f"there are: {there}" if there else "approve or deny")
    answer = Answer(decision, why, code, _operator(identity), to)
    answer = replace(answer, **act_signature(identity, run.path.name, question.seq, answer.act()))
    give_answer(home().decisions / run.path.name, question.seq, answer)
    decided = decision_on(run, question.seq, TAKEN_SECONDS)
    if decided is None:
        hint = f"proctor trace {run.path.name} --type operator.decided shows whether it did later"
        raise InfrastructureFault(
            f"the run did not take the answer within {TAKEN_SECONDS} s", where=run.path.name, hint=hint
        )
    if decided.act() != answer.act():
        raise decided_before(decided)
    return question.text


def _act(run: RunDirectory, action: str, why: str, code: str, to: str, identity: Identity | None) -> str:
    """Ask ``run`` to stop, to pause or to resume, and wait until it has."""
    _require_live(run)
    directory, name = home().decisions / run.path.name, run.path.name
    while True:
        request = Request(next_number(directory), action, why, code, _operator(identity))
        request = replace(request, **act_signature(identity, name, request.number, request.act()))
        if give_request(directory, request):
            break
    result = result_of(run, request.number, TAKEN_SECONDS)
    if result is None:
        hint = f"proctor trace {name} --type operator.acted shows whether it did later"
        raise InfrastructureFault(f"the run did not {action} within {TAKEN_SECONDS} s", where=name, hint=hint)
    if not result["done"]:
        raise UsageFault(f"nothing was done: {result['problem']}", where=name)
    return ""


def _require_live(run: RunDirectory) -> None:
    """Refuse a run that has ended, and name those that have not."""
    if not run.seal.exists() and is_held(run):
        return
    require_evidence(run, live=True)
    runs = run_store()
    live = [name for name in runs.ids() if is_held(RunDirectory(runs.runs / name))]
    others = f"in progress: {', '.join(live)}" if live else "no run is in progress"
    hint = f"{others}; while inverted tests are made, no run has begun yet"
    raise UsageFault("the run has ended", where=run.path.name, hint=hint)


def _operator(identity: Identity | None) -> str:
    """The name of the operator who decides."""
    return identity.person.name if identity is not None else user_name()
