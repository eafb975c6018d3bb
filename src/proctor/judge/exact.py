"""Exact numbers: decimals of one precision, rounded in one way, so that every machine writes the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal

CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN)
_PLACES = Decimal("0.000001")


def decimal_text(value: Decimal) -> str:
    """A number as records hold it, with six places."""
    rounded = value.quantize(_PLACES, context=CONTEXT)
    return str(rounded if rounded else abs(rounded))


def share(part: Decimal | int, whole: Decimal | int) -> Decimal:
    """``part`` of ``whole``, which is not 0."""
    return CONTEXT.divide(Decimal(part), Decimal(whole))


def weighted(weights: Mapping[str, Decimal], parts: Mapping[str, Decimal]) -> Decimal:
    """The sum of all parts, each times its weight."""
    total = Decimal(0)
    for name, value in parts.items():
        total = CONTEXT.add(total, CONTEXT.multiply(weights[name], value))
    return total
