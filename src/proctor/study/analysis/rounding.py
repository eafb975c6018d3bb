"""Findings hold numbers that every machine agrees on: 12 significant digits, one zero, null for no number."""

from __future__ import annotations

from typing import Any

from proctor.study.stats.estimate import Estimate, rounded


def tidy(value: Any) -> Any:
    """``value`` as plain data: numbers of numpy become Python's, estimates their records, nan becomes null."""
    if isinstance(value, Estimate):
        return value.record()
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = rounded(value)
        return None if number is None else number + 0.0
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return tidy(value.item())
    if hasattr(value, "items"):
        return {str(key): tidy(inner) for key, inner in value.items()}
    return [tidy(inner) for inner in value]
