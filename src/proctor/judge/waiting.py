"""Which runs wait for a person, and why: risk indicators in their reports, or a check that came to no decision. Pure.

A run waits until somebody has reviewed it, and again while reviewers disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.judge.status import ACCEPTANCE_ERROR
from proctor.record.reviews import DISPUTED, OPEN

URGENCY = ("harness", "secret", "regression", "security", "dependency", "mode", "path", "churn", "unread")
"""Kinds of indicators, those first that a reviewer should see first; a policy choice."""
UNDECIDED_CHECK = "undecided check"


def risks(report: Mapping[str, Any]) -> dict[str, int]:
    """The kinds of indicators in a report, the most urgent first, and how often each was found."""
    counts = dict.fromkeys(URGENCY, 0)
    for one in report.get("indicators") or ():
        if one["kind"] in counts:
            counts[one["kind"]] += int(one["count"])
    return {kind: count for kind, count in counts.items() if count}


def reasons(report: Mapping[str, Any]) -> list[str]:
    """Why a run should be looked at, the most urgent first."""
    found = [f"{kind} ({count})" for kind, count in risks(report).items()]
    return [*found, UNDECIDED_CHECK] if report["status"] == ACCEPTANCE_ERROR else found


def urgency(reason: str) -> int:
    """The place of a reason among all, the most urgent first."""
    kind = reason.partition(" (")[0]
    return URGENCY.index(kind) if kind in URGENCY else len(URGENCY)


def waits(why: list[str], opinion: str) -> bool:
    """Whether a run with these reasons, of which reviewers have that opinion, is to be looked at."""
    return bool(why) and opinion in (OPEN, DISPUTED)
