"""The status of a run: success, failure, acceptance-error or invalid, and to whom what went wrong belongs. Pure.

    invalid            evidence is missing or does not agree: incomplete manifest, another tree than promised, a fault
                       of harness or machine, gaps in the trace, acceptance not finished, ended for safety before it
    acceptance-error   a mandatory check ended in an error
    failure            none did, and some gate was not passed
    success            every gate was passed

An invalid run is neither success nor failure. A run that ended for want of time is still judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.judge.evidence import Evidence
from proctor.judge.gates import Gate
from proctor.judge.outcome import ERROR, PASS
from proctor.record.completeness import check_completeness
from proctor.record.manifest import check_manifest

SUCCESS, FAILURE, ACCEPTANCE_ERROR, INVALID = "success", "failure", "acceptance-error", "invalid"
AGENT, HARNESS, NOBODY = "agent", "harness", "nobody"
NEVER_CALLED = "the agent never called its model"
SAFETY_CODES = ("safety", "quarantine")
"""How the codes begin with which a run is ended for safety."""


@dataclass(frozen=True)
class Status:
    """The status, whose doing it is, and for an invalid run every problem that makes it so."""

    status: str
    attribution: str
    problems: tuple[str, ...] = ()


def is_machine_fault(report: Mapping[str, Any]) -> bool:
    """Whether the machine or the harness kept a run from its verdict, so it says nothing about agent or contract."""
    return report["status"] in (INVALID, ACCEPTANCE_ERROR) and report["attribution"] == HARNESS


def is_repeatable(report: Mapping[str, Any]) -> bool:
    """Whether a run is invalid for a reason that is neither the agent's doing nor an operator's."""
    return report["status"] == INVALID and report["attribution"] not in (AGENT, NOBODY)


def status(evidence: Evidence, gates: Sequence[Gate]) -> Status:
    """The status of a run."""
    ended = _safety_termination(evidence)
    problems = (*ended, *_problems(evidence))
    if problems:
        return Status(INVALID, AGENT if ended else NOBODY if _stopped(evidence) else HARNESS, problems)
    errors = []
    for check in evidence.contract.checks:
        decided = evidence.decision(check)
        if check.mandatory and decided is not None and decided.payload.get("outcome") == ERROR:
            errors.append(str(decided.payload["attribution"]))
    if errors and _applied(evidence):
        whose = next((one for one in (AGENT, HARNESS) if one in errors), NOBODY)
        return Status(ACCEPTANCE_ERROR, whose)
    if not all(gate.passed for gate in gates):
        return Status(FAILURE, AGENT)
    return Status(SUCCESS, NOBODY)


def _problems(evidence: Evidence) -> Iterator[str]:
    """Everything for which the evidence cannot carry a verdict."""
    yield from (f"manifest: {problem}" for problem in check_manifest(evidence.manifest))
    identity = evidence.last("run.identity")
    if identity is None:
        yield "the workspace was never compared with what the manifest names"
    elif identity.payload["match"] is not True:
        yield "the workspace at the start was not the one that the manifest names"
    for event in evidence.of("run.fault"):
        yield f"fault while {event.payload['phase']}: {event.payload['message']}"
    if evidence.last("patch.extracted") is None:
        yield "no patch was taken from the workspace"
    if evidence.last("safety.checked") is None:
        yield "the policy was never held against the run"
    undecided = [check.id for check in evidence.contract.checks if evidence.decision(check) is None]
    if evidence.last("patch.applied") is None:
        yield "acceptance did not take place"
    elif undecided:
        yield f"acceptance was not finished: no decision on {', '.join(undecided[:5])}"
    if evidence.results is not None or evidence.changes is not None:
        gaps = check_completeness(evidence.events, evidence.changes, evidence.results)
        yield from (f"trace: {gap}" for gap in gaps[:20])


def _safety_termination(evidence: Evidence) -> tuple[str, ...]:
    """An end for the sake of safety, unless the judge had already begun."""
    for event in evidence.of("run.terminated", "patch.applied"):
        if event.type == "patch.applied":
            break
        if str(event.payload["code"]).startswith(SAFETY_CODES):
            return (f"ended for safety: {event.payload['rationale']}",)
    return ()


def _stopped(evidence: Evidence) -> bool:
    """Whether an operator ended the run, and nothing had broken."""
    ended = evidence.last("run.terminated")
    return ended is not None and ended.payload["code"] == "operator" and evidence.last("run.fault") is None


def _applied(evidence: Evidence) -> bool:
    applied = evidence.last("patch.applied")
    return applied is not None and applied.payload["outcome"] == PASS
