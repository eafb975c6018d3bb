"""Whether what a command prints of a run rests on evidence that is whole; the same answer in every command.

A run that was changed after its seal, that lost its seal or never got one, or that goes by the id of another run, ends
every command about it with exit code 4. A run that goes on has no seal yet; commands that may look at it say so.
"""

from __future__ import annotations

import shlex

from proctor.base.errors import BrokenSeal
from proctor.record.lock import is_held
from proctor.record.rundir import RunDirectory
from proctor.record.verify import Verification, verify


def evidence_problem(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> BrokenSeal | None:
    """What is wrong with the evidence of ``run``; nothing where it is whole, or goes on and may be ``live``."""
    result = found or verify(run)
    if result.sound or (live and result.status == "unsealed" and is_held(run)):
        return None
    problem = result.problems[-1 if result.status == "unsealed" else 0]  # of a cut run, that it has no seal
    return BrokenSeal(
        f"do not trust this: the run is {result.status}: {problem.message}",
        where=f"{run.path.name}/{problem.where}",
        hint=f"proctor verify {shlex.quote(str(run.path))} lists everything that is wrong",
    )


def require_evidence(run: RunDirectory, found: Verification | None = None, *, live: bool = False) -> None:
    """Refuse a run whose evidence is not whole."""
    problem = evidence_problem(run, found, live=live)
    if problem is not None:
        raise problem
