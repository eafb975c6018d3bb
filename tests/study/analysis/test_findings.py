"""Findings from small tables whose numbers can be worked out by hand."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.base.errors import UsageFault
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question
from proctor.study.run_table import Table
from proctor.study.statements import statement
from tests.english import english
from tests.study.analysis.made import Outcomes, runs, table

TWO = {
    "x": {f"t{number}": [1] * 5 if number < 18 else [0] * 5 for number in range(20)},
    "y": {f"t{number}": [1] * 5 if number < 8 else [0] * 5 for number in range(20)},
}
"""x solves 18 of 20 tasks, y 8 of them, always."""

SHAPE = {
    "schema",
    "kind",
    "source",
    "question",
    "headline",
    "agents",
    "pairs",
    "strata",
    "weighted",
    "cost",
    "survival",
    "modes",
    "funnel",
    "tradeoff",
    "agreement",
    "counterfactual",
    "deviations",
    "comparability",
    "cannot",
    "scope",
    "appendix",
    "runs",
    "runs_left_out",
}


def agent(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["agents"] if one["agent"] == name)


def test_findings_are_plain_data_with_every_part() -> None:
    found = findings(table(TWO), Question(), Extras(name="made", digest="sha256:0"))
    assert set(found) == SHAPE
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["source"]["rows"] == 200
    assert found["source"]["trials"] == {"min": 5, "max": 5}
    assert found["kind"] == "proctor.findings"


def test_success_error_and_invalid_are_always_apart() -> None:
    outcomes: Outcomes = {"x": {"a": [1, 0, 2, -1], "b": [1, 1, 0, -1], "c": [1, None, 2, 0]}}
    one = findings(table(outcomes))["agents"][0]
    assert (one["attempted"], one["scorable"]) == (12, 10)
    assert one["success"]["value"] == pytest.approx(4 / 9), "4 of the 9 scorable runs with an outcome"
    assert one["error"]["value"] == pytest.approx(2 / 10), "of the scorable runs"
    assert one["invalid"]["value"] == pytest.approx(2 / 12), "of those attempted"
    assert one["intention_to_treat"]["value"] == pytest.approx(4 / 12)


def test_unknown_outcomes_are_bounded_as_manski_does() -> None:
    # Manski (1989): 21 of 106 known to be yes and 42 unknown give 0.198 to 0.594.
    outcomes = {"x": {f"t{n}": [1 if n < 21 else None if n < 63 else 0] for n in range(106)}}
    one = findings(table(outcomes))["agents"][0]
    assert round(one["bounds"]["low"], 3) == 0.198
    assert round(one["bounds"]["high"], 3) == 0.594
    assert one["bounds"]["unknown"] == 42
    assert one["bounds"]["low"] < one["imputed"]["value"] < one["bounds"]["high"]
    assert agent(findings(table(TWO)), "x")["imputed"] is None


def test_pass_at_k_and_all_of_k() -> None:
    # By definition: two successes in five runs give 0.4, 0.7, 0.9; four in five give 0.6 for all of two.
    outcomes = {"x": {"a": [1, 1, 0, 0, 0], "b": [1, 1, 0, 0, 0]}, "y": {"a": [1, 1, 1, 1, 0], "b": [1, 1, 1, 1, 0]}}
    found = findings(table(outcomes))
    assert [one["estimate"]["value"] for one in agent(found, "x")["pass_at"]][:3] == [0.4, 0.7, 0.9]
    assert agent(found, "y")["all_of"][1]["k"] == 2
    assert agent(found, "y")["all_of"][1]["estimate"]["value"] == pytest.approx(0.6)
    assert [one["k"] for one in agent(found, "x")["pass_at"]] == [1, 2, 3, 4, 5]


def test_an_unknown_outcome_is_no_success_in_pass_at_k() -> None:
    outcomes: Outcomes = {"x": {"a": [1, None], "b": [None, None], "c": [0, 1]}}
    one = findings(table(outcomes))["agents"][0]
    assert one["pass_at"][1]["estimate"]["value"] == pytest.approx(2 / 3)
    assert one["all_of"][1]["estimate"]["value"] == 0


def test_one_pair_is_compared_by_task_means() -> None:
    found = findings(table(TWO))
    pair = found["pairs"][0]
    assert (pair["a"], pair["b"], pair["tasks"]) == ("x", "y", 20)
    assert pair["difference"]["value"] == pytest.approx(0.5)
    # Ten of twenty differences are 1: t = 0.5 / (0.51299 / sqrt(20)) = 4.3589 with 19 degrees of freedom.
    assert pair["difference"]["low"] == pytest.approx(0.25991, abs=1e-5)
    # Fewer than 20 tasks differ, and hardly a study drawn from them has so large a t: p is the larger one of Student's,
    # 0.000338, and that of signs.
    assert pair["p"] == pytest.approx(2 / 1024)
    # Of 2^10 patterns of signs two are as extreme.
    assert pair["p_sign_flip"] == pytest.approx(2 / 1024)
    assert pair["p_adjusted"] == pair["p"], "with 20 tasks the t test decides a single comparison"
    assert pair["separable"]
    fewer = {name: {task: made for task, made in tasks.items() if task != "t19"} for name, tasks in TWO.items()}
    few = findings(table(fewer))["pairs"][0]
    assert few["tasks"] == 19 and few["p"] < few["p_sign_flip"]
    assert few["p_adjusted"] == few["p_sign_flip"], "with fewer the larger counts"


def test_with_twenty_tasks_the_t_test_decides_and_signs_are_told() -> None:
    # Four of twenty tasks differ, all for x: t = 2.179, p = 0.042; of 2^4 patterns of signs two are as extreme.
    outcomes: Outcomes = {
        "x": {f"t{n}": [1] for n in range(20)},
        "y": {f"t{n}": [int(n > 3)] for n in range(20)},
    }
    head = findings(table(outcomes), Question(against="y"))["headline"]
    assert head["verdict"] == "adopt"
    assert head["caveats"][0]["code"] == "signs-do-not-confirm" and head["caveats"][0]["p"] == 0.125
    few = {name: {task: made for task, made in tasks.items() if task != "t19"} for name, tasks in outcomes.items()}
    assert findings(table(few), Question(against="y"))["headline"]["verdict"] == "undecided"


def test_no_pair_of_many_is_separable_that_would_not_be_alone() -> None:
    # x is ahead of y by a little, and once by far: that is too uneven for the t test, but not for signs.
    tasks = [f"t{number}" for number in range(8)]
    outcomes: Outcomes = {
        "x": {task: [1] * 10 for task in tasks},
        "y": {task: [1] * 9 + [0] if number else [0] * 10 for number, task in enumerate(tasks)},
        "z": {task: [0, 1] * 5 for task in tasks},
    }
    pairs = findings(table(outcomes))["pairs"]
    assert pairs[0]["p"] > 0.05 > pairs[0]["p_sign_flip"]
    assert all(pair["p_adjusted"] >= max(pair["p"], pair["p_sign_flip"]) for pair in pairs)


def test_agents_that_cannot_be_told_apart_share_ranks() -> None:
    outcomes = {
        **TWO,
        "z": {f"t{number}": [1] * 5 if 1 <= number < 18 else [0] * 5 for number in range(20)},
    }
    found = findings(table(outcomes))
    places = {one["agent"]: one["rank"] for one in found["agents"]}
    assert places["x"] == {"position": 1, "best": 1, "worst": 2}
    assert places["z"] == {"position": 2, "best": 1, "worst": 2}
    assert places["y"] == {"position": 3, "best": 3, "worst": 3}
    assert [pair["separable"] for pair in found["pairs"]] == [False, True, True]
    assert found["headline"]["reason"]["not_separable"] == ["z"]


def test_agents_alike_share_a_position() -> None:
    found = findings(table({"b": {"t": [1], "u": [0]}, "a": {"t": [0], "u": [1]}}))
    assert [(one["agent"], one["rank"]["position"]) for one in found["agents"]] == [("a", 1), ("b", 1)]


def test_too_little_is_undefined_and_never_zero() -> None:
    found = findings(table({"x": {"t": [1]}, "y": {"t": [0]}}))
    assert agent(found, "x")["success"]["value"] is None
    assert agent(found, "x")["success"]["undefined"] == {"code": "one-task", "rate": 1.0, "runs": 1}
    assert found["pairs"][0]["p"] is None
    assert not found["pairs"][0]["separable"]
    assert {"code": "one-task-only"} in found["cannot"]
    with pytest.raises(UsageFault, match="no runs"):
        findings(Table.from_rows([]))


def test_more_agents_than_can_be_compared_are_refused() -> None:
    with pytest.raises(UsageFault, match="101 agents are too many"):
        findings(table({f"a{number}": {"t": [1]} for number in range(101)}))


def test_what_is_ranked_by_is_said_and_can_be_chosen() -> None:
    outcomes: Outcomes = {"x": {"a": [1, None], "b": [1, None]}, "y": {"a": [1, 1], "b": [1, 0]}}
    assert findings(table(outcomes))["agents"][0]["agent"] == "x"
    asked = findings(table(outcomes), Question(endpoint="intention-to-treat"))
    assert asked["agents"][0]["agent"] == "y"
    caveats = english(findings(table(outcomes)))["headline"]["caveats"]
    assert any("invalid and unknown runs are left out" in text for text in caveats)
    assert any("y would be first" in text for text in caveats)
    assert any("counts against the agent" in text for text in english(asked)["headline"]["caveats"])


def test_runs_and_their_query_stand_behind_the_numbers() -> None:
    found = findings(table({"o'x": {f"t{n}": [1] for n in range(300)}, "y": {"t1": [1]}}))
    one = agent(found, "o'x")
    assert len(one["runs"]) == 200
    assert one["query"] == "select * from runs where method = 'o''x' order by task, trial"
    assert set(one["runs"]) <= {row["run"] for row in found["runs"]}
    assert found["runs_left_out"] == 0


def test_many_runs_are_listed_in_part_and_counted() -> None:
    found = findings(table({"x": {f"t{n}": [1] for n in range(4000)}, "y": {f"t{n}": [0] for n in range(2000)}}))
    assert len(found["runs"]) == 4500, "2500 of x and all 2000 of y"
    assert found["runs_left_out"] == 1500


def test_extras_are_carried_into_the_findings() -> None:
    extras = Extras(
        kind="pilot",
        deviations=(statement("no-baseline-with-solution"),),
        cannot=(statement("no-traces"),),
        languages=("python",),
        not_to_generalise=(statement("other-tasks"),),
        agreement={"cohen": 0.5},
        appendix={"locks": ["a"]},
    )
    found = findings(table(TWO), Question(pilot="sha256:p"), extras)
    assert found["deviations"] == [{"code": "no-baseline-with-solution"}]
    assert {"code": "no-traces"} in found["cannot"]
    assert found["scope"]["languages"] == ["python"]
    assert {"code": "other-tasks"} in found["scope"]["not_to_generalise"]
    assert found["agreement"] == {"cohen": 0.5}
    assert found["appendix"]["locks"] == ["a"]
    assert found["appendix"]["seeds"] == {"planned": 20260307, "observed": [20260307]}
    assert found["question"]["pilot"] == "sha256:p"


OUTCOME = st.sampled_from([1, 1, 0, 0, None, -1, 2])
MADE = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.dictionaries(
        st.sampled_from([f"t{n}" for n in range(6)]), st.lists(OUTCOME, min_size=1, max_size=3), min_size=1
    ),
    min_size=2,
)


@settings(max_examples=25, deadline=None)
@given(MADE, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(outcomes: dict[str, Any], chance: random.Random) -> None:
    rows = runs(outcomes, cost_usd=0.1, seconds=3.0, stratum="s")
    shuffled = chance.sample(rows, len(rows))
    assert json.dumps(findings(Table.from_rows(rows))) == json.dumps(findings(Table.from_rows(shuffled)))


@settings(max_examples=25, deadline=None)
@given(MADE)
def test_names_of_agents_change_nothing_but_labels(outcomes: dict[str, Any]) -> None:
    other = {"a": "z", "b": "q", "c": "m", "d": "A"}
    first = findings(table(outcomes))
    second = findings(table({other[name]: tasks for name, tasks in outcomes.items()}))
    for one in first["agents"]:
        same = agent(second, other[one["agent"]])
        for part in ("success", "intention_to_treat", "error", "invalid", "rank", "pass_at", "bounds", "imputed"):
            assert same[part] == one[part]
    pairs = {frozenset((pair["a"], pair["b"])): pair for pair in second["pairs"]}
    for pair in first["pairs"]:
        same = pairs[frozenset((other[pair["a"]], other[pair["b"]]))]
        assert same["p_adjusted"] == pair["p_adjusted"]
        assert same["separable"] == pair["separable"]
