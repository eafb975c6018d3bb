"""The parts of findings beside rates: strata, costs, times, modes, gates, caps and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question, measured_from
from proctor.study.run_table import Table
from proctor.study.statements import statement
from tests.study.analysis.made import runs, table


def of(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The one row that has these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def changed(rows: list[dict[str, Any]], **columns: Any) -> Table:
    """A table in which each column is computed from its row."""
    return Table.from_rows({**row, **{name: make(row) for name, make in columns.items()}} for row in rows)


ONE = {"x": {f"t{n}": [1, 0] for n in range(4)}}


def test_strata_and_their_weights() -> None:
    rows = runs({"x": {**{f"e{n}": [1] for n in range(6)}, **{f"h{n}": [int(n < 1)] for n in range(4)}}})
    made = changed(rows, stratum=lambda row: "easy" if row["task"].startswith("e") else "hard", cost_usd=lambda _: 0.5)
    found = findings(made)
    easy, hard = of(found["strata"], stratum="easy"), of(found["strata"], stratum="hard")
    assert (easy["tasks"], easy["runs"], easy["success"]["value"], easy["cost_usd"]) == (6, 6, 1.0, 3.0)
    assert (hard["tasks"], hard["success"]["value"]) == (4, 0.25)
    assert found["weighted"][0]["estimate"]["value"] == pytest.approx((1 + 0.25) / 2)
    assert found["weighted"][0]["weights"] is None
    asked = findings(made, Question(weights={"easy": 1.0, "hard": 3.0}))
    assert asked["weighted"][0]["estimate"]["value"] == pytest.approx((1 + 3 * 0.25) / 4)
    assert asked["weighted"][0]["weights"] == {"easy": 0.25, "hard": 0.75}
    alone = findings(made, Question(weights={"easy": 0.0, "hard": 3.0}))["weighted"][0]
    assert alone["estimate"]["value"] == 0.25, "a stratum may count for nothing"
    assert of(found["cost"]["by_stratum"], stratum="hard")["usd"] == 2.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"easy": 1.0}, "'hard' has no weight"),
        ({"easy": 1.0, "hard": 1.0, "odd": 1.0}, "no stratum 'odd'"),
        ({"easy": -1.0, "hard": 2.0}, "none negative"),
        ({"easy": float("nan"), "hard": 2.0}, "none negative"),
        ({"easy": float("inf"), "hard": 2.0}, "none negative"),
    ],
)
def test_weights_that_cannot_be(weights: dict[str, float], message: str) -> None:
    rows = runs({"x": {"e": [1], "h": [0]}})
    made = changed(rows, stratum=lambda row: {"e": "easy", "h": "hard"}[row["task"]])
    with pytest.raises(UsageFault, match=message):
        findings(made, Question(weights=weights))


def test_one_stratum_is_none() -> None:
    found = findings(table(ONE, stratum="only"))
    assert (found["strata"], found["weighted"], found["cost"]["by_stratum"]) == ([], [], [])


def test_weights_need_strata() -> None:
    with pytest.raises(UsageFault, match="weights need several strata, and the table has none"):
        findings(table(ONE), Question(weights={"easy": 1.0}))
    with pytest.raises(UsageFault, match="and the table has one: all tasks are of 'django/django'"):
        findings(table(ONE, stratum="django/django"), Question(weights={"django/django": 1.0}))


def test_a_stratum_counts_the_tasks_that_an_agent_attempted() -> None:
    rows = runs({"x": {"a": [1], "b": [0], "c": [1]}, "y": {"a": [1]}})
    found = findings(changed(rows, stratum=lambda row: "s" if row["task"] < "c" else "r"))["strata"]
    assert {(row["stratum"], row["agent"]): row["tasks"] for row in found} == {
        ("r", "x"): 1,
        ("s", "x"): 2,
        ("s", "y"): 1,
    }


def test_a_task_in_two_strata_is_in_neither() -> None:
    rows = runs({"x": {"a": [1, 1], "b": [0, 0]}})
    found = findings(changed(rows, stratum=lambda row: f"s{row['trial']}" if row["task"] == "a" else "s1"))
    assert [row["stratum"] for row in found["strata"]] == ["(several)", "s1"]
    assert {"code": "task-in-several-strata", "tasks": 1} in found["cannot"]


def test_what_has_no_name_is_called_so() -> None:
    rows = runs({"x": {"a": [1], "b": [0], "c": [1]}})
    made = changed(rows, stratum=lambda row: {"a": "A", "b": None, "c": "C"}[row["task"]])
    assert [row["stratum"] for row in findings(made)["strata"]] == ["(no name)", "A", "C"]
    found = findings(changed(rows, method=lambda row: "x" if row["task"] == "a" else None))
    assert {one["agent"]: one["attempted"] for one in found["agents"]} == {"x": 1, "(no name)": 2}


def test_items_of_a_cost_add_up() -> None:
    made = table(
        ONE,
        cost_usd=1.0,
        model_usd=0.5,
        execution_usd=0.3,
        setup_execution_usd=0.05,
        agent_execution_usd=0.15,
        human_usd=0.1,
        review_usd=0.2,
    )
    items = findings(made)["cost"]["items"]
    amounts = {(row["item"], row["phase"]): row["usd"] for row in items}
    assert amounts == pytest.approx(
        {
            ("model", "attempt"): 4.0,
            ("human", "approval"): 0.8,
            ("human", "review"): 1.6,
            ("execution", "setup"): 0.4,
            ("execution", "attempt"): 1.2,
            ("execution", "unknown"): 0.8,
            ("unattributed", "none"): 0.8,
        }
    )
    assert sum(amounts.values()) - amounts["human", "review"] == pytest.approx(8.0)
    assert findings(made)["agents"][0]["cost"]["total_usd"] == pytest.approx(8.0)


def test_costs_by_outcome_and_task() -> None:
    made = changed(
        runs(ONE), cost_usd=lambda row: 2.0 if row["success"] else None, seconds=lambda row: 10.0 * row["trial"]
    )
    found = findings(made)
    won, lost = (of(found["cost"]["by_outcome"], status=status) for status in ("success", "failure"))
    assert (won["runs"], won["usd"], won["seconds"]) == (4, 8.0, 40.0)
    assert (lost["runs"], lost["usd"], lost["seconds"]) == (4, None, 80.0), "what was not metered is not 0"
    assert (won["metered"], lost["metered"]) == (4, 0)
    task = of(found["cost"]["by_task"], task="t1")
    assert (task["agent"], task["runs"], task["usd"], task["seconds"], task["tokens_in"]) == ("x", 2, 2.0, 30.0, None)
    cost = found["agents"][0]["cost"]
    assert (cost["total_usd"], cost["metered"], cost["per_run_usd"]) == (8.0, 4, 2.0)
    assert cost["per_success_usd"] == 4.0, "failures are paid for as well, whether metered or not"
    assert cost["tokens_in"] is None


def test_the_price_of_a_success_has_an_interval_over_tasks() -> None:
    outcomes = {"x": {f"t{n}": [1, int(n % 3 > 0)] for n in range(12)}}
    price = findings(table(outcomes, cost_usd=1.5))["agents"][0]["cost"]["per_success"]
    assert price["value"] == pytest.approx(36 / 20) and price["low"] < 36 / 20 < price["high"]
    assert (price["method"], price["clusters"]) == ("bootstrap-bca", 12)


def test_costs_that_are_all_alike_have_no_interval() -> None:
    outcomes = {"x": {f"t{n}": [1, 1] for n in range(12)}, "y": {f"t{n}": [1, int(n > 3)] for n in range(12)}}
    always, mostly = (one["cost"] for one in findings(table(outcomes, cost_usd=1.5))["agents"])
    assert (always["per_run_usd"], always["per_success_usd"]) == (1.5, 1.5)
    why = {"code": "all-tasks-cost-alike", "tasks": 12}
    for part in ("per_run", "per_success"):
        assert (always[part]["value"], always[part]["low"], always[part]["undefined"]) == (None, None, why)
        assert always[part]["clusters"] == 12
    assert mostly["per_run"]["undefined"] == why and mostly["per_run_usd"] == 1.5
    assert mostly["per_success"]["low"] < mostly["per_success_usd"] < mostly["per_success"]["high"]
    free = findings(table(outcomes, cost_usd=0.0))["agents"][0]["cost"]
    assert free["per_run_usd"] == 0.0 and free["per_run"]["undefined"] == why


def test_without_a_success_there_is_no_cost_of_one() -> None:
    found = findings(table({"x": {"a": [0], "b": [0]}}, cost_usd=1.5))
    assert found["agents"][0]["cost"]["per_success_usd"] is None
    assert found["agents"][0]["cost"]["per_success"]["undefined"] == {"code": "no-success"}
    assert found["headline"]["cost"] == [
        {"code": "agent-cost", "agent": "x", "per_run_usd": 1.5, "per_success_usd": None, "unit": "USD"}
    ]
    assert findings(table({"x": {"a": [1], "b": [0]}}))["headline"]["cost"] == [
        {"code": "agent-cost-unknown", "agent": "x"}
    ]


def test_costs_and_times_are_told_with_their_quartiles() -> None:
    rows = runs({"x": {f"t{n}": [1] for n in range(5)}, "y": {"t0": [0]}})
    made = changed(
        rows,
        seconds=lambda row: None if row["agent"] == "y" else 10.0 * int(row["task"][1:]),
        stratum=lambda row: "even" if row["task"] in ("t0", "t2", "t4") else "odd",
        billed_usd=lambda row: 0.25,
        human_minutes=lambda row: 3.0 if row["task"] == "t1" else None,
    )
    found = findings(made)
    assert of(found["cost"]["by_outcome"], agent="x")["seconds_quartiles"] == [10.0, 20.0, 30.0]
    assert of(found["cost"]["by_outcome"], agent="y")["seconds_quartiles"] is None
    assert of(found["cost"]["by_stratum"], agent="x", stratum="even")["seconds_quartiles"] == [10.0, 20.0, 30.0]
    assert of(found["cost"]["by_stratum"], agent="x", stratum="odd")["seconds_quartiles"] == [15.0, 20.0, 25.0]
    cost = of(found["agents"], agent="x")["cost"]
    assert (cost["billed_usd"], cost["human_minutes"], cost["total_usd"]) == (1.25, 3.0, None)


def test_many_strata_keep_those_with_most_runs() -> None:
    rows = runs({"x": {f"t{n:03}": [1, 1] if n < 5 else [1] for n in range(210)}})
    found = findings(changed(rows, stratum=lambda row: f"s{row['task'][1:]}"))
    kept = [row["stratum"] for row in found["strata"]]
    assert len(kept) == 200
    assert {"s000", "s004"} <= set(kept)
    assert "s209" not in kept
    assert [row["stratum"] for row in found["cost"]["by_stratum"]] == kept


def test_many_costs_by_task_keep_the_dearest() -> None:
    rows = runs({"x": {f"t{n}": [1] for n in range(5100)}})
    found = findings(changed(rows, cost_usd=lambda row: float(row["task"][1:])))
    kept = {row["task"] for row in found["cost"]["by_task"]}
    assert len(kept) == 5000
    assert found["cost"]["by_task_left_out"] == 100
    assert "t5099" in kept
    assert "t99" not in kept


SIX_MP = [(6, 1), (6, 1), (6, 1), (6, 0), (7, 1), (9, 0), (10, 1), (10, 0), (11, 0), (13, 1), (16, 1)]
SIX_MP += [(17, 0), (19, 0), (20, 0), (22, 1), (23, 1), (25, 0), (32, 0), (32, 0), (34, 0), (35, 0)]
"""Freireich's 6-MP arm: weeks, and whether the remission ended."""


