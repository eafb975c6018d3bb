"""Signatures on what operators decide and do: ``operator.decided`` and ``operator.acted``.

An operator who has an identity signs the act together with the run and the number that it answers, so that a signature
holds for one act of one run only. The event carries the public half and the signature. An act without a signature is
valid too: a user who may write to the home may decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from proctor.base.errors import UsageFault
from proctor.record.identity import Identity, Person, read_person
from proctor.record.problems import Problem
from proctor.record.trace.event import Event

PURPOSE = "proctor operator"
COMPARISON = "signature"
SIGNED = {
    "operator.decided": ("decision", "why", "code", "by", "to"),
    "operator.acted": ("action", "why", "code", "by"),
}
"""The keys of each type of event that a signature covers, besides the run and the number that the act answers."""


def signed(identity: Identity | None, run: str, answers: int, act: Mapping[str, str]) -> dict[str, Any]:
    """The keys ``signer`` and ``signature`` of an act in ``run``, empty without an identity.

    ``answers`` is the number of the question, or of the request.
    """
    if identity is None:
        return {"signer": "", "signature": ""}
    return {"signer": str(identity.person), "signature": identity.sign(PURPOSE, _value(run, answers, act))}


def signature_problems(run: str, events: Iterable[Event]) -> Iterator[Problem]:
    """What is wrong with the signatures of a run's operators."""
    asked = -1
    for event in events:
        if event.type == "operator.asked":
            asked = event.seq
        names = SIGNED.get(event.type)
        if names is None:
            continue
        answers = asked if event.type == "operator.decided" else int(event.payload["request"])
        act = {name: str(event.payload.get(name, "")) for name in names}
        signer, signature = (str(event.payload.get(name, "")) for name in ("signer", "signature"))
        problem = signature_problem(run, answers, act, signer, signature)
        if problem:
            yield Problem(f"events.jsonl#{event.seq}", problem, COMPARISON)


def signers(events: Iterable[Event]) -> Iterator[tuple[Event, Person]]:
    """The signed acts of operators and who signed each; anyone can make an identity with any name."""
    for event in events:
        if event.type in SIGNED and event.payload.get("signature"):
            yield event, read_person(str(event.payload["signer"]))


def signature_problem(run: str, answers: int, act: Mapping[str, str], signer: str, signature: str) -> str:
    """What is wrong with the signature of one act; empty if it holds, or if the act has none."""
    if not signer and not signature:
        return ""
    try:
        person = read_person(signer)
    except UsageFault:
        return "the signer is not a public identity"
    if person.name != act["by"]:
        return f"the act is signed by {person.name} and not by {act['by']}"
    if not person.signed(PURPOSE, _value(run, answers, act), signature):
        return "the signature of the operator does not hold"
    return ""


def _value(run: str, answers: int, act: Mapping[str, str]) -> dict[str, Any]:
    return {"run": run, "answers": answers, **act}
