"""Nobody is adopted whom another way to count the runs does not adopt as well: untold, made again, or left out."""

from __future__ import annotations

import pytest

from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import AlternativeCount, Question
from proctor.study.pilot.report.sensitivity_analysis import count_differently
from proctor.study.statements import statement
from proctor.study.stats.estimate import defined
from tests.english import english
from tests.study.analysis.made import Outcomes, table
from tests.study.analysis.test_main_result import made

ALL = statement("removed-tasks-counted")


def test_a_verdict_that_turns_with_unknown_runs_says_so() -> None:
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, None, None] for n in range(30)},
        "y": {f"t{n}": [int(n < 12), 1, 0] for n in range(30)},
    }
    found = findings(table(outcomes), Question(against="y"))
    head = english(found["headline"])
    assert found["pairs"][0]["separable"] and head["verdict"] == "undecided"
    assert head["caveats"][0].startswith("With unknown and invalid runs counted as no success, the difference is -")
    assert head["caveats"][0].endswith(": keep.")


@pytest.mark.parametrize("endpoint", ["success", "intention-to-treat"])
@pytest.mark.parametrize(
    ("least", "verdict", "worst"),
    [(0.02, "adopt", None), (0.07, "undecided", "undecided"), (0.1, "undecided", "keep")],
)
def test_successes_of_the_agent_in_use_that_nobody_tells_win_nothing(
    least: float, verdict: str, worst: str | None, endpoint: str
) -> None:
    # x solves four more tasks of 40 than y, half of the time; that y solves half of its tasks is not told.
    outcomes: Outcomes = {
        "x": {f"t{n}": [int(n < 24), 0] for n in range(40)},
        "y": {f"t{n}": [None if n < 10 else int(n < 20), 0] for n in range(40)},
    }
    head = english(
        findings(table(outcomes), Question(endpoint=endpoint, against="y", minimum_effect=least))["headline"]
    )
    words = "With unknown and invalid runs of y counted as successes, and those of other agents"
    assert head["verdict"] == verdict
    assert [text.split(": ")[-1] for text in head["caveats"] if text.startswith(words)] == [f"{worst}."] * bool(worst)
    assert ("of y counted as successes, and those of other agents as no success" in head["reason"]) == (
        verdict == "undecided"
    )


@pytest.mark.parametrize(
    ("agent", "tasks", "each", "verdict"),
    [
        ("x", range(4), 1, "adopt"),
        ("x", range(12), 4, "undecided"),
        ("x", range(24), 4, "undecided"),
        ("y", range(12, 24), 9, "undecided"),
    ],
)
def test_runs_that_were_made_again_until_they_came_out_well_win_nothing(
    agent: str, tasks: range, each: int, verdict: str
) -> None:
    again = tuple((agent, f"t{n}", each) for n in tasks)
    asked = Question(against="y", minimum_effect=0.1, pilot="sha256:p", repeated=(*again, ("stranger", "t0", 9)))
    head = english(findings(made(24, 12, 30), asked)["headline"])
    assert head["verdict"] == verdict
    words = "unknown, invalid and repeated runs"
    assert (words in head["reason"]) == (verdict == "undecided")
    assert any(words in text for text in head["caveats"]) == (verdict == "undecided")


def test_a_candidate_that_loses_by_runs_that_nobody_tells_is_kept_out_with_a_word() -> None:
    outcomes: Outcomes = {
        "x": {f"t{n}": [None if n < 20 else 1, 0] for n in range(40)},
        "y": {f"t{n}": [1, 0] for n in range(40)},
    }
    head = english(findings(table(outcomes), Question(against="y", minimum_effect=0.1))["headline"])
    assert head["verdict"] == "keep"
    words = "With unknown and invalid runs of x counted as successes, and those of other agents"
    told = [text for text in head["caveats"] if text.startswith(words)]
    assert told == [] and head["difference"]["high"] < 0
    head = english(findings(table(outcomes), Question(against="y", minimum_effect=0.01))["headline"])
    assert [text.split(": ")[-1] for text in head["caveats"] if text.startswith(words)] == ["undecided."]


def test_an_advantage_that_is_none_at_worst_is_undecided() -> None:
    outcomes: Outcomes = {
        "x": {f"t{n}": [int(n < 20), 0] for n in range(25)},
        "y": {f"t{n}": [None if n < 15 else 1, 0] for n in range(25)},
    }
    head = english(findings(table(outcomes), Question(against="y", minimum_effect=0.01))["headline"])
    assert (head["difference"]["low"] > 0, head["verdict"]) == (True, "undecided")


