"""When a pilot may be decided: with its plan complete or ended by a rule, and not on the way."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.study.pilot.report import unfinished
from tests.study.pilot.test_status import stands


@pytest.mark.parametrize("filled", [8, 9, 20, 40, 47])
def test_a_pilot_that_is_not_complete_decides_nothing(filled: int) -> None:
    here = stands(filled)
    whole = filled - filled % 4
    assert unfinished(here).startswith(f"the pilot is not complete ({whole} of 48 planned runs count), and to decide")


def test_a_complete_pilot_is_decided() -> None:
    assert unfinished(stands(None)) == ""


@pytest.mark.parametrize(
    ("filled", "parts"),
    [
        (8, {"budgets": {"pilot_usd": "23.99", "task_usd": None, "run_usd": None}}),
        (40, {"budgets": {"pilot_usd": "30.00", "task_usd": None, "run_usd": None}}),
    ],
)
def test_a_pilot_that_a_rule_ended_is_decided(filled: int, parts: dict[str, Any]) -> None:
    assert unfinished(stands(filled, **parts)) == ""