def test_time_cut_at_a_cap_is_not_time_that_ended() -> None:
    # R: survfit(Surv(t, e) ~ 1) on the 6-MP arm has median 23 and restricted mean 23.287 at 35.
    rows = [
        {**row, "seconds": float(time), "censored": 1 - event}
        for row, (time, event) in zip(runs({"x": {f"t{n:02}": [1] for n in range(21)}}), SIX_MP, strict=True)
    ]
    (curve,) = findings(Table.from_rows(rows))["survival"]
    assert (curve["of"], curve["events"], curve["censored"]) == ("seconds", 9, 12)
    assert curve["median"] == 23
    assert curve["horizon"] == 35
    assert round(curve["mean"]["value"], 3) == 23.287
    shares = {step[0]: round(step[1], 3) for step in curve["steps"]}
    assert shares == {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert curve["cap"] is None, "they were cut at different times"


def test_one_cap_is_recognised_and_all_share_a_horizon() -> None:
    rows = runs({"x": {f"t{n}": [1] for n in range(6)}, "y": {f"t{n}": [1] for n in range(6)}})
    made = changed(
        rows,
        seconds=lambda row: min(60.0, 10.0 + 15 * int(row["task"][1:])) if row["agent"] == "x" else 5.0,
        censored=lambda row: int(row["agent"] == "x" and int(row["task"][1:]) >= 4),
    )
    curves = {curve["agent"]: curve for curve in findings(made)["survival"]}
    assert (curves["x"]["cap"], curves["x"]["censored"]) == (60.0, 2)
    assert (curves["y"]["cap"], curves["y"]["censored"]) == (None, 0)
    assert {curve["horizon"] for curve in curves.values()} == {60.0}
    assert curves["y"]["mean"]["value"] == 5.0


def test_modes_are_counted_over_runs_that_did_not_succeed() -> None:
    rows = runs({"x": {f"t{n}": [0, 1] for n in range(4)}, "y": {"t0": [1]}})
    tags = {"t0": "slow;wrong", "t1": "wrong", "t2": "wrong;wrong", "t3": "odd"}
    found = findings(changed(rows, tags=lambda row: tags[row["task"]], cost_usd=lambda _: 1.0))["modes"]
    assert found["tags"] == ["wrong", "odd", "slow"]
    assert found["rows"][0] == {"agent": "x", "counts": {"wrong": 3, "odd": 1, "slow": 1}, "runs": 8}
    assert found["rows"][1] == {"agent": "y", "counts": {}, "runs": 1}
    (seen,) = found["discovery"]
    # Two modes were seen in one run only, in eight runs that cost 8: the next one costs about 4.
    assert (seen["found"], seen["marginal_usd"]["value"]) == (3, 4.0)
    assert seen["curve"][-1] == [8, 8.0, 3.0]
    assert seen["curve"][0][2] == pytest.approx(5 / 8)


def test_a_mode_without_costs_has_no_price() -> None:
    (seen,) = findings(table({"x": {"a": [0], "b": [0]}}, tags="odd"))["modes"]["discovery"]
    assert seen["marginal_usd"]["value"] is None
    assert seen["marginal_usd"]["undefined"] == {"code": "no-cost-known"}
    assert seen["curve"][0][1] is None


def test_a_funnel_counts_runs_that_took_every_step() -> None:
    rows = runs({"x": {"a": [1, 0, 0, -1]}, "y": {"a": [1]}})
    gates = {1: (1, 1, 1, 1), 2: (1, 0, 1, 1), 3: (0, 1, 1, 1), 4: (None,) * 4}
    made = changed(rows, **{f"gate{n}": lambda row, n=n: gates[row["trial"]][n - 1] for n in (1, 2, 3, 4)})
    steps = findings(made)["funnel"][0]["steps"]
    assert [(step["name"], step["count"]) for step in steps] == [
        ("attempted", 4),
        ("scorable", 3),
        ("gate-1", 2),
        ("gate-2", 1),
        ("gate-3", 1),
        ("gate-4", 1),
        ("success", 1),
    ]
    plain = findings(table({"x": {"a": [1, None, -1]}}))["funnel"][0]["steps"]
    assert [step["count"] for step in plain] == [3, 2, 1, 1]
    assert plain[2]["name"] == "outcome-known"


def test_other_caps_are_counterfactual_and_apart() -> None:
    rows = runs({"x": {f"t{n}": [int(n < 8)] for n in range(10)}})
    made = changed(rows, seconds=lambda row: 10.0 + int(row["task"][1:]))
    asked = findings(made, Question(caps={"seconds": (13.0,)}))
    (row,) = asked["counterfactual"]
    assert (row["of"], row["cap"]) == ("seconds", 13)
    assert row["success"]["value"] == pytest.approx(0.4)
    assert asked["agents"][0]["success"]["value"] == pytest.approx(0.8), "the primary number stays"
    assert findings(made)["counterfactual"] == [], "too few successes to take a cap from"


def test_caps_are_taken_from_the_data_when_none_is_asked_for() -> None:
    rows = runs({"x": {f"t{n}": [1] for n in range(101)}})
    found = findings(changed(rows, cost_usd=lambda row: 1 + int(row["task"][1:]) / 100))["counterfactual"]
    assert [(row["of"], row["cap"]) for row in found] == [
        ("cost_usd", 1.5),
        ("cost_usd", 1.8),
    ]
    assert found[0]["success"]["value"] == pytest.approx(51 / 101)


def test_an_agent_with_unmeasured_successes_has_no_counterfactual() -> None:
    rows = runs({"x": {"a": [1], "b": [1]}, "y": {"a": [1], "b": [1]}})
    made = changed(rows, seconds=lambda row: None if row["run"] == "x/a/1" else 5.0)
    found = findings(made, Question(caps={"seconds": (6.0,)}))["counterfactual"]
    assert [row["agent"] for row in found] == ["y"]


def test_runs_under_different_conditions_are_not_counted_together() -> None:
    rows = runs({"x": {"a": [1, 1], "b": [1, 1]}, "y": {"a": [0, 0], "b": [1, 0]}})
    mixed = changed(rows, comparability=lambda row: f"c-{row['task']}-{row['trial'] if row['task'] == 'b' else 1}")
    with pytest.raises(UsageFault) as caught:
        findings(mixed)
    assert "different conditions" in str(caught.value)
    assert "b: c-b-1, c-b-2" in str(caught.value)
    assert "a: " not in str(caught.value)
    for names in (("b",), ("all",)):
        found = findings(mixed, Question(mixed=names))
        assert found["headline"]["caveats"][0] == {"code": "mixed-conditions", "tasks": ["b"]}
        assert found["deviations"][0]["code"] == "mixed-conditions"
    with pytest.raises(UsageFault):
        findings(mixed, Question(mixed=("a",)))


def test_versions_of_a_contract_are_not_counted_together() -> None:
    rows = runs({"x": {"a": [1, 1], "b": [0, 0]}})
    made = changed(rows, contract=lambda row: f"sha256:{row['task']}{row['trial']}")
    with pytest.raises(UsageFault, match="a: a1, a2"):
        findings(made)


def test_classes_are_listed_with_their_agents() -> None:
    rows = runs({"x": {"a": [1], "b": [1]}, "y": {"b": [0]}})
    found = findings(
        changed(rows, comparability=lambda row: f"c{row['task']}"),
        None,
        Extras(differs={"ca": (statement("conditions-differ"),)}),
    )
    assert found["comparability"] == [
        {"class": "cb", "runs": 2, "agents": ["x", "y"], "counts": [1, 1], "differs": [{"code": "task", "task": "b"}]},
        {"class": "ca", "runs": 1, "agents": ["x"], "counts": [1], "differs": [{"code": "conditions-differ"}]},
    ]


def test_what_a_table_does_not_support_is_said() -> None:
    found = findings(table({"x": {"a": [1], "b": [0]}, "y": {"a": [1]}}))
    assert found["source"]["trials"] == {"min": 1, "max": 1}, "of the pairs that were run"
    said = [one["code"] for one in found["cannot"]]
    limits = ["variation-unknown", "only-few-tasks", "no-costs", "no-times"]
    assert said == [*limits, "pairs-without-runs", "no-strata", "no-conditions"]
    assert {"code": "pairs-without-runs", "pairs": 1, "of": 4} in found["cannot"]
    assert {"code": "one-agent"} in findings(table({"x": {"a": [1], "b": [0]}}))["cannot"]


def test_the_window_is_that_of_the_runs() -> None:
    rows = runs(ONE)
    found = findings(changed(rows, begun=lambda row: f"2026-03-0{row['trial']}T00:00:00Z"))
    assert found["scope"]["window"] == ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"]
    assert findings(table(ONE))["scope"]["window"] == [None, None]


def test_rates_are_corrected_by_errors_that_were_measured() -> None:
    outcomes = {"x": {f"t{n}": [1, int(n % 3 > 0)] for n in range(12)}}
    (agent,) = findings(table(outcomes), Question(measured=measured_from("8/8, 126/130")))["agents"]
    measured, *assumed = agent["corrected"]
    assert (measured["sensitivity"], measured["sensitivity_n"], measured["specificity_n"]) == (1.0, 8, 130)
    right = (20 / 24 + 126 / 130 - 1) / (126 / 130)
    assert measured["estimate"]["value"] == pytest.approx(right)
    assert measured["estimate"]["low"] < agent["success"]["low"], "few right patches leave much doubt"
    assert [one["sensitivity_n"] for one in assumed] == [None, None]
    assert len(findings(table(outcomes))["agents"][0]["corrected"]) == 2


@pytest.mark.parametrize("text", ["", "8/8", "9/8,1/1", "1/1,0/0", "0/0,1/1", "-1/2,1/2", "0.9,0.9", "1/1,1/1,1/1"])
def test_errors_that_are_no_counts_are_refused(text: str) -> None:
    with pytest.raises(UsageFault, match="how often checks were right"):
        measured_from(text)
