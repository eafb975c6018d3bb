"""How far reviewers agree beyond chance: Cohen's kappa for two, Krippendorff's alpha for any number. Pure and exact.

Both are for verdicts without an order. A value that cannot be had is ``None``: nothing was said twice, or everybody
said the same everywhere, so that chance alone would give it. Cohen, "A coefficient of agreement for nominal scales"
(1960); Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

Unit = Mapping[str, str]
"""What each reviewer said of one run."""


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> Fraction | None:
    """Kappa of two reviewers who both looked at the same things."""
    if not pairs:
        return None
    total = len(pairs)
    first, second = Counter(left for left, _ in pairs), Counter(right for _, right in pairs)
    observed = Fraction(sum(left == right for left, right in pairs), total)
    expected = sum((Fraction(first[value] * second[value], total * total) for value in first), Fraction(0))
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(units: Sequence[Unit]) -> Fraction | None:
    """Alpha for nominal verdicts of any number of reviewers, some of whom may have left things out."""
    paired = [list(unit.values()) for unit in units if len(unit) > 1]
    totals = Counter(value for unit in paired for value in unit)
    count = sum(totals.values())
    if count < 2:
        return None
    observed = sum((Fraction(_unlike(Counter(unit)), len(unit) - 1) for unit in paired), Fraction(0))
    expected = Fraction(_unlike(totals), count - 1)
    return None if expected == 0 else 1 - observed / expected


def shared(units: Sequence[Unit]) -> tuple[tuple[str, str], list[tuple[str, str]]] | None:
    """The two reviewers and their pairs of verdicts, where exactly two ever looked at the same thing."""
    names = sorted({name for unit in units if len(unit) > 1 for name in unit})
    if len(names) != 2:
        return None
    first, second = names
    return (first, second), [(unit[first], unit[second]) for unit in units if first in unit and second in unit]


def _unlike(counts: Mapping[str, int]) -> int:
    """How many ordered pairs of different values there are."""
    total = sum(counts.values())
    return total * total - sum(count * count for count in counts.values())
