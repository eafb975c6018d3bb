"""What a reader is told of a candidate that its results chose, and of agents that tell half of them."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.study.analysis.findings import findings as analysed
from proctor.study.analysis.question import Question
from proctor.study.run_table import Table
from tests.english import english
from tests.study.analysis.made import Outcomes, runs, table


def findings(*given: Any, **named: Any) -> Any:
    """Findings in English."""
    return english(analysed(*given, **named))


SOLVED = {"best": 30, "near": 29, "cheap": 28, "weak": 12, "old": 10}
USD = {"best": 0.5, "near": 0.4, "cheap": 0.2, "weak": 0.01, "old": 0.3}


def made(*agents: str, **usd: float | None) -> Table:
    """Each agent solves the first so many of 40 tasks."""
    rows: list[dict[str, Any]] = runs({name: {f"t{n}": [int(n < SOLVED[name])] for n in range(40)} for name in agents})
    return Table.from_rows([{**row, "cost_usd": {**USD, **usd}[row["method"]]} for row in rows])


def told(table: Table, candidate: str | None = None) -> list[str]:
    head = findings(table, Question(against="old", candidate=candidate))["headline"]
    return [text for text in head["caveats"] if "chosen by" in text or "cheaper" in text]


def test_a_candidate_that_its_results_chose_is_said_to_be_chosen_and_the_cheapest_equal_is_named() -> None:
    chosen, cheaper = told(made(*SOLVED))
    assert chosen.startswith("The candidate was chosen by its result: best is the best of 4 agents that could be ")
    assert cheaper == "cheap is not separable from best and is cheaper: 0.20 USD per run instead of 0.50 USD.", (
        "weak costs less still, but is shown to be worse"
    )


def test_nothing_is_cheaper_than_the_cheapest_nor_than_a_cost_that_nobody_knows() -> None:
    assert len(told(made(*SOLVED, best=0.1))) == 1
    assert len(told(made(*SOLVED, best=None))) == 1
    assert told(made(*SOLVED, cheap=None))[1].startswith("near is not separable")


def test_a_candidate_that_was_named_or_stands_alone_was_not_chosen() -> None:
    assert told(made(*SOLVED), "best") == []
    assert told(made("best", "old")) == []


def test_tasks_with_unequal_numbers_of_runs_are_said_to_have_them() -> None:
    words = "Tasks have unequal numbers of runs: rates weigh runs, comparisons weigh tasks."
    same: Outcomes = {"x": {"a": [1, None], "b": [0, 1]}, "y": {"a": [1], "b": [0]}}
    more: Outcomes = {"x": {"a": [1, 1], "b": [0]}, "y": {"a": [1], "b": [0]}}
    assert [words in findings(table(one))["headline"]["caveats"] for one in (same, more)] == [False, True]


def test_runs_without_an_outcome_are_not_said_to_be_no_runs_or_one() -> None:
    outcomes: Outcomes = {"x": {f"t{n}": [None, None] for n in range(3)}, "y": {f"t{n}": [1, None] for n in range(3)}}
    found = findings(table(outcomes))
    x = next(agent for agent in found["agents"] if agent["agent"] == "x")
    assert x["success"]["undefined"] == "no run has an outcome"
    chance = "chance within a task cannot be distinguished from skill."
    assert f"No agent has two outcomes at the same task: {chance}" in found["headline"]["caveats"]
    assert any(text.startswith("There is at most one outcome for each task: ") for text in found["cannot"])


def test_runs_that_were_cut_at_different_places_leave_rough_curves() -> None:
    def cannot(seconds: tuple[float, float], usd: tuple[float, float]) -> list[str]:
        rows = runs({"x": {"a": [0], "b": [0], "c": [1]}}, seconds=5.0, cost_usd=0.1)
        for row, time, cost in zip(rows, seconds, usd, strict=False):
            row |= {"censored": 1, "seconds": time, "cost_usd": cost}
        return [text for text in findings(Table.from_rows(rows))["cannot"] if text.startswith("Runs were cut at")]

    assert cannot((600, 600), (2, 2)) == []
    (time,) = cannot((600, 900), (2, 2))
    assert time.startswith("Runs were cut at different times. ")
    (cost,) = cannot((600, 600), (2, 3))
    assert cost.startswith("Runs were cut at different costs, as by a cap on time. ")


def test_no_plan_is_less_precise_than_knowing_nothing() -> None:
    rows: Outcomes = {"x": {"a": [1, 0], "b": [0, 0], "c": [1, 1], "d": [0, 1]}}
    widths = [plan["half_width"] for plan in findings(table(rows))["tradeoff"]["precision"]]
    assert 0.4 < max(widths) <= 0.5 and min(widths) < 0.4


def test_a_level_that_claims_more_often_than_usual_is_told() -> None:
    words = "Alpha is 0.3 instead of 0.05: up to 30.0% of studies would claim a difference where there is none."
    given = made("best", "old")
    assert words in findings(given, Question(alpha=0.3))["headline"]["caveats"]
    assert words in findings(given, Question(alpha=0.29997))["headline"]["caveats"], "rounded for people"
    for alpha in (0.05, 0.01):
        assert not any("Alpha is" in text for text in findings(given, Question(alpha=alpha))["headline"]["caveats"])


@pytest.mark.parametrize("untold", [False, True])
def test_an_agent_that_only_tells_its_successes_is_not_adopted(untold: bool) -> None:
    outcomes: Outcomes = {
        "new": {f"t{n:02}": [1 if n < 8 else None] for n in range(24)},
        "old": {f"t{n:02}": [None if untold and n == 23 else int(n >= 12)] for n in range(24)},
    }
    head = findings(table(outcomes), Question(against="old", candidate="new", minimum_effect=0.05))["headline"]
    assert head["difference"]["value"] == pytest.approx(1.0)
    assert head["verdict"] == "undecided"


def test_places_of_agents_with_one_task_are_not_guessed() -> None:
    outcomes: Outcomes = {"x": {"a": [1] * 10}, "y": {"a": [*[0] * 9, None]}}
    caveats = findings(table(outcomes))["headline"]["caveats"]
    assert any(text.startswith("1 of 20 runs is unknown") for text in caveats)
    assert not any("the first place" in text for text in caveats)


def test_a_place_whose_run_was_repeated_counts_once() -> None:
    rows = [{**row, "run": f"r{number}"} for number, row in enumerate(runs({"a": {"t": [1], "u": [0]}}))]
    spoilt = {**rows[0], "run": "spoilt", "status": "invalid", "scorable": 0, "success": None}
    again = {**rows[0], "retry_of": "spoilt"}
    found = findings(Table.from_rows([spoilt, again, rows[1]]))
    (agent,) = found["agents"]
    assert (agent["attempted"], agent["scorable"], found["source"]["rows"]) == (2, 2, 2)
    assert any(text.startswith("1 run was invalid through no fault") for text in found["headline"]["caveats"])
