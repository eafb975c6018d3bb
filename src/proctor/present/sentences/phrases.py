"""Parts of sentences: lists of names, counts, percentages, intervals, probabilities and amounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from typing import Any, TypeAlias

from proctor.present.readable_numbers import finite_number
from proctor.study.analysis.cost_unit import UNITS, USD
from proctor.study.stats.estimate import LEVEL

Said: TypeAlias = Mapping[str, Any]
"""A statement as findings contain it: its code and its values."""
Sentences: TypeAlias = Mapping[str, Callable[[Said], str]]
"""The sentence for each code."""

NAMED = 3
"""How many names a sentence lists."""
NAMED_RUNS = 5
"""How many runs a sentence lists."""


def names(listed: Sequence[str], most: int = NAMED) -> str:
    """The first names, and how many more there are."""
    if len(listed) <= most + 1:
        return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"


def items(listed: Sequence[str], most: int = NAMED_RUNS) -> str:
    """The first items of a list, and how many more there are."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def number_of(many: float, one: str, several: str = "") -> str:
    """``1 run``, ``1,200 runs``."""
    return f"{many:,.0f} {one if many == 1 else several or f'{one}s'}"


def percent(share: float) -> str:
    """A share in percent with one decimal; without it where that is 0."""
    text = f"{100 * share:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("0.0", "-0.0", "100.0") else text


def level(value: float) -> str:
    """``95%``; above 99% with two digits of the difference to 100%."""
    missing = 100 * (1 - value)
    digits = 1 if missing >= 1 or missing <= 0 else 1 - floor(log10(missing))
    text = f"{100 * value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')}%"


def rate(estimate: Said) -> str:
    """A rate with its interval: ``71.2% (67.0 to 75.1)``."""
    low, high = percent(estimate["low"]), percent(estimate["high"])
    return f"{percent(estimate['value'])}% ({low} to {high}{_unusual_level(estimate)})"


def points(estimate: Said) -> str:
    """A difference with its interval: ``+4.2 points (+0.3 to +8.1)``."""
    low, high = 100 * estimate["low"], 100 * estimate["high"]
    return f"{100 * estimate['value']:+.1f} points ({low:+.1f} to {high:+.1f}{_unusual_level(estimate)})"


def _unusual_level(estimate: Said) -> str:
    value = finite_number(estimate.get("level"))
    return "" if value is None or abs(value - LEVEL) < 1e-9 else f" at {level(value)}"


def p_value(p: float) -> str:
    """``p = 0.062`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def amount(usd: float, unit: str) -> str:
    """An amount in a sentence: dollars to the cent or to two significant digits, other units to three."""
    if unit == UNITS.name:
        value = usd * UNITS.per_usd
        return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"
    return f"{usd:,.2f} {USD.name}" if usd == 0 or usd >= 0.1 else f"{usd:.2g} {USD.name}"


def bill_number(usd: float, unit: str) -> str:
    """An amount of a bill without its unit: all lines have the same number of decimals, so that they add up."""
    return f"{usd * UNITS.per_usd:,.2f}" if unit == UNITS.name else f"{usd:,.4f}"


def bill_amount(usd: float, unit: str) -> str:
    """An amount of a bill with its unit."""
    return f"{bill_number(usd, unit)} {unit}"


def budget(usd: float, unit: str) -> str:
    """A budget, which is always set in dollars, in the unit of the costs."""
    return amount(usd, unit) if unit == USD.name else f"{amount(usd, unit)}, set as {amount(usd, USD.name)}"
