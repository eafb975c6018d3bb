"""Compute a report again from a run directory and compare it with the one that was sealed."""

from __future__ import annotations

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.judge.evidence import read_evidence
from proctor.judge.rescoring import Rescoring, rescored
from proctor.record.lock import is_held
from proctor.record.retain import require_payloads
from proctor.record.rundir import RunDirectory
from proctor.record.verify import verify
from proctor.record.versions import REPORT, check_version


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
    return rescored(sealed, check_version(REPORT, sealed, "report.json"), read_evidence(run))
