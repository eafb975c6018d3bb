"""The answer and its rule."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.study.analysis.findings import findings as analysed
from proctor.study.analysis.pairwise_comparison import ADOPT, KEEP, UNDECIDED, decide
from proctor.study.analysis.question import Question
from proctor.study.run_table import Table
from proctor.study.statements import statement
from proctor.study.stats.estimate import defined, undefined
from tests.english import english
from tests.study.analysis.made import Outcomes, runs, table


def findings(*given: Any, **named: Any) -> Any:
    """Findings in English."""
    return english(analysed(*given, **named))


FAILED = {"best": {7}, "alike": {7, 8}, "dearer": {7, 9}, "poor": set(range(30)) - {3}}
"""The tasks at which each of four agents failed."""


@pytest.mark.parametrize(
    ("value", "low", "high", "minimum", "separable", "verdict"),
    [
        (0.20, 0.10, 0.30, 0.05, True, ADOPT),
        (0.20, 0.10, 0.30, None, True, ADOPT),
        (0.20, 0.10, 0.30, 0.05, False, UNDECIDED),
        (0.05, 0.01, 0.09, 0.05, True, ADOPT),
        (0.20, -0.01, 0.41, 0.05, True, UNDECIDED),
        (0.04, 0.01, 0.07, 0.05, True, UNDECIDED),
        (0.03, 0.01, 0.04, 0.05, True, KEEP),
        (0.03, 0.01, 0.05, 0.05, True, UNDECIDED),
        (-0.10, -0.20, -0.01, None, True, KEEP),
        (-0.10, -0.20, 0.00, None, True, KEEP),
        (0.00, -0.04, 0.04, 0.05, False, KEEP),
        (0.00, -0.10, 0.10, 0.05, False, UNDECIDED),
    ],
)
def test_the_rule(value: float, low: float, high: float, minimum: float | None, separable: bool, verdict: str) -> None:
    difference = defined(value, low, high, level=0.95, method="made", n=10, clusters=10)
    assert decide(difference, minimum, separable) == verdict


def test_what_is_undefined_is_undecided() -> None:
    assert decide(undefined("no-run", level=0.95, method="made"), None, True) == UNDECIDED


def made(x: int, y: int, tasks: int = 40) -> Any:
    """x and y solve the first so many tasks."""
    return table(
        {
            "x": {f"t{n}": [int(n < x)] for n in range(tasks)},
            "y": {f"t{n}": [int(n < y)] for n in range(tasks)},
        }
    )


def test_a_better_candidate_is_adopted() -> None:
    head = findings(made(30, 10), Question(against="y", minimum_effect=0.1))["headline"]
    assert head["verdict"] == "adopt"
    assert head["best"] == "x"
    assert head["against"] == "y"
    assert head["difference"]["value"] == pytest.approx(0.5)
    assert head["reason"].startswith("Adopt x rather than y: the success rates differ by +50.0 points (")


@pytest.mark.parametrize(("least", "told"), [(0.1, False), (0.45, True), (None, False)])
def test_an_adopted_advantage_that_may_be_too_small_says_so(least: float | None, told: bool) -> None:
    head = findings(made(30, 10), Question(against="y", minimum_effect=least))["headline"]
    assert head["verdict"] == "adopt"
    words = [
        one for one in head["caveats"] if one.startswith("The data show an advantage, but not that it reaches the 45")
    ]
    assert bool(words) == told
    low = 100 * head["difference"]["low"]
    assert all(one.endswith(f" points that are worth a change: the interval begins at {low:+.1f}.") for one in words)


def test_the_difference_is_that_of_the_candidate() -> None:
    head = findings(made(30, 10), Question(against="x", minimum_effect=0.1))["headline"]
    assert head["verdict"] == "keep"
    assert head["best"] == "y"
    assert head["difference"]["value"] == pytest.approx(-0.5)
    assert head["reason"].startswith("Keep x: the data rule out an advantage of y of at least 10.0 points")


def test_what_the_data_leave_open_is_undecided() -> None:
    head = findings(made(12, 10, 20), Question(against="y", minimum_effect=0.1))["headline"]
    assert head["verdict"] == "undecided"
    assert "neither shows nor rules out" in head["reason"]


def test_a_pilot_that_is_not_over_is_not_decided() -> None:
    why = statement("pilot-incomplete", counted=3, planned=9)
    said = (
        "the pilot is not complete (3 of 9 planned runs count), and a decision now would be a look that was not planned"
    )
    head = findings(made(30, 10), Question(against="y", minimum_effect=0.1, unfinished=why))["headline"]
    assert (head["verdict"], head["reason"]) == ("undecided", f"Undecided on x rather than y: {said}.")
    head = findings(made(30, 10), Question(unfinished=why))["headline"]
    assert (head["verdict"], head["reason"]) == ("ranking", f"No ranking yet: {said}.")


@pytest.mark.parametrize(("solved", "told"), [(2, True), (0, False)])
def test_a_ranking_says_who_could_be_first(solved: int, told: bool) -> None:
    outcomes: Outcomes = {
        "x": {f"t{n}": [int(n < 6)] for n in range(12)},
        "y": {f"t{n}": [None if n < 5 else int(n < 5 + solved)] for n in range(12)},
        "z": {f"t{n}": [None if n == 4 else int(n < 4)] for n in range(12)},
    }
    words = "If such runs of y counted as successes, and those of x as no success, another agent would be first."
    assert (words in findings(table(outcomes))["headline"]["caveats"]) == told


def test_the_one_comparison_that_is_named_shares_alpha_with_no_other() -> None:
    # Seven tasks on which x beats y by itself at 1 in 64; among all pairs of five agents that would not do.
    outcomes: Outcomes = {
        "x": {f"t{n}": [1] for n in range(7)},
        "y": {f"t{n}": [0] for n in range(7)},
        **{name: {f"t{n}": [int(n % 2 == odd)] for n in range(7)} for odd, name in enumerate("vw")},
        "u": {f"t{n}": [int(n < 3)] for n in range(7)},
    }
    best = findings(table(outcomes), Question(against="y"))
    named = findings(table(outcomes), Question(against="y", candidate="x"))
    own = 2.0**-6
    assert named["headline"]["p"] == own < best["headline"]["p"]
    assert any("names this one comparison" in words for words in named["headline"]["caveats"])
    assert not any("names this one comparison" in words for words in best["headline"]["caveats"])
    frozen = findings(table(outcomes), Question(against="y", candidate="x", pilot="sha256:p"))
    for found, told in ((named, True), (frozen, False)):
        assert any("which a table cannot show" in words for words in found["headline"]["caveats"]) == told

    def others(found: dict[str, Any]) -> list[Any]:
        return [one for one in found["pairs"] if {one["a"], one["b"]} != {"x", "y"}]

    assert others(named) == others(best), "the other pairs stay adjusted"


def test_a_difference_that_signs_do_not_confirm_says_so() -> None:
    # Five tasks that all differ: no pattern of signs is rarer than 2 in 32, whatever the t test makes of it.
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, 1, 1, 1] for n in range(5)},
        "y": {f"t{n}": [0, 0, 0, int(n == 0)] for n in range(5)},
    }
    head = findings(table(outcomes), Question(against="y"))["headline"]
    assert head["verdict"] == "undecided"
    assert head["difference"]["low"] > 0
    assert head["caveats"][0].endswith("does not confirm the difference (p = 0.062).")


@pytest.mark.parametrize("alpha", [1e-11, 1e-13, 1e-18, 1e-300])
def test_hardly_any_alpha_is_no_accident(alpha: float) -> None:
    assert 0.99999 < Question(alpha=alpha).level < 1
    head = findings(made(30, 10), Question(against="y", alpha=alpha))["headline"]
    assert head["verdict"] == "undecided"


def test_a_best_agent_that_stands_apart_is_said_to() -> None:
    solved = {"x": 30, "y": 15, "z": 0}
    outcomes = {name: {f"t{n}": [int(n < count)] for n in range(30)} for name, count in solved.items()}
    sentence = findings(table(outcomes))["headline"]["reason"]
    assert sentence.startswith("x has the highest success rate, 100% (")
    assert ", and is separable from every other agent. 3 of 3 pairs" in sentence
    outcomes.pop("z")
    assert findings(table(outcomes))["headline"]["reason"].endswith(", and is separable from y.")
    outcomes.pop("y")
    assert findings(table(outcomes))["headline"]["reason"].endswith("there is no other agent to compare it with.")


def test_a_shared_first_place_is_said_to_be_shared() -> None:
    outcomes: Outcomes = {"x": {"a": [1, None], "b": [1, 1]}, "y": {"a": [1, 1], "b": [1, 0]}}
    caveats = findings(table(outcomes))["headline"]["caveats"]
    assert any("x and y would share the first place" in text for text in caveats)


def test_the_candidate_can_be_named() -> None:
    outcomes = {
        "x": {f"t{n}": [1] for n in range(20)},
        "y": {f"t{n}": [0] for n in range(20)},
        "z": {f"t{n}": [int(n < 10)] for n in range(20)},
    }
    assert findings(table(outcomes), Question(against="y"))["headline"]["best"] == "x"
    assert findings(table(outcomes), Question(against="y", candidate="z"))["headline"]["best"] == "z"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": "nobody"}, "there is no agent 'nobody'"),
        ({"against": "x", "candidate": "nobody"}, "there is no agent 'nobody'"),
        ({"against": "x", "candidate": "x"}, "cannot be compared with itself"),
        ({"minimum_effect": 1.5}, "the minimum effect is 1.5"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"endpoint": "luck"}, "there is no endpoint 'luck'"),
    ],
)
def test_questions_that_cannot_be_asked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageFault, match=message):
        findings(made(3, 2, 4), Question(**options))


def test_agents_that_are_not_there_are_told_before_anything_is_computed() -> None:
    heard: list[str] = []
    with pytest.raises(UsageFault) as caught:
        findings(made(3, 2, 4), Question(against="nobody", candidate="noone"), tell=heard.append)
    assert str(caught.value).startswith("there is no agent 'nobody' and no agent 'noone'\n  the agents are: ")
    assert heard == ["counting runs"]
    with pytest.raises(UsageFault, match="cannot be compared with itself"):
        findings(table({"x": {"t": [1], "u": [0]}}), Question(against="x"))


def test_a_ranking_names_the_cheapest_that_may_be_as_good() -> None:
    rows = runs({name: {f"t{task}": [int(task not in lost)] for task in range(30)} for name, lost in FAILED.items()})
    prices = {"best": 2.0, "alike": 0.5, "dearer": 3.0, "poor": 0.01}
    found = findings(Table.from_rows([{**row, "cost_usd": prices[row["agent"]]} for row in rows]))
    told = (
        "best cost 2.00 USD per run, 2.07 USD per success. "
        "alike is not separable from best and is cheaper: 0.50 USD per run"
    )
    assert found["headline"]["cost"] == f"{told} instead of 2.00 USD."
    prices["alike"] = 2.5
    found = findings(Table.from_rows([{**row, "cost_usd": prices[row["agent"]]} for row in rows]))
    assert found["headline"]["cost"] == "best cost 2.00 USD per run, 2.07 USD per success."


def test_costs_without_prices_are_said_to_be_none() -> None:
    found = findings(table({"x": {"t": [1], "u": [0]}}, cost_usd=1.0, cost_method="fallback-1"))
    assert any("not in money" in text for text in found["headline"]["caveats"])
    assert found["headline"]["cost"] == "x cost 1,000 units per run, 2,000 units per success."
    assert found["cost"]["unit"] == {"name": "units", "per_usd": 1000}


def easier(first: str, other: str) -> Any:
    """The first also ran twenty easy tasks, and is worse on the 24 that both ran."""
    easy = {f"easy{n}": [1, 1, 1] for n in range(20)}
    hard = {f"hard{n:02}": [int(n % 3 > 0), 0, 0] for n in range(24)}
    better = {f"hard{n:02}": [int(n % 3 > 0), int(n % 4 > 0), 0] for n in range(24)}
    return table({first: {**easy, **hard}, other: better})


def test_the_highest_rate_on_easier_tasks_is_no_lead() -> None:
    for names in (("x", "y"), ("y", "x")):
        found = findings(easier(*names))
        head, first = found["headline"], found["agents"][0]
        assert found["pairs"][0]["separable"] and first["agent"] == names[0] and first["rank"]["best"] == 2
        assert head["reason"].endswith(f", but is worse than {names[1]} on the tasks that both ran.")
        assert any(text.startswith("Not all agents ran the same tasks") for text in head["caveats"])


def test_who_shares_no_task_cannot_be_compared() -> None:
    apart = table({"x": {f"a{n}": [1] for n in range(9)}, "y": {f"b{n}": [0] for n in range(9)}})
    assert findings(apart)["headline"]["reason"].endswith(
        "but cannot be compared with y, because too few tasks have outcomes of both."
    )


def test_those_with_the_same_rate_share_the_first_place() -> None:
    sentence = findings(made(20, 20))["headline"]["reason"]
    assert sentence == "x and y share the highest success rate, 50.0%; x is not separable from y."


def test_a_ranking_says_which_rate_it_is_by() -> None:
    outcomes: Outcomes = {
        "x": {f"t{n}": [1 if n < 12 else None] for n in range(30)},
        "y": {f"t{n}": [int(n < 20)] for n in range(30)},
    }
    head = findings(table(outcomes), Question(endpoint="intention-to-treat"))["headline"]
    assert head["reason"].startswith("y has the highest success rate over all attempted runs, 66.7% (")


def test_a_ranking_of_two_says_where_signs_do_not_confirm_it() -> None:
    found = findings(made(20, 16, 20))
    assert found["pairs"][0]["separable"] and found["pairs"][0]["p_sign_flip"] == 0.125
    assert "does not confirm the difference (p = 0.125)" in found["headline"]["caveats"][0]


def test_a_level_that_is_not_the_usual_one_stands_beside_the_interval() -> None:
    head = findings(made(30, 10), Question(against="y", alpha=0.3))["headline"]
    assert head["reason"].endswith(" at 70%).")
    assert findings(made(30, 10))["headline"]["reason"].count(" at ") == 0


def test_costs_that_are_not_known_are_counted() -> None:
    outcomes = {"x": {f"t{n}": [int(n % 2)] for n in range(10)}, "y": {f"t{n}": [int(n < 4)] for n in range(10)}}
    rows = [{**row, "cost_usd": None if row["agent"] == "x" and not row["success"] else 1.0} for row in runs(outcomes)]
    head = findings(Table.from_rows(rows))["headline"]
    told = (
        "The cost of 5 of 10 runs of x is not known. Sums leave these runs out; the cost of a success assumes that "
        "they cost as much as the others on average."
    )
    assert told in head["caveats"]
    assert head["cost"] == "x cost 1.00 USD per run, 2.00 USD per success."
    dark = [{**row, "cost_usd": row["cost_usd"] if row["agent"] == "x" else None} for row in rows]
    assert "The cost of y is not known." in findings(Table.from_rows(dark))["headline"]["caveats"]
    assert told not in findings(table({"x": {"a": [1], "b": [0]}}, cost_usd=1.0))["headline"]["caveats"]


ONE_TASK: dict[str, dict[str, list[int | None]]] = {
    "X": {"t1": [1], "t2": [0]},
    "x": {"t3": [1]},
    "y": {"t1": [1], "t2": [0], "t3": [0]},
    "z": {"t1": [None]},
}


def test_who_has_no_rate_stands_last_and_is_no_candidate() -> None:
    found = findings(table(ONE_TASK), Question(against="X"))
    places = [(one["agent"], one["rank"]["position"]) for one in found["agents"]]
    assert places == [("X", 1), ("y", 2), ("x", 3), ("z", 4)]
    head = found["headline"]
    assert head["best"] == "y" and head["reason"].startswith("Undecided on y rather than X: the difference is +0.0")
    assert "x and z cannot be compared with X, because too few tasks have outcomes of both." in head["caveats"]
    last = "A rate needs outcomes at two tasks or more: x and z have no rate and are listed last."
    assert last in head["caveats"]
    assert not any("chosen by its result" in text for text in head["caveats"]), "there was no other to choose"
    asked = findings(table(ONE_TASK), Question(against="X", candidate="x"))["headline"]
    assert asked["best"] == "x" and "no task has outcomes of both agents" in asked["reason"]
    assert findings(table(ONE_TASK))["headline"]["reason"].startswith("X has the highest success rate, 50.0%")
    nobody = findings(table({name: ONE_TASK[name] for name in "Xxz"}), Question(against="X"))["headline"]
    assert nobody["best"] == "x", "where nobody can be compared the first is named"


def test_with_one_task_shares_order_the_agents_still() -> None:
    found = findings(table({"x": {"t": [0, 0]}, "y": {"t": [1, 1]}, "z": {"t": [None]}}))
    assert [one["agent"] for one in found["agents"]] == ["y", "x", "z"]
    assert not any("listed last" in text for text in found["headline"]["caveats"])
    why = "there is only one task (100% of 2 runs), which gives no information about other tasks"
    assert found["agents"][0]["success"]["undefined"] == why


def test_names_that_somebody_may_have_written_in_two_ways_are_told() -> None:
    outcomes = {name: {"a": [1], "b": [0]} for name in ("GPT agent", "gpt  Agent ", "other")}
    told = "'GPT agent' and 'gpt  Agent ' differ only in case or spaces, and count as different agents."
    assert told in findings(table(outcomes))["headline"]["caveats"]
    del outcomes["GPT agent"]
    assert not any("differ only" in text for text in findings(table(outcomes))["headline"]["caveats"])


def test_rates_that_do_not_make_the_difference_are_explained() -> None:
    even: dict[str, dict[str, list[int | None]]]
    even = {"x": {f"t{n}": [1, 1] for n in range(4)}, "y": {f"t{n}": [0, n % 2, 1] for n in range(4)}}
    asked = Question(against="y")
    assert findings(table(even), asked)["headline"]["counting"] is None, "twice and three times everywhere is no matter"
    assert findings(table(even))["headline"]["counting"] is None
    tail = "Rates count every run; the difference counts every task equally."
    even["x"]["t0"] = [1]
    assert findings(table(even), asked)["headline"]["counting"] == tail
    even["x"]["t0"] = [None, None]
    assert (
        findings(table(even), asked)["headline"]["counting"]
        == f"1 of 4 tasks has no outcome of one of the agents. {tail}"
    )
    treated = Question(against="y", endpoint="intention-to-treat")
    assert findings(table(even), treated)["headline"]["counting"] is None
    even["z"] = {"t7": [1], "t8": [1]}
    told = findings(table(even), asked)["headline"]["counting"]
    assert told == f"3 of 6 tasks have no outcome of one or both of the agents. {tail}"


def test_a_difference_that_few_tasks_show_says_what_is_against_it() -> None:
    few = {"x": {f"t{n}": [1] for n in range(5)}, "y": {f"t{n}": [int(n > 3), int(n > 2)] for n in range(5)}}
    head = findings(table(few), Question(against="y", minimum_effect=0.3))["headline"]
    assert head["verdict"] == "undecided" and head["difference"]["low"] > 0
    assert head["reason"].endswith(
        ", but with so few tasks it may be due to chance: flipping signs does not confirm it (p = 0.125)."
    )


def test_who_has_one_task_is_no_alternative() -> None:
    rows = runs({"x": {f"t{n}": [1] for n in range(25)}, "y": {"t0": [0, 0]}})
    made_ = Table.from_rows([{**row, "cost_usd": 0.5 if row["agent"] == "x" else 0.1} for row in rows])
    head = findings(made_)["headline"]
    assert "but cannot be compared with y" in head["reason"] and "separable" not in head["reason"] + head["cost"]
