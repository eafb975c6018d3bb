"""Compute the report of a run again from its directory, and verify everything that follows from the rest.

``record.verify`` checks bytes, the chain, and whether the records agree. For an intact run, this module also computes
the judge's comparisons and the whole report. If payloads were removed, nothing more can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import BrokenSeal, ContractError, UsageFault
from proctor.base.json_records import OTHER_FORM
from proctor.conduct.briefing import brief
from proctor.judge.evidence_consistency import disagreements
from proctor.judge.evidence_consistency.compared_run import Subject, differs, place
from proctor.judge.evidence_consistency.sealed_report import Rescoring, by_current_rules, rescored
from proctor.judge.run_evidence import Evidence, read_evidence
from proctor.record.retain import require_payloads
from proctor.record.run_directory import Problem, RunDirectory, is_held
from proctor.record.schema_versions import REPORT, check_version
from proctor.record.seal import load_seal
from proctor.record.signing.operator_identity import Person, signature_problems, signers
from proctor.record.trace.event import Event
from proctor.record.verify import MOST_PROBLEMS, Verification, verify

LOG_BYTES = 64 << 20


@dataclass(frozen=True)
class Recomputed:
    """The verification of a run, and how its report compares; ``None`` if no report could be computed.

    ``signers`` are the events of acts that operators signed, each with who signed it.
    """

    verification: Verification
    rescoring: Rescoring | None = None
    signers: tuple[tuple[Event, Person], ...] = ()


def recompute(run: RunDirectory) -> Recomputed:
    """Check everything in ``run`` that can be checked with the directory alone."""
    found = verify(run)
    if found.status != "intact":
        return Recomputed(found)
    try:
        evidence = read_evidence(run)
    except ContractError as error:
        problem = Problem("contract.json", error.message, "contract")
        return Recomputed(replace(found, status="broken", problems=(problem,)))
    sealed = run.read_json(run.report)
    rules = by_current_rules(sealed)
    problems = list(disagreements(_subject(run, evidence), by_rules=rules))
    if rules:
        problems += _briefing(evidence)
    problems += signature_problems(found.run_id, evidence.events)
    try:
        report = rescored(sealed, check_version(REPORT, sealed, "report.json"), evidence)
    except OTHER_FORM as error:
        return Recomputed(_with(found, [*problems, Problem("report.json", _no_report(error), "report")]))
    problems += [
        Problem("report.json", f"{where} differs from the value that the evidence gives", "report")
        for where in report.different
    ]
    checked = _with(found, problems)
    return Recomputed(checked, report, tuple(signers(evidence.events)) if checked.sound else ())


def _no_report(error: Exception) -> str:
    return f"no report can be computed from the evidence: {type(error).__name__}: {error}"


def _with(found: Verification, problems: list[Problem]) -> Verification:
    """The verification with these problems added, if there are any."""
    if not problems:
        return found
    shown = problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        shown.append(Problem(".", f"and {len(problems) - MOST_PROBLEMS} more problems"))
    return replace(found, status="broken", problems=tuple(shown))


def _subject(run: RunDirectory, evidence: Evidence) -> Subject:
    files = load_seal(run).files
    redacted = evidence.last("secrets.redacted")
    return Subject(
        evidence=evidence,
        digests={name: file.sha256 for name, file in files.items()},
        sizes={name: file.bytes for name, file in files.items()},
        read=lambda name: run.read(run.path / name, LOG_BYTES),
        redacted=redacted is not None and bool(redacted.payload.get("secrets")),
    )


def _briefing(evidence: Evidence) -> Iterator[Problem]:
    """The briefing of the agent follows from the contract and the variation of the run."""
    briefing, redacted = evidence.last("briefing"), evidence.last("secrets.redacted")
    if briefing is None or (redacted is not None and redacted.payload.get("secrets")):
        return
    expected = brief(evidence.contract, evidence.manifest["configuration"].get("variation") or EMPTY)
    for name, value in (("text", expected.text), ("obligations", expected.obligations)):
        for problem in differs(place(briefing), name, briefing.payload.get(name), value, "contract.json"):
            yield Problem(problem.where, problem.message, "briefing")


def rescore(run: RunDirectory) -> Rescoring:
    """The report of an intact run, computed again; evidence that does not verify is not scored."""
    if is_held(run):
        hint = f"wait until it has ended: proctor show {run.path.name}"
        raise UsageFault("the run is still running", where=run.path.name, hint=hint)
    verification = verify(run)
    if verification.status == "broken":
        problem = verification.problems[0]
        raise BrokenSeal(problem.message, where=f"{run.path.name}/{problem.where}")
    if verification.status == "partial":
        require_payloads(run, "its report cannot be computed again")
    if verification.status != "intact":
        raise BrokenSeal("the run was cut off and has no seal", where=run.path.name)
    sealed = run.read_json(run.report)
    schema, evidence = check_version(REPORT, sealed, "report.json"), read_evidence(run)
    try:
        return rescored(sealed, schema, evidence)
    except OTHER_FORM as error:
        raise BrokenSeal(_no_report(error), where=run.path.name) from None
