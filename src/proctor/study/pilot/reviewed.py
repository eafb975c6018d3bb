"""How far the reviewers of a pilot's runs agree, and what their reviews took."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from proctor.judge.agreement import cohen_kappa, krippendorff_alpha, shared
from proctor.record.reviews import minutes_of, read_reviews, said
from proctor.record.rundir import RunDirectory
from proctor.record.seal import load_seal


def agreement(paths: Iterable[Path]) -> dict[str, Any] | None:
    """Agreement over the runs at ``paths``; nothing where none was reviewed."""
    logs = [read_reviews(run, load_seal(run).digest) for run in map(RunDirectory, paths)]
    reviews = [log for log in logs if log]
    if not reviews:
        return None
    units = said(reviews)
    pair = shared(units)
    return {
        "cohen": _number(cohen_kappa(pair[1])) if pair else None,
        "krippendorff": _number(krippendorff_alpha(units)),
        "reviewers": sorted({name for unit in units for name in unit}),
        "units": len(units),
        "minutes": float(sum(minutes_of(log) for log in reviews)),
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
