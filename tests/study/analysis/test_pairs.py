"""When two agents are separable: by their test, and by an interval that leaves out 0."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.present.html import page
from proctor.present.markdown_report import report
from proctor.present.sentences import sentences
from proctor.study.analysis.findings import findings
from proctor.study.analysis.pairwise_comparison import is_separable
from proctor.study.analysis.question import Question
from tests.study.analysis.made import table

TOLD = "All 4 tasks differ by the same amount. The p value counts their signs (0.125)"


def alike(tasks: int, wins: int) -> dict[str, dict[str, list[int]]]:
    """Agent x wins so many of three trials more than y on every task."""
    names = [f"t{number}" for number in range(tasks)]
    return {
        "x": {name: [1] * wins + [0] * (3 - wins) for name in names},
        "y": {name: [0, 0, 0] for name in names},
    }


@pytest.mark.parametrize("against", [None, "y"])
def test_tasks_that_differ_alike_but_little_are_not_separable_and_that_is_told(against: str | None) -> None:
    found = findings(table(alike(4, 1)), Question(alpha=0.3, against=against))
    (pair,) = found["pairs"]
    assert (pair["p"], pair["p_adjusted"], pair["separable"]) == (0.125, 0.125, False)
    assert pair["difference"]["low"] < 0 < pair["difference"]["high"]
    assert found["headline"]["verdict"] == ("undecided" if against else "ranking")
    (told,) = (text for text in sentences(found["headline"]["caveats"]) if text.startswith(TOLD))
    assert told.endswith("contains 0, so the pair is not separable.")
    assert told in report(found).decode().replace("\\", "") and told in page(found).decode()
    assert {(one["rank"]["best"], one["rank"]["worst"]) for one in found["agents"]} == {(1, 2)}


@pytest.mark.parametrize(("tasks", "alpha"), [(3, 0.3), (4, 0.3), (6, 0.05), (30, 0.05)])
def test_tasks_that_differ_alike_and_as_much_as_they_can_are_separable(tasks: int, alpha: float) -> None:
    found = findings(table(alike(tasks, 3)), Question(alpha=alpha, against="y"))
    (pair,) = found["pairs"]
    assert pair["separable"] and pair["difference"]["low"] > 0 and found["headline"]["verdict"] == "adopt"
    assert not any("differ-alike" in one["code"] for one in found["headline"]["caveats"])


@pytest.mark.parametrize("seed", range(20))
def test_a_separable_pair_has_an_interval_without_0_however_tasks_came_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = {"x": 0.9, "y": 0.5, "z": 0.2}
    outcomes = {
        name: {f"t{task}": rng.binomial(1, rate, 2).tolist() for task in range(4 + 2 * seed)}
        for name, rate in rates.items()
    }
    for pair in findings(table(outcomes), Question(alpha=0.3))["pairs"]:
        low, high = pair["difference"]["low"], pair["difference"]["high"]
        assert not pair["separable"] or low > 0 or high < 0
        assert pair["separable"] or pair["p_adjusted"] >= 0.3 or low <= 0 <= high


@pytest.mark.parametrize(("wins", "apart"), [(1, False), (3, True)])
def test_what_is_supposed_of_runs_is_held_against_both_as_well(wins: int, apart: bool) -> None:
    means = np.column_stack([np.full(4, wins / 3), np.zeros(4)])
    assert is_separable(means, (0, 1), True, 0.3, np.random.default_rng(1)) is apart
