"""Numbers as people read them: shares, points, money, time, probabilities and estimates with their range.

A number that is missing is a dash, and an estimate that is undefined says why; neither is ever shown as zero. Nothing
here depends on the locale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any, TypeAlias

Form: TypeAlias = Callable[[float | None], str]
"""How a number is written."""

MISSING = "\u2013"
MINUS = "\u2212"
NOT_REACHED = "not reached"


def finite_number(value: object) -> float | None:
    """A finite number, or None for everything else; true and false are no numbers here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


def count(value: float | None) -> str:
    """A number of things, such as 12,500."""
    value = finite_number(value)
    return MISSING if value is None else _signed(f"{value:,.0f}")


def counted(value: float | None, noun: str) -> str:
    """A number of things with their name, such as 1 task and 2 tasks."""
    return f"{count(value)} {noun if finite_number(value) == 1 else f'{noun}s'}"


def left_after(counts: Sequence[float | None]) -> list[str]:
    """How many runs are left after each step; a step before which none was left was not reached."""
    before: list[float | None] = [1, *counts[:-1]]
    return [count(now) if finite_number(last) != 0 else NOT_REACHED for last, now in zip(before, counts, strict=True)]


def share(value: float | None) -> str:
    """A part of a whole, such as 62.4%."""
    value = finite_number(value)
    return MISSING if value is None else _signed(f"{value * 100:.1f}%")


def points(value: float | None) -> str:
    """A difference of shares in percentage points, always with its sign."""
    value = finite_number(value)
    if value is None:
        return MISSING
    rounded = round(value * 100, 1)
    return "0.0" if rounded == 0 else _signed(f"{rounded:+.1f}")


def points_wide(value: float | None) -> str:
    """A width in percentage points, such as 12.5, without a sign."""
    return points(value).lstrip("+")


def money(value: float | None) -> str:
    """US dollars: cents above a dollar, two figures below."""
    value = finite_number(value)
    if value is None:
        return MISSING
    size = abs(value)
    if size >= 1000:
        text = f"{size:,.0f}"
    elif size >= 0.995 or size == 0:
        text = f"{size:,.2f}"
    else:
        text = f"{size:.{max(2, 1 - floor(log10(size)))}f}" if size >= 1e-6 else f"{size:.1e}"
    return f"{MINUS if value < 0 else ''}${text}"


def units(value: float | None) -> str:
    """Units of a schedule without prices, to three figures."""
    value = finite_number(value)
    if value is None:
        return MISSING
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return _signed(f"{text} {'unit' if text == '1' else 'units'}")


@dataclass(frozen=True)
class Currency:
    """How costs are written, which findings count in dollars whatever they are in."""

    form: Form
    title: str
    per_usd: float

    def tick(self, usd: float | None) -> str:
        """A cost on an axis, whose title names the unit."""
        return self.form(usd).removesuffix(f" {self.title}").removesuffix(" unit")


DOLLARS = Currency(money, "US dollars", 1)


def currency(findings: Mapping[str, Any]) -> Currency:
    """What the costs in findings are in."""
    unit = (findings.get("cost") or {}).get("unit") or {}
    rate = finite_number(unit.get("per_usd")) or 1.0
    if unit.get("name") != "units":
        return DOLLARS
    return Currency(lambda usd: units(None if usd is None else usd * rate), "units", rate)


def duration(value: float | None) -> str:
    """Seconds as seconds, minutes or hours."""
    value = finite_number(value)
    if value is None:
        return MISSING
    if abs(value) < 10:
        return _signed(f"{value:.1f} s")
    whole = round(value)
    if abs(whole) < 120:
        return _signed(f"{whole} s")
    if abs(whole) < 7200:
        return _signed(f"{whole / 60:.1f} min")
    return _signed(f"{whole / 3600:,.1f} h")


def plain(value: float | None) -> str:
    """A number of no particular kind, to four figures."""
    value = finite_number(value)
    if value is None:
        return MISSING
    return _signed(f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}")


def probability(value: float | None) -> str:
    """A p value; a very small one is shown as a bound."""
    value = finite_number(value)
    if value is None:
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}"


@dataclass(frozen=True)
class Steps:
    """The steps between the ticks of an axis that a number format can write without rounding.

    A step is 1, 2 or 5 times a power of ten, or 2.5 times where ``quarters`` is set, and at least ``least``.
    """

    least: float = 0.0
    quarters: bool = False


ANY_STEPS = Steps()
PARTS = Steps(0.005, quarters=True)
STEPS: Mapping[Form, Steps] = {
    count: Steps(1.0),
    share: PARTS,
    points: PARTS,
    points_wide: PARTS,
    duration: Steps(0.1),
}
"""The steps of the number formats that round to a fixed number of digits."""


def span(estimate: Mapping[str, Any] | None, form: Form = share) -> str:
    """The range of an estimate, such as 51.2% to 73.0%; empty when there is none."""
    if not estimate or finite_number(estimate.get("low")) is None or finite_number(estimate.get("high")) is None:
        return ""
    return f"{form(estimate['low'])} to {form(estimate['high'])}"
