"""Findings as plain data that JSON can hold: numbers have 12 significant digits, and nan is null."""

from __future__ import annotations

from typing import Any

from proctor.study.statements import Statement
from proctor.study.stats.estimate import DIGITS, Estimate, rounded


def plain_data(value: Any) -> Any:
    """``value`` as plain data: numbers of numpy become Python's, estimates and statements become records."""
    if isinstance(value, Estimate):
        return {**value.record(), "undefined": plain_data(value.undefined)}
    if isinstance(value, Statement):
        return plain_data(value.record())
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


def text_numbers(value: Any) -> Any:
    """Plain data in which fractions are decimal text, as canonical JSON requires."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return {name: text_numbers(inner) for name, inner in value.items()}
    return [text_numbers(inner) for inner in value] if isinstance(value, list) else value
