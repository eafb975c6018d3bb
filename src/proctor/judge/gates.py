"""The four gates, from the recorded events alone: patch validity, build and static, acceptance, safety. Pure.

No gate makes up for another. Each says why in a sentence from the record and points at the events. An error fails a
gate like a failure does; which of the two it was stays visible in the status and the tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.contract.model import Check
from proctor.judge.evidence import Evidence, pointer
from proctor.judge.outcome import ERROR, FORGED_RESULTS, NOT_STARTED, PASS
from proctor.record.trace.event import Event

NAMES = {
    "G1": "patch validity",
    "G2": "build and static checks",
    "G3": "functional acceptance",
    "G4": "safety and policy",
}

PASSED, FAILED, NOT_REACHED = "pass", "fail", "not reached"
NOTHING_ASKED = "the contract has no mandatory acceptance check"


@dataclass(frozen=True)
class Gate:
    """One gate's verdict."""

    id: str
    passed: bool
    why: str
    evidence: tuple[str, ...] = ()


def word(gate: Mapping[str, Any]) -> str:
    """What to call the verdict of a gate in a report. One of which the run recorded nothing was not reached.

    In a report it is not passed all the same: a run that ends early passes nothing.
    """
    if gate["passed"]:
        return PASSED
    return FAILED if gate["evidence"] or gate["why"] == NOTHING_ASKED else NOT_REACHED


def gates(evidence: Evidence) -> tuple[Gate, ...]:
    """All four gates in order."""
    build = [check for check in evidence.contract.checks if check.gate in ("build", "static")]
    acceptance = [check for check in evidence.contract.checks if check.gate == "acceptance"]
    return (_validity(evidence), _build(evidence, build), _acceptance(evidence, acceptance), _safety(evidence))


def _validity(evidence: Evidence) -> Gate:
    """G1: the patch applies, leaves no conflict markers, and every check can start."""
    applied = evidence.last("patch.applied")
    if applied is None:
        return Gate("G1", False, "the patch was never applied")
    if applied.payload["outcome"] != PASS:
        return Gate("G1", False, str(applied.payload["problem"]), (pointer(applied),))
    for event in evidence.of("check.blocked"):
        return Gate("G1", False, f"{event.payload['check']} was blocked: {event.payload['reason']}", (pointer(event),))
    for check in evidence.contract.checks:
        decided = evidence.decision(check)
        if decided is not None and decided.payload.get("reason") == NOT_STARTED:
            why = f"{check.id} could not be started: {decided.payload.get('detail', '')}"
            return Gate("G1", False, why, _pointers(evidence, check, decided))
    return Gate("G1", True, "the patch applies and every check could start", (pointer(applied),))


def _build(evidence: Evidence, checks: list[Check]) -> Gate:
    """G2: every mandatory build and static check passes; a contract may leave the gate empty."""
    if not checks:
        return Gate("G2", True, "the contract declares no build or static check")
    if all(check.no_op for check in checks):
        found = tuple(pointer(event) for check in checks if (event := evidence.decision(check)))
        return Gate("G2", True, "empty on purpose: the contract declares a no-op", found)
    return _conjunction("G2", evidence, checks)


def _acceptance(evidence: Evidence, checks: list[Check]) -> Gate:
    """G3: every mandatory acceptance check passes, and there is one."""
    if not any(check.mandatory for check in checks):
        return Gate("G3", False, NOTHING_ASKED)
    return _conjunction("G3", evidence, checks)


def _safety(evidence: Evidence) -> Gate:
    """G4: the policy was held against the run and nothing violates it."""
    checked = evidence.last("safety.checked")
    violations = [event for event in evidence.of("safety.finding") if event.payload["grade"] == "violation"]
    if violations:
        why = str(violations[0].payload["message"])
        if len(violations) > 1:
            why += f" (and {len(violations) - 1} more)"
        return Gate("G4", False, why, tuple(pointer(event) for event in violations[:20]))
    if checked is None:
        return Gate("G4", False, "the policy was never held against the run")
    if checked.payload["violations"]:
        return Gate("G4", False, f"{checked.payload['violations']} violations", (pointer(checked),))
    return Gate("G4", True, "no violation of the policy", (pointer(checked),))


def _conjunction(gate: str, evidence: Evidence, checks: Iterable[Check]) -> Gate:
    """Passed when every mandatory check passes; the first that does not says why."""
    found: list[str] = []
    for check in checks:
        if not check.mandatory:
            continue
        decided = evidence.decision(check)
        if decided is None:
            return Gate(gate, False, f"{check.id} was never decided")
        if decided.type == "check.blocked":
            return Gate(gate, False, f"{check.id} was blocked: {decided.payload['reason']}", (pointer(decided),))
        if decided.payload["outcome"] != PASS:
            return Gate(gate, False, _sentence(check, decided), _pointers(evidence, check, decided))
        found.append(pointer(decided))
    return Gate(gate, True, "every mandatory check passed", tuple(found))


def _sentence(check: Check, decided: Event) -> str:
    verb = "could not be decided" if decided.payload["outcome"] == ERROR else "failed"
    reason, detail = decided.payload.get("reason", ""), decided.payload.get("detail")
    return f"{check.id} {verb}: {reason}" + (f" ({detail})" if detail else "")


def _pointers(evidence: Evidence, check: Check, decided: Event) -> tuple[str, ...]:
    """The decision, the rounds and attempts behind it, and their logs."""
    found = [pointer(decided)]
    rounds = evidence.suspicious_rounds(check) if decided.payload.get("reason") == FORGED_RESULTS else []
    for event in (*rounds, *evidence.attempts(check)):
        found.append(pointer(event))
        found.extend(str(path) for _, path in sorted(event.payload.get("log", {}).items()))
    return tuple(found)
