"""Compare runs: their differences and their outcomes. Only evidence that verifies is compared.

A run that is named twice, or a copy of one, is the same run and counts once. Another record under the id of one of the
runs is a difference that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proctor.judge.manifest_differences import OTHER, Difference, differences
from proctor.record.manifest_model import Manifest, read_manifest
from proctor.record.report_model import Report, read_report
from proctor.record.run_directory import RunDirectory
from proctor.record.seal import load_seal
from proctor.record.signing.attestation import require_verified


@dataclass(frozen=True)
class Side:
    """One run of a comparison; ``repeats`` if it is the same run as an earlier one."""

    run: str
    agent: str
    model: str
    status: str
    gates: Mapping[str, bool]
    checks: Mapping[str, str]
    differences: tuple[Difference, ...] = ()
    repeats: bool = False


def compare(runs: Sequence[RunDirectory], vary: Sequence[str] = ()) -> tuple[tuple[Side, ...], bool]:
    """Every run with its differences from the first, and whether all of them are comparable.

    The groups in ``vary`` may differ in addition to the agent: they do not decide.
    """
    sides: list[Side] = []
    first: tuple[Any, Any] | None = None
    seals: dict[str, str] = {}
    for run in runs:
        require_verified(run, "partial")
        manifest, contract = (run.read_json(path) for path in (run.manifest, run.contract))
        first = first or (manifest, contract)
        side = _side(read_manifest(run), read_report(run), differences(first[0], manifest, (first[1], contract)))
        seal = load_seal(run).digest
        known = seals.setdefault(side.run, seal)
        if known != seal:
            side = replace(side, differences=(Difference(OTHER, "seal.json: digest", known, seal), *side.differences))
        sides.append(replace(side, repeats=known == seal and any(side.run == one.run for one in sides)))
    apart = [item for side in sides for item in side.differences if item.decides and item.group not in vary]
    return tuple(sides), not apart


def _side(manifest: Manifest, report: Report, found: tuple[Difference, ...]) -> Side:
    return Side(
        run=manifest.run,
        agent=manifest.agent.name,
        model=manifest.configuration.model or "",
        status=report.status,
        gates={gate.id: gate.passed for gate in report.gates},
        checks={check.id: check.outcome for check in report.checks},
        differences=found,
    )
