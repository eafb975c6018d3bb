"""Signatures of operators: they hold for one act of one run."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.record.signing.operator_identity import act_signature, new_identity, signature_problems
from proctor.record.trace.event import Event

ALICE = new_identity("alice", bytes(32))
ACT = {"action": "stop", "why": "enough", "code": "seen", "by": "alice"}
ANSWER = {"decision": "deny", "why": "no", "code": "seen", "by": "alice", "to": ""}


def acted(**changes: Any) -> list[Event]:
    payload = {**ACT, "request": 3, **act_signature(ALICE, "run", 3, ACT), **changes}
    return [Event(7, "1", "operator.acted", "operator", payload, "", "")]


def decided(asked: int = 4, **changes: Any) -> list[Event]:
    payload = {**ANSWER, **act_signature(ALICE, "run", asked, ANSWER), **changes}
    return [
        Event(4, "1", "operator.asked", "operator", {}, "", ""),
        Event(7, "1", "operator.decided", "operator", payload, "", ""),
    ]


def problems(events: list[Event], run: str = "run") -> list[str]:
    return [f"{one.where}: {one.message}" for one in signature_problems(run, events)]


def test_a_signed_act_and_one_without_a_signature_are_right() -> None:
    assert act_signature(None, "run", 3, ACT) == {"signer": "", "signature": ""}
    assert problems(acted()) == problems(decided()) == problems(acted(signer="", signature="")) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"why": "more"}, "the signature of the operator is not valid"),
        ({"request": 4}, "the signature of the operator is not valid"),
        ({"signature": "00"}, "the signature of the operator is not valid"),
        ({"signature": ""}, "the signature of the operator is not valid"),
        ({"signer": ""}, "the signer is not a public identity"),
        ({"signer": "mallory"}, "the signer is not a public identity"),
        ({"by": "bob"}, "the act is signed by alice and not by bob"),
    ],
)
def test_a_changed_act_is_found(changes: dict[str, Any], problem: str) -> None:
    assert problems(acted(**changes)) == [f"events.jsonl#7: {problem}"]


def test_a_signature_holds_for_one_run_and_one_question_only() -> None:
    wrong = ["events.jsonl#7: the signature of the operator is not valid"]
    assert problems(acted(), run="other") == problems(decided(), run="other") == problems(decided(asked=3)) == wrong
