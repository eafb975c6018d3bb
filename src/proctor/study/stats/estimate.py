"""One estimate: a value with its interval, or the reason why there is none.

An estimate names its method by a code, how many observations it is made of (``n``) and how many independent tasks they
come from (``clusters``). Either all three numbers are there or none is, and then ``undefined`` says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from proctor.study.statements import Statement, statement

DIGITS = 12
"""Significant digits of a recorded number: the digits after them differ between processors."""

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its interval; all three are ``None`` when ``undefined`` says why."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    n: int
    clusters: int
    undefined: Statement | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"a level is between 0 and 1, not {self.level}")
        numbers = (self.value, self.low, self.high)
        if (self.undefined is None) != all(number is not None for number in numbers):
            raise ValueError("an estimate has a value and both ends, or a reason for having none")
        if self.undefined is None and any(number is not None and math.isnan(number) for number in numbers):
            raise ValueError(f"{self.method}: not a number")

    def record(self) -> dict[str, Any]:
        """Plain data, with as many digits as every machine agrees on."""
        return {
            "value": rounded(self.value),
            "low": rounded(self.low),
            "high": rounded(self.high),
            "level": self.level,
            "method": self.method,
            "n": self.n,
            "clusters": self.clusters,
            "undefined": None if self.undefined is None else self.undefined.record(),
        }


def defined(value: float, low: float, high: float, *, level: float, method: str, n: float, clusters: float) -> Estimate:
    """An estimate from numbers of any kind; if rounding moved an end past the value, the end becomes the value."""
    value, low, high = float(value), float(low), float(high)
    return Estimate(value, min(low, value), max(high, value), level, method, int(n), int(clusters))


def undefined(why: str | Statement, *, level: float, method: str, n: float = 0, clusters: float = 0) -> Estimate:
    """No estimate, and ``why`` there is none: a statement, or the code of one without values."""
    reason = statement(why) if isinstance(why, str) else why
    return Estimate(None, None, None, level, method, int(n), int(clusters), reason)


def rounded(number: float | None) -> float | None:
    """``number`` with 12 significant digits; a number that is not finite becomes None."""
    if number is None or not math.isfinite(number):
        return None
    return float(f"{number:.{DIGITS}g}")
