"""Check whether the evidence of a run is intact, in the same way for every command.

A command about a run exits with 4 if the run was changed after its seal, has no seal, or has the id of another run. A
run that is in progress has no seal yet; commands that accept such a run pass ``live``.
"""

from __future__ import annotations

import shlex

from proctor.base.errors import BrokenSeal
from proctor.record.lock import is_held
from proctor.record.rundir import RunDirectory
from proctor.record.verify import Verification, verify


def evidence_problem(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> BrokenSeal | None:
    """What is wrong with the evidence of ``run``; ``None`` if it is intact, or in progress and ``live`` is set."""
    result = found or verify(run)
    if result.sound or (live and result.status == "unsealed" and is_held(run)):
        return None
    problem = result.problems[-1 if result.status == "unsealed" else 0]  # of a run that was cut off: no seal
    return BrokenSeal(
        f"do not trust this: the run is {result.status}: {problem.message}",
        where=f"{run.path.name}/{problem.where}",
        hint=f"proctor verify {shlex.quote(str(run.path))} lists everything that is wrong",
    )


def require_evidence(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> None:
    """Refuse a run whose evidence is not intact."""
    problem = evidence_problem(run, found, live=live)
    if problem is not None:
        raise problem
