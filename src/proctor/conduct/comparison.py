"""Runs side by side: what sets them apart, and how each came out. Only evidence that verifies is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.base.frozen import frozen
from proctor.judge.compare import Difference, differences
from proctor.record.attest.attestation import require
from proctor.record.rundir import RunDirectory


@frozen
class Side:
    """One run of a comparison."""

    run: str
    agent: str
    model: str
    status: str
    gates: Mapping[str, bool]
    checks: Mapping[str, str]
    differences: tuple[Difference, ...] = ()


def compare(runs: Sequence[RunDirectory], vary: Sequence[str] = ()) -> tuple[tuple[Side, ...], bool]:
    """Every run with its differences from the first, and whether all of them are comparable.

    The groups in ``vary`` are what the comparison is about besides the agent: they do not decide.
    """
    sides: list[Side] = []
    first: tuple[Any, Any] | None = None
    for run in runs:
        require(run, "partial")
        manifest, contract, report = (run.read_json(path) for path in (run.manifest, run.contract, run.report))
        first = first or (manifest, contract)
        sides.append(_side(manifest, report, differences(first[0], manifest, (first[1], contract))))
    apart = [item for side in sides for item in side.differences if item.decides and item.group not in vary]
    return tuple(sides), not apart


def _side(manifest: Mapping[str, Any], report: Mapping[str, Any], found: tuple[Difference, ...]) -> Side:
    return Side(
        run=str(manifest["run"]),
        agent=str(manifest["agent"]["name"]),
        model=str(manifest["configuration"].get("model", "")),
        status=str(report["status"]),
        gates={str(gate["id"]): gate["passed"] is True for gate in report["gates"]},
        checks={str(check["id"]): str(check["outcome"]) for check in report["checks"]},
        differences=found,
    )
