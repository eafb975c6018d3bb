"""The plan in force counts the tasks that are left of it, wherever it is read; what was frozen is told as that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.execute.proctor_home import Home
from proctor.present.html.plan_and_limitations import planned
from proctor.present.readable_numbers import DOLLARS
from proctor.present.sentences.pilot_criteria import power
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.ledger.journal import add_removal
from proctor.study.pilot.plan.frozen_plan import Plan, amend, freeze
from proctor.study.pilot.plan.plan_files import make_artefacts
from proctor.study.pilot.plan.power_analysis import Analysis, analyse, answer, question_of, record
from proctor.study.pilot.plan.remaining_power_and_cost import promised
from proctor.study.pilot.running.pilot_state import read_pilot_state
from tests.study.pilot.pilot_cases import arms
from tests.study.pilot.planning import task
from tests.study.pilot.running.test_task_removal import removal

ASSUMED = {**arms()["assumed"], "rate": "0.1", "icc": ["0.1"], "correlation": ["0"]}
WANTED = arms(tasks=[task(name) for name in "abcdef"], minimum_effect="0.8", power="0.5", assumed=ASSUMED)
"""Six tasks: with five no pattern of signs is rarer than alpha."""
RAISED = {**WANTED, "budgets": {**WANTED["budgets"], "pilot_usd": "200.00"}}


def said(found: Analysis, removed: bool = False) -> Any:
    return plain_data(answer(record(found), removed))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return freeze(tmp_path / "plan", WANTED, lambda: make_artefacts(WANTED))


def test_a_plan_that_was_not_changed_is_its_own_original(plan: Plan, tmp_path: Path) -> None:
    here = read_pilot_state(plan, Home(tmp_path / "home"))
    told = promised(plan, here.journal.removed, here.power)
    assert (told["power"]["tasks"], told["power"]["original"]) == (6, None)
    assert told["power"]["answer"] == plain_data(here.power["answer"]) == said(analyse(question_of(WANTED)))
    assert [runs for runs, *_ in told["projection"]["points"]][-1] == 6 * 3 * 4
    page = "".join(map(str, planned(told, DOLLARS)))
    assert "The original plan" not in page


@pytest.mark.parametrize("amended", [False, True])
def test_after_a_removal_power_and_cost_are_those_of_the_tasks_that_are_left(
    plan: Plan, tmp_path: Path, amended: bool
) -> None:
    """An amendment makes its files from all tasks, also when one was removed before it."""
    add_removal(plan, removal("c"))
    if amended:
        plan = amend(plan, RAISED, lambda: make_artefacts(RAISED), "more", "2026-03-07T12:00:00Z", 5)
    here = read_pilot_state(plan, Home(tmp_path / "home"))
    told = promised(plan, here.journal.removed, here.power)
    five, six = (analyse(question_of({**WANTED, "tasks": WANTED["tasks"][:count]})) for count in (5, 6))
    assert (five.supported, six.supported) == (False, True), "or the test would show nothing"
    shown = told["power"]
    assert (shown["tasks"], shown["supported"], shown["answer"]) == (5, False, said(five, True))
    assert shown["answer"] == plain_data(here.power["answer"]), "what stage three requires"
    assert shown["original"] == {"tasks": 6, "supported": True, "answer": said(six)}
    assert any(tasks == 5 for curve in shown["curves"] for tasks, _ in curve["points"])
    points = told["projection"]["points"]
    assert (points[-1][0], len(points)) == (5 * 3 * 4, 5 * 3)
    page = "".join(map(str, planned(told, DOLLARS)))
    assert "The plan does not reach its target power: without the removed tasks, " in page
    assert f"The original plan, of 6 tasks, reached its target power: {power(said(six))}" in page
