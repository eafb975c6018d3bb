"""Amounts of money: exact sums, and how records write them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal

EXACT = Context(prec=80, rounding=ROUND_CEILING)
"""Keeps every digit of what can be priced here."""


def total_of(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, with every digit kept."""
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


def plain(amount: Decimal) -> str:
    """An amount as a decimal string without an exponent and without needless zeros; cents always stand."""
    whole, _, rest = format(amount, "f").partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"
