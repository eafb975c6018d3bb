"""Arguments of the Python interface, checked before anything is written: the same limits as on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

from proctor.base.errors import UsageFault

T = TypeVar("T")

MOST_REPEATS = 10_000
MOST_JOBS = 64
MOST_JUDGE_SLOTS = 4096
MOST_RETRIES = 100
MOST_TIMES = 1000
MOST_OUTPUT_TOKENS = 1_000_000
MOST_WAIT_SECONDS = 86_400


def require_count(name: str, value: int, least: int, most: int) -> None:
    """Refuse a value that is not a whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageFault(f"not a whole number from {least} to {most}: {str(value)[:40]}", where=name)


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is set and not one of ``choices``."""
    if value and value not in choices:
        raise UsageFault(f"expected one of {', '.join(choices)}, not {value[:100]!r}", where=name)


def require_several(name: str, values: Sequence[T]) -> Sequence[T]:
    """Refuse a single text where a list is expected, and a list with nothing in it where something is needed."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise UsageFault(f"not a list: {str(values)[:100]}", where=name, hint=f"{name}=[...]")
    if not values:
        raise UsageFault("the list is empty", where=name)
    return values


def require_dollars(name: str, value: Decimal | None) -> None:
    """Refuse an amount that is not a positive decimal number."""
    if value is not None and not (isinstance(value, Decimal) and value.is_finite() and value > 0):
        raise UsageFault(f"not an amount in dollars: {str(value)[:40]}", where=name, hint='such as Decimal("5.00")')
