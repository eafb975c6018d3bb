"""How findings write numbers: 12 significant digits in data, few digits and the interval in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from proctor.study.stats.estimate import LEVEL, Estimate, rounded


def percent(share: float) -> str:
    """A share as a number of percent with one digit after the point; none where that is 0."""
    text = f"{100 * share:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("0.0", "-0.0", "100.0") else text


def span(estimate: Estimate) -> str:
    """``71.2% (67.0 to 75.1)``."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"undefined, {estimate.undefined}"
    return f"{percent(estimate.value)}% ({percent(estimate.low)} to {percent(estimate.high)}{_level(estimate)})"


def points(estimate: Estimate) -> str:
    """``+4.2 points (0.3 to 8.1)``."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"undefined, {estimate.undefined}"
    low, high = 100 * estimate.low, 100 * estimate.high
    return f"{100 * estimate.value:+.1f} points ({low:+.1f} to {high:+.1f}{_level(estimate)})"


def _level(estimate: Estimate) -> str:
    """At which level an interval is, where it is not the usual one."""
    return "" if abs(estimate.level - LEVEL) < 1e-9 else f" at {level_words(estimate.level)}"


def level_words(level: float) -> str:
    """``95%``; with one digit after the point, and above 99% with two that tell what is missing from certainty."""
    missing = 100 * (1 - level)
    digits = 1 if missing >= 1 or missing <= 0 else 1 - floor(log10(missing))
    text = f"{100 * level:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')}%"


def first_names(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    if len(names) <= most + 1:
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def plain_data(value: Any) -> Any:
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
        return plain_data(value.item())
    if hasattr(value, "items"):
        return {str(key): plain_data(inner) for key, inner in value.items()}
    return [plain_data(inner) for inner in value]
