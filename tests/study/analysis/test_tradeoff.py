"""Agents by cost and success, and how precise other plans would be."""

from __future__ import annotations

import pytest

from proctor.study.analysis.findings import findings
from tests.study.analysis.made import table


def test_precision_is_bought_by_tasks_more_than_by_runs() -> None:
    outcomes = {"x": {f"t{n}": [1, 1, 1, 1, 0] if n % 2 else [0, 0, 0, 0, 1] for n in range(10)}}
    found = findings(table(outcomes, cost_usd=0.5))["tradeoff"]
    success = findings(table(outcomes))["agents"][0]["success"]
    assert found["agents"][0]["usd_per_run"] == 0.5
    assert [found["agents"][0][part] for part in ("success", "low", "high")] == [
        success[part] for part in ("value", "low", "high")
    ]
    plans = {(plan["runs_per_task"], plan["tasks"]): plan for plan in found["precision"]}
    assert plans[5, 10]["half_width"] < plans[1, 10]["half_width"]
    assert plans[1, 20]["usd"] == 10.0
    assert plans[1, 20]["half_width"] < plans[1, 10]["half_width"]
    # The plan that was run has the interval that the table of rates has.
    assert plans[5, 10]["half_width"] == pytest.approx((success["high"] - success["low"]) / 2)
    # With one run each, heads and tails at a rate of 1/2: the exact interval of 5 in 10 is 0.187 to 0.813.
    assert plans[1, 10]["half_width"] == pytest.approx(0.3130, abs=1e-3)


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("runs_each", [1, 3])
def test_p4_outcomes_without_any_variance_leave_an_interval(outcome: int, runs_each: int) -> None:
    outcomes = {"x": {f"t{n}": [outcome] * runs_each for n in range(10)}}
    found = findings(table(outcomes))
    success = found["agents"][0]["success"]
    assert success["value"] == outcome and success["high"] - success["low"] == pytest.approx(1 - 0.025 ** (1 / 10))
    widths = {(plan["runs_per_task"], plan["tasks"]): plan["half_width"] for plan in found["tradeoff"]["precision"]}
    # Clopper and Pearson's bound with each task as one trial, as in the table of rates.
    assert widths[1, 10] == pytest.approx((success["high"] - success["low"]) / 2)
    assert widths[1, 40] == pytest.approx((1 - 0.025 ** (1 / 40)) / 2)
    assert all(width > 0 for width in widths.values())


def test_p4_one_agent_without_variance_does_not_hide_that_of_another() -> None:
    mixed = {f"t{n}": [1, 0] if n % 2 else [0, 1] for n in range(10)}
    both = findings(table({"x": {f"t{n}": [1, 1] for n in range(10)}, "y": mixed}))["tradeoff"]["precision"]
    alone = findings(table({"y": mixed}))["tradeoff"]["precision"]
    assert all(0 < one["half_width"] < other["half_width"] for one, other in zip(both, alone, strict=True))


def test_single_runs_show_no_chance_within_tasks() -> None:
    found = findings(table({"x": {f"t{n}": [n % 2] for n in range(10)}}))
    assert {plan["runs_per_task"] for plan in found["tradeoff"]["precision"]} == {1}
    assert {"code": "variation-unknown", "trials": True} in found["cannot"]
