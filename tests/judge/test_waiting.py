"""Which runs wait for a person: those with reasons that nobody has settled."""

from __future__ import annotations

import pytest

from proctor.judge.human_review import URGENCY, needs_review, review_reasons, risks, urgency
from proctor.judge.risk_indicators import rules
from proctor.record.reviews import Review, opinion
from tests.sample_reports import sample_indicator, sample_report


def review(verdict: str, by: str = "ada") -> Review:
    return Review(verdict, "1", by, "because", "2026-03-07T12:00:00Z")


def test_reasons_are_counted_by_kind_the_most_urgent_first() -> None:
    found = (sample_indicator("path", 2), sample_indicator("security"), sample_indicator("path"))
    report = sample_report(status="acceptance-error", indicators=found)
    assert risks(report) == {"security": 1, "path": 3} and list(risks(report)) == ["security", "path"]
    assert review_reasons(report) == ["security (1)", "path (3)", "undecided check"]
    assert sorted(review_reasons(report), key=urgency) == review_reasons(report)


def test_code_that_reaches_into_the_test_runner_is_looked_at_first() -> None:
    found = (sample_indicator("security"), sample_indicator("harness", 2))
    report = sample_report(indicators=found)
    assert review_reasons(report) == ["harness (2)", "security (1)"]
    assert needs_review(review_reasons(sample_report(indicators=found[1:])), "open")


def test_every_kind_of_indicator_can_make_a_run_wait() -> None:
    kinds = {rule.kind for rule in rules()} | {"churn", "secret", "regression", "unread"}
    assert kinds <= set(URGENCY)


def test_a_report_without_indicators_has_no_reasons() -> None:
    assert review_reasons(sample_report()) == [] and not needs_review([], "open")


@pytest.mark.parametrize(
    ("reviews", "state", "waiting"),
    [
        ((), "open", True),
        ((review("accept"),), "accept", False),
        ((review("reject"), review("reject", "bo")), "reject", False),
        ((review("accept"), review("reject", "bo")), "disputed", True),
        ((review("accept"), review("reject", "bo"), review("accept", "Bo")), "accept", False),
        ((review("unsure"),), "unsure", False),
    ],
)
def test_a_run_waits_until_reviewers_have_one_opinion(reviews: tuple[Review, ...], state: str, waiting: bool) -> None:
    assert opinion(reviews) == state
    assert needs_review(["path (1)"], state) is waiting
