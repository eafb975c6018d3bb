"""Runs side by side: what sets them apart, and whether they may be counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.api.recorded import Run
from proctor.base.errors import UsageFault
from proctor.conduct.comparison import Side
from proctor.conduct.comparison import compare as compared


@dataclass(frozen=True)
class Comparison:
    """Runs side by side: each with its differences from the first, and whether they may be counted together."""

    sides: tuple[Side, ...]
    comparable: bool


def compare(runs: Sequence[Run], vary: Sequence[str] = ()) -> Comparison:
    """Compare runs with the first of them. Differences in the groups of ``vary`` do not make them incomparable."""
    if len(runs) < 2:
        raise UsageFault("one run cannot be compared", hint="give at least two runs")
    return Comparison(*compared([run.directory for run in runs], vary))
