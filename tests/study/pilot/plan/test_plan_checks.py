"""The reports on a plan's numbers fail when the numbers do not move as they must."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from proctor.present.sentences.pilot_plan import WRONG, wrong
from proctor.study.pilot.plan import plan_checks
from proctor.study.pilot.plan.power_analysis import PowerQuestion, analyse, question_of
from proctor.study.stats.statistical_power import Design
from tests.study.pilot.planning import protocol

MONOTONE = {
    "power rises with tasks": lambda design, effect: 1 / design.tasks,
    "power rises with runs of a task": lambda design, effect: 1 / design.runs,
    "power rises with the effect": lambda design, effect: 1 - effect,
    "power rises with alpha": lambda design, effect: 1 - design.alpha,
    "power falls with the correlation of runs": lambda design, effect: design.icc,
}


@pytest.fixture
def question() -> PowerQuestion:
    return replace(question_of(protocol()), tasks=30)


def test_a_sound_plan_holds(question: PowerQuestion) -> None:
    assert all(check.held for check in plan_checks.monotonicity(question, []))
    found = plan_checks.power(analyse(question, 200))
    assert [check.name for check in found if not check.held] == []


@pytest.mark.parametrize("name", sorted(MONOTONE))
def test_each_direction_can_fail(name: str, question: PowerQuestion, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Callable[[Design, float], float] = MONOTONE[name]
    monkeypatch.setattr(plan_checks, "paired_power", wrong)
    assert name in [check.name for check in plan_checks.monotonicity(question, []) if not check.held]


def test_too_few_tasks_are_told(question: PowerQuestion) -> None:
    few = plan_checks.power(analyse(replace(question, tasks=2), 200))
    assert [check.name for check in few if not check.held] == ["formula and simulation agree"]
    none = plan_checks.power(analyse(replace(question, tasks=1)))
    assert [(check.held, check.seen) for check in none] == [(False, "1 tasks")]


def test_a_check_that_does_not_hold_is_told_as_what_is_wrong(question: PowerQuestion) -> None:
    named = [
        check.name for check in (*plan_checks.power(analyse(question, 200)), *plan_checks.monotonicity(question, []))
    ]
    assert {wrong(name) for name in named}.isdisjoint(named)
    assert set(named) <= set(WRONG)
    assert wrong("formula and simulation agree") == "formula and simulation differ"
    assert wrong("runs are numbered") == "this does not hold: runs are numbered"


def test_the_record_holds_when_all_do() -> None:
    good, bad = plan_checks.Check("a", True, "1"), plan_checks.Check("b", False, "2")
    assert plan_checks.record("sanity", {"part": [good]})["held"] is True
    whole = plan_checks.record("sanity", {"part": [good], "other": [bad]})
    assert (whole["held"], whole["kind"]) == (False, "proctor.sanity")
    assert whole["checks"]["other"] == [{"name": "b", "held": False, "seen": "2"}]
