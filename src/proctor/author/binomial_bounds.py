"""Exact bounds on a share that was counted: Clopper and Pearson (1934), by bisection of the binomial tail. Pure.

Shares are floats here: they are estimates, never money, and nothing is decided by their last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

CONFIDENCE = 0.95
STEPS = 60
METHOD = "Clopper-Pearson"


@dataclass(frozen=True)
class Share:
    """A count of a total, with an interval that contains the true share with ``confidence``; none without data."""

    count: int
    of: int
    low: float | None
    high: float | None
    confidence: float = CONFIDENCE
    method: str = METHOD

    @property
    def value(self) -> float | None:
        """The share that was seen; nothing where nothing was counted."""
        return self.count / self.of if self.of else None

    def record(self) -> dict[str, object]:
        """The share as data, with decimals as text."""
        told = {name: _text(getattr(self, name)) for name in ("value", "low", "high")}
        return {"count": self.count, "of": self.of, **told, "confidence": str(self.confidence), "method": self.method}

    def words(self) -> str:
        """A short description of the share."""
        if self.low is None or self.high is None:
            return f"{self.count} of {self.of}: undefined, because nothing was counted"
        return f"{self.count} of {self.of} ({_percent(self.low)} to {_percent(self.high)})"


def share(count: int, of: int, confidence: float = CONFIDENCE) -> Share:
    """The two-sided interval for ``count`` successes of ``of``."""
    if not of:
        return Share(count, of, None, None, confidence)
    rest = (1 - confidence) / 2
    low = 0.0 if count == 0 else _solve(lambda p: 1 - _at_most(count - 1, of, p), rest)
    high = 1.0 if count == of else _solve(lambda p: 1 - _at_most(count, of, p), 1 - rest)
    return Share(count, of, low, high, confidence)


def at_most(count: int, of: int, confidence: float = CONFIDENCE) -> float:
    """The one-sided upper bound of the share with ``confidence``. For a count of 0 it is 1 - (1 - c)^(1/n)."""
    if count >= of:
        return 1.0
    return _solve(lambda p: 1 - _at_most(count, of, p), confidence)


def _at_most(count: int, of: int, p: float) -> float:
    """The probability of at most ``count`` successes in ``of`` trials."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return 1.0 if count >= of else 0.0
    terms = (_log_term(k, of, p) for k in range(count + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))


def _log_term(k: int, n: int, p: float) -> float:
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(p) + (n - k) * math.log1p(-p)


def _solve(rising: Callable[[float], float], wanted: float) -> float:
    """Where a function that rises from 0 to 1 takes the value ``wanted``."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _text(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