@pytest.mark.parametrize(("tasks", "told"), [(5, False), (30, True)])
def test_the_other_verdict_of_unknown_runs_needs_the_signs_too(tasks: int, told: bool) -> None:
    # Over scorable runs y hides half of its failures; counted, they would decide for x, if signs could confirm it.
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, 1, 1, 1] for n in range(tasks)},
        "y": {f"t{n}": [1, *[None] * (3 - n % 2), *[0] * (n % 2)] for n in range(tasks)},
    }
    for others in ({}, {"z": {f"t{n}": [n % 2] for n in range(tasks)}}):
        head = findings(table({**outcomes, **others}), Question(against="y", candidate="x", minimum_effect=0.4))
        words = "With unknown and invalid runs counted as no success, the difference is +75.0 points"
        said = [one for one in english(head["headline"])["caveats"] if one.startswith(words)]
        assert head["headline"]["verdict"] != "adopt"
        assert [one.endswith(": adopt.") for one in said] == ([True] if told else [])


def test_failures_that_are_not_told_win_nothing() -> None:
    """One agent has no outcome where it would have failed."""
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, 1 if n % 4 else None, None] for n in range(40)},
        "y": {f"t{n}": [1, 1, int(n % 3 > 0)] for n in range(40)},
    }
    found = findings(table(outcomes), Question(against="y", candidate="x"))
    head = english(found["headline"])
    assert found["pairs"][0]["separable"] and head["difference"]["value"] > 0
    assert head["verdict"] == "undecided"
    assert head["reason"].endswith("), which does not show an advantage.")
    assert head["caveats"][0].endswith(": keep.")


def test_an_advantage_that_is_only_likely_with_untold_failures_counted_is_none() -> None:
    """Five failures of x are not told. Counted, x still leads, and the interval reaches below 0."""
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, None if n < 5 else int(n < 25)] for n in range(30)},
        "y": {f"t{n}": [1, int(n < 15)] for n in range(30)},
    }
    head = english(findings(table(outcomes), Question(against="y", candidate="x"))["headline"])
    assert head["reason"] == (
        "Undecided on x rather than y: the difference is +16.7 points (+7.7 to +25.6), but with unknown and "
        "invalid runs counted as no success it is +8.3 points (-4.7 to +21.4), which does not show an advantage."
    )
    assert head["verdict"] == "undecided" and head["difference"]["low"] > 0


@pytest.mark.parametrize(("verdict", "told"), [("adopt", False), ("undecided", True), ("keep", True)])
def test_who_is_adopted_is_so_whichever_way_runs_are_counted(verdict: str, told: bool) -> None:
    other = defined(0.08, -0.01, 0.17, level=0.95, method="made", n=40, clusters=40)
    ways = (AlternativeCount((statement("removed-tasks-counted"),), verdict, other),)
    head = english(findings(made(30, 10), Question(against="y", minimum_effect=0.1, counted=ways))["headline"])
    assert head["verdict"] == ("undecided" if told else "adopt")
    counted = "with the runs of removed tasks counted it is +8.0 points (-1.0 to +17.0)"
    shown = f", but {counted}, which does not show an advantage of at least "
    assert head["reason"].endswith(f"{shown}10.0 points.") == told
    kept = english(findings(made(30, 10), Question(against="x", minimum_effect=0.1, counted=ways))["headline"])
    assert kept["verdict"] == "keep", "who stays needs less"


def test_another_way_to_count_is_decided_by_the_whole_rule() -> None:
    """Untold runs among the rows that it counts are supposed to be failures of the candidate there, too."""
    asked = Question(against="y", candidate="x", minimum_effect=0.1)
    found = count_differently(made(30, 10), asked, ALL)
    assert (found.how, found.verdict) == ((ALL,), "adopt") and found.difference.value == pytest.approx(0.5)
    assert count_differently(made(10, 30), asked, ALL).verdict == "keep"
    outcomes: Outcomes = {
        "x": {f"t{n}": [1, None if n < 5 else int(n < 25)] for n in range(30)},
        "y": {f"t{n}": [1, int(n < 15)] for n in range(30)},
    }
    found = count_differently(table(outcomes), Question(against="y", candidate="x"), ALL)
    assert found.how == (ALL, statement("as-no-success", repeated=False))
    assert found.verdict == "undecided" and found.difference.low == pytest.approx(-0.047, abs=1e-3)
