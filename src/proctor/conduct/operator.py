"""A human decides: the question stands in the trace, the answer comes from ``proctor decide``.

An answer is a small file in the home's ``decisions`` directory, outside the run: whoever may write there may decide.
It names the question that it answers, by its event: what was meant for an earlier question answers no later one. It is
read once and taken away, and what it said becomes an event. When nobody answers before the deadline, the
contract's own answer holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.frozen import frozen
from proctor.contract.model import Ask
from proctor.contract.policy import ANSWERS
from proctor.record.lock import is_held
from proctor.record.rundir import RunDirectory
from proctor.record.trace.read import read_finished_events

SCHEMA = 1
LOOK_SECONDS = 0.1
ANSWER_BYTES = 1 << 20
NOBODY = "nobody"


@frozen
class Answer:
    """What was decided: ``approve``, ``deny`` or ``rollback``, why, under which code, by whom.

    A rollback leads ``to`` a checkpoint; without one, to the last before what the question is about.
    """

    decision: str
    why: str
    code: str
    by: str
    to: str = ""

    def payload(self) -> dict[str, Any]:
        """The payload of ``operator.decided``."""
        return {"decision": self.decision, "why": self.why, "code": self.code, "by": self.by, "to": self.to}


@frozen
class Question:
    """What a run asks in the event ``seq``, and the checkpoints that it could go back to: ids with their reasons."""

    seq: int
    words: str
    checkpoints: Mapping[str, str]


def wait_for_answer(
    path: Path, asked: int, ask: Ask, stopped: Callable[[], bool], checkpoints: Collection[str] = ()
) -> Answer:
    """The answer that somebody writes to ``path`` to the question ``asked``, or the contract's own after its deadline.

    A rollback to none of the ``checkpoints`` is no answer.
    """
    deadline = time.monotonic() + ask.deadline_seconds
    while True:
        answer = take_answer(path, asked)
        if answer is not None and (not answer.to or answer.to in checkpoints):
            return answer
        if stopped():
            return Answer("deny", "the run was stopped", "stopped", NOBODY)
        if time.monotonic() >= deadline:
            why = f"nobody answered within {ask.deadline_seconds} s"
            return Answer(ask.otherwise, why, "deadline", NOBODY)
        time.sleep(LOOK_SECONDS)


def take_answer(path: Path, asked: int) -> Answer | None:
    """Read and take away the answer to the question ``asked``.

    A file that holds none, or one to another question, is taken away too; what is no file stays.
    """
    try:
        data = read_bounded(path, ANSWER_BYTES)
        path.unlink(missing_ok=True)
    except (OSError, InfrastructureFault):
        return None
    try:
        found = parse(data)
        answer = Answer(*(str(found[name]) for name in ("decision", "why", "code", "by", "to")))
    except (ValueError, KeyError, TypeError):
        return None
    return answer if answer.decision in ANSWERS and found.get("asked") == asked else None


def open_question(run: RunDirectory) -> Question | None:
    """What a live run asks at this moment, or nothing."""
    if run.seal.exists() or not run.events.exists() or not is_held(run):
        return None
    question = None
    checkpoints: dict[str, str] = {}
    for event in read_finished_events(run.events)[0]:
        if event.type == "operator.asked":
            question = event
        elif event.type == "operator.decided":
            question = None
        elif event.type == "workspace.checkpoint":
            checkpoints[str(event.payload["id"])] = str(event.payload["reason"])
            for gone in ("", *event.payload["dropped"]):
                checkpoints.pop(gone, None)
    return None if question is None else Question(question.seq, str(question.payload["question"]), checkpoints)


def give_answer(path: Path, asked: int, answer: Answer) -> None:
    """Write an answer to the question ``asked`` for the run that waits at ``path``."""
    if path.exists():
        raise UsageFault("an answer is already on its way", where=path.stem, hint="it is taken within a second")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, canonical({"schema": SCHEMA, "kind": "proctor.decision", "asked": asked, **answer.payload()}))
