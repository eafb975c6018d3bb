"""A human decides: the question is in the trace, the answer comes from ``proctor decide``.

An answer is a small file below the home's ``decisions`` directory, outside the run: a user who may write there may
decide. It is named after the run and the event of the question, and can be made only once: if several operators answer
at the same time, one decides, and the others get a message that names this operator. The file stays until the run ends,
and the answer becomes an event. If no operator answers before the deadline, the contract's own answer holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.contract.model import Ask
from proctor.contract.policy import ANSWERS
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.signing.operator_identity import signature_problem
from proctor.record.trace.reader import read_finished_events

SCHEMA = 1
LOOK_SECONDS = 0.1
ANSWER_BYTES = 1 << 20
NOBODY = "nobody"
WITHDRAWN = "withdrawn"
"""The decision on a question that needs no answer any more."""
TAKEN_SECONDS = 30
"""How long an operator waits at most until the run has taken the answer; a busy machine needs some of it."""


@dataclass(frozen=True)
class Answer:
    """What was decided: ``approve``, ``deny`` or ``rollback``, why, under which code, by whom.

    A rollback leads ``to`` a checkpoint; without one, to the last before what the question is about. The event of the
    answer has the chosen checkpoint under a key of its own, because a signature covers ``to`` as it was given.
    """

    decision: str
    why: str
    code: str
    by: str
    to: str = ""
    signer: str = ""
    signature: str = ""

    def act(self) -> dict[str, str]:
        """What a signature covers, in addition to the run and the question."""
        return {"decision": self.decision, "why": self.why, "code": self.code, "by": self.by, "to": self.to}

    def payload(self) -> dict[str, Any]:
        """The payload of ``operator.decided``."""
        return {**self.act(), "signer": self.signer, "signature": self.signature}


@dataclass(frozen=True)
class Question:
    """What a run asks in the event ``seq``, and the checkpoints that it could go back to: ids with their reasons."""

    seq: int
    text: str
    checkpoints: Mapping[str, str]


def answer_path(directory: Path, asked: int) -> Path:
    """The file with the answer to the question ``asked``; the answers to the run's questions are in ``directory``."""
    return directory / f"{asked}.json"


def wait_for_answer(
    directory: Path, asked: int, ask: Ask, ended: Callable[[], str], checkpoints: Collection[str] = ()
) -> Answer:
    """The answer of an operator to the question ``asked``, or the contract's own after its deadline.

    The question is withdrawn once ``ended``, which is called many times a second, returns a reason.

    A rollback to anything but one of the ``checkpoints`` is not an answer, and is removed; so is an answer whose
    signature does not hold. The ``directory`` is named after the run.
    """
    deadline = time.monotonic() + ask.deadline_seconds
    path = answer_path(directory, asked)
    while True:
        answer = read_answer(path)
        if answer is not None and (not answer.to or answer.to in checkpoints) and _holds(directory.name, asked, answer):
            return answer
        if answer is not None:
            path.unlink(missing_ok=True)
        why = ended()
        if why:
            return Answer(WITHDRAWN, why, "ended", NOBODY)
        if time.monotonic() >= deadline:
            why = f"no operator answered within {ask.deadline_seconds} s"
            return Answer(ask.otherwise, why, "deadline", NOBODY)
        time.sleep(LOOK_SECONDS)


def _holds(run: str, asked: int, answer: Answer) -> bool:
    return not signature_problem(run, asked, answer.act(), answer.signer, answer.signature)


def read_answer(path: Path) -> Answer | None:
    """The answer at ``path``. A file without an answer is removed; anything but a file is left alone."""
    try:
        data = read_bounded(path, ANSWER_BYTES)
    except (OSError, InfrastructureFault):
        return None
    try:
        answer = _answer_in(parse(data))
    except (ValueError, KeyError, TypeError):
        answer = None
    if answer is None or answer.decision not in ANSWERS:
        path.unlink(missing_ok=True)
        return None
    return answer


def _answer_in(found: Mapping[str, Any]) -> Answer:
    names = ("decision", "why", "code", "by", "to", "signer", "signature")
    return Answer(*(str(found[name]) for name in names))


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


def give_answer(directory: Path, asked: int, answer: Answer) -> None:
    """Answer the question ``asked``, unless another operator was first; ``directory`` is that of the run's answers."""
    path = answer_path(directory, asked)
    own = path.with_name(f".{os.urandom(8).hex()}")
    directory.mkdir(parents=True, exist_ok=True)
    write_whole(own, canonical({"schema": SCHEMA, "kind": "proctor.decision", "asked": asked, **answer.payload()}))
    try:
        os.link(own, path)
    except FileExistsError:
        raise decided_before(read_answer(path)) from None
    finally:
        own.unlink(missing_ok=True)


def decided_before(answer: Answer | None) -> UsageFault:
    """The message for an operator who answers too late."""
    said = f"{answer.decision}, by {answer.by}: {answer.why}" if answer else "by another operator"
    return UsageFault(f"the question was decided before: {said}", hint="proctor trace RUN --type operator.decided")


def last_decision(run: RunDirectory) -> Answer | None:
    """What an operator decided last in ``run``; ``None`` if no operator has, or if the question was withdrawn."""
    events = read_finished_events(run.events)[0] if run.events.exists() else ()
    found = [event for event in events if event.type == "operator.decided"]
    answer = _answer_in(found[-1].payload) if found else None
    return answer if answer is not None and answer.by != NOBODY else None


def decision_on(run: RunDirectory, asked: int, seconds: float) -> Answer | None:
    """What became of the question ``asked``, once the run has taken an answer; ``None`` if it takes none in time."""
    deadline = time.monotonic() + seconds
    while True:
        for event in read_finished_events(run.events)[0]:
            if event.type == "operator.decided" and event.seq > asked:
                return _answer_in(event.payload)
        if time.monotonic() >= deadline:
            return None
        time.sleep(LOOK_SECONDS)
