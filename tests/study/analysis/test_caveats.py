"""What a reader is told of a candidate that its results chose."""

from __future__ import annotations

from typing import Any

from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Question
from proctor.study.table import Table
from tests.study.analysis.made import runs

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
    assert chosen.startswith("The candidate was chosen by its result: best is the first of 4 that could be held ")
    assert cheaper == "cheap is not separable from best and cheaper: 0.20 USD a run instead of 0.50 USD.", (
        "weak costs less still, but is shown to be worse"
    )


def test_nothing_is_cheaper_than_the_cheapest_nor_than_a_cost_that_nobody_knows() -> None:
    assert len(told(made(*SOLVED, best=0.1))) == 1
    assert len(told(made(*SOLVED, best=None))) == 1
    assert told(made(*SOLVED, cheap=None))[1].startswith("near is not separable")


def test_a_candidate_that_was_named_or_stands_alone_was_not_chosen() -> None:
    assert told(made(*SOLVED), "best") == []
    assert told(made("best", "old")) == []
