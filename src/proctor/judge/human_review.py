"""Which runs wait for a reviewer and why, and how far reviewers agree beyond chance. Pure.

A run waits because of risk indicators in its report or an undecided check, until it is reviewed, and again while
reviewers disagree. Agreement is Cohen's kappa for two reviewers and Krippendorff's alpha for any number, for verdicts
without an order; ``None`` where it is undefined. Cohen, "A coefficient of agreement for nominal scales" (1960);
Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from proctor.judge.run_verdict import ACCEPTANCE_ERROR
from proctor.record.report_model import Report
from proctor.record.reviews import DISPUTED, OPEN

URGENCY = ("harness", "secret", "regression", "security", "dependency", "mode", "path", "churn", "unread")
"""Kinds of indicators, those first that a reviewer should see first; a policy choice."""
UNDECIDED_CHECK = "undecided check"


def risks(report: Report) -> dict[str, int]:
    """The kinds of indicators in a report, the most urgent first, and how often each was found."""
    counts = dict.fromkeys(URGENCY, 0)
    for one in report.indicators:
        if one.kind in counts:
            counts[one.kind] += one.count
    return {kind: count for kind, count in counts.items() if count}


def review_reasons(report: Report) -> list[str]:
    """Why a run should be looked at, the most urgent first."""
    found = [f"{kind} ({count})" for kind, count in risks(report).items()]
    return [*found, UNDECIDED_CHECK] if report.status == ACCEPTANCE_ERROR else found


def urgency(reason: str) -> int:
    """The place of a reason among all, the most urgent first."""
    kind = reason.partition(" (")[0]
    return URGENCY.index(kind) if kind in URGENCY else len(URGENCY)


def needs_review(why: list[str], opinion: str) -> bool:
    """Whether a run with these reasons, of which reviewers have that opinion, is to be looked at."""
    return bool(why) and opinion in (OPEN, DISPUTED)


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


def paired_verdicts(units: Sequence[Unit]) -> tuple[tuple[str, str], list[tuple[str, str]]] | None:
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
