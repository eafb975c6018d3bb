"""Compute a report again from a run directory and compare it with the one that was sealed."""

from __future__ import annotations

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.frozen import frozen
from proctor.judge.report import SCHEMA, build_report
from proctor.record.retain import require_payloads
from proctor.record.rundir import RunDirectory
from proctor.record.verify import verify


@frozen
class Rescored:
    """The report as computed now, and whether the sealed one has the same bytes."""

    report: bytes
    same: bool


def rescore(run: RunDirectory) -> Rescored:
    """The report of an intact run, computed anew; evidence that does not verify is not scored."""
    verification = verify(run)
    if verification.status == "broken":
        problem = verification.problems[0]
        raise BrokenSeal(problem.message, where=f"{run.path.name}/{problem.where}")
    if verification.status == "partial":
        require_payloads(run, "its report cannot be computed again")
    if verification.status != "intact":
        raise BrokenSeal("the run was cut off and has no seal", where=run.path.name)
    report = build_report(run, _schema(run))
    return Rescored(report, report == run.report.read_bytes())


def _schema(run: RunDirectory) -> int:
    """The form of the sealed report."""
    sealed = run.read_json(run.report)
    schema = sealed.get("schema") if isinstance(sealed, dict) else None
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        hint = "a newer Proctor may know it"
        raise UsageFault(f"the report has a form that is not known here: {schema!r}", where=run.path.name, hint=hint)
    return schema
