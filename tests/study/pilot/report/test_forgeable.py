"""A pilot says how many of its tasks are decided by checks that the code under test could forge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.study.pilot.ledger.pilot_runs import _told
from proctor.study.pilot.report.unconfirmed_successes import could_be_forged
from tests.study.pilot.report.test_status import stands

REST = "by checks whose result the code under test could forge"
END = "whether successes there are genuine is not shown"


def said(checks: dict[str, tuple[bool, ...]]) -> tuple[str, ...]:
    return could_be_forged(stands(None, lambda slot: {"forgeable": checks.get(slot.task, ())}).runs)


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ({"a": (True,)}, f"1 of 4 tasks is decided {REST} (a): {END}"),
        ({"a": (True,), "b": (True, True), "d": (False,)}, f"2 of 4 tasks are decided {REST} (a and b): {END}"),
        ({"a": (True,), "b": (True, False)}, f"2 of 4 tasks are decided, wholly or in part, {REST} (a and b): {END}"),
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


def test_only_checks_that_decide_a_task_count_and_reports_may_lack_what_came_later() -> None:
    check: dict[str, Any] = {"gate": "acceptance", "mandatory": True, "attempts": [], "forgeable": True}
    others = ({"gate": "build"}, {"mandatory": False}, {"forgeable": False})
    checks = [check, *({**check, **other} for other in others)]
    report: dict[str, Any] = {
        "termination": {"code": None, "reason": "finished"},
        "tags": [],
        "usage": {"cost": None},
        "status": "success",
        "attribution": "agent",
        "endpoint": {"scorable": True},
        "problems": [],
        "patch": {"bytes": 1, "files": 1, "dropped": 0},
        "checks": checks,
        "indicators": [{"kind": "path", "count": 2}, {"kind": "secret", "count": 1}, {"kind": "path", "count": 1}],
    }
    told = _told(report)
    assert (told["forgeable"], told["risks"]) == ((True, False), ("secret", "path"))
    bare = [{name: value for name, value in one.items() if name != "forgeable"} for one in checks]
    without = {name: value for name, value in report.items() if name != "indicators"}
    told = _told({**without, "checks": bare})
    assert (told["forgeable"], told["risks"]) == ((False, False), ())
