"""A pilot says how many of its tasks are decided by checks that the code under test could forge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.study.pilot.ledger.pilot_runs import _told
from proctor.study.pilot.report.unconfirmed_successes import could_be_forged
from tests.english import english
from tests.sample_reports import sample_check, sample_indicator, sample_report
from tests.study.pilot.report.test_status import stands

REST = "by checks whose result the code under test could forge"
END = "it is not shown that successes there are genuine."


def said(checks: dict[str, tuple[bool, ...]]) -> tuple[str, ...]:
    return tuple(english(could_be_forged(stands(None, lambda slot: {"forgeable": checks.get(slot.task, ())}).runs)))


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ({"a": (True,)}, f"1 of 4 tasks is decided {REST} (a): {END}"),
        ({"a": (True,), "b": (True, True), "d": (False,)}, f"2 of 4 tasks are decided {REST} (a and b): {END}"),
        ({"a": (True,), "b": (True, False)}, f"2 of 4 tasks are decided wholly or in part {REST} (a and b): {END}"),
    ],
)
def test_tasks_are_counted_and_named(checks: dict[str, tuple[bool, ...]], words: str) -> None:
    assert said(checks) == (words,)


def test_a_confirmed_success_counts_before_a_failure_without_inverted_tests() -> None:
    first, *_ = stands(None, lambda slot: {}).runs
    failed = replace(first, success=False, forgeable=(True,))
    confirmed = replace(first, success=True, forgeable=(False,))
    assert could_be_forged([failed, confirmed]) == could_be_forged([confirmed, failed]) == ()
    assert could_be_forged([failed]) != ()


def test_nothing_is_said_where_sentinels_stand_beside_every_check() -> None:
    assert said({"a": (False,), "b": (False, False)}) == said({}) == ()


def test_only_checks_that_decide_a_task_count() -> None:
    check = sample_check(forgeable=True)
    others: tuple[dict[str, Any], ...] = ({"gate": "build"}, {"mandatory": False}, {"forgeable": False})
    found = (sample_indicator("path", 2), sample_indicator("secret"), sample_indicator("path"))
    checks = (check, *(replace(check, **other) for other in others))
    told = _told(sample_report(checks=checks, indicators=found))
    assert (told["forgeable"], told["risks"]) == ((True, False), ("secret", "path"))
