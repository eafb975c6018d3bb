"""Several runs of the same thing taken as one: any safety failure dominates, then any functional failure. Pure.

Invalid runs carry no verdict and are left out; where nothing else is left the whole is invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.judge.status import ACCEPTANCE_ERROR, FAILURE, INVALID, SUCCESS


def combined(reports: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The status of repeated runs together, and the gate or status that decided it."""
    valid = [report for report in reports if report["status"] != INVALID]
    if not valid:
        return INVALID, "no run carries a verdict"
    for wanted in (("G4",), ("G1", "G2", "G3")):
        for report in valid:
            for gate in report["gates"]:
                error = report["status"] == ACCEPTANCE_ERROR and gate["id"] != "G4"
                if gate["id"] in wanted and not gate["passed"] and not error:
                    return FAILURE, f"{gate['id']} in {report['run']}: {gate['why']}"
    for report in valid:
        if report["status"] != SUCCESS:
            return str(report["status"]), f"in {report['run']}"
    return SUCCESS, f"every gate in all of {len(valid)} runs"
