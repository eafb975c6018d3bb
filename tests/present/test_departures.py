"""How a pilot's departures from its plan are told."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.present.sentences.pilot_plan import amended, computed_when, departures, fixed, incomplete

PILOT: dict[str, Any] = {"question": {"pilot": "sha256:p"}}


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([], ""),
        ([0], "amended once, before the first run"),
        ([20], "amended once, after 20 runs"),
        ([1], "amended once, after 1 run"),
        ([0, 20], "amended twice, once after 20 runs"),
        ([20, 31], "amended twice, after 20 and 31 runs"),
        ([0, 20, 31], "amended 3 times, twice after 20 and 31 runs"),
        ([0, 1, 2, 3, 1200], "amended 5 times, 4 times after runs were made, the last time after 1,200 runs"),
        ([1, 2, 3, 4], "amended 4 times, each time after runs were made, the last time after 4 runs"),
        ([None], "amended once, before the first run"),
    ],
)
def test_amendments_in_words(runs: list[int | None], told: str) -> None:
    assert amended([{"after_runs": after} for after in runs]) == told


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([], "Computed before the first run."),
        ([0], "Computed before the first run."),
        ([0, 1200], "Computed again with the last amendment, after 1,200 runs."),
    ],
)
def test_a_plan_that_was_amended_late_was_not_computed_before_the_first_run(runs: list[int], told: str) -> None:
    amendments = [{"after_runs": after} for after in runs]
    assert computed_when({**PILOT, "appendix": {"amendments": amendments}}) == told


def test_a_plan_that_lost_a_task_was_computed_anew_whatever_was_amended() -> None:
    for runs in ([], [0], [20]):
        given = {"appendix": {"amendments": [{"after_runs": after} for after in runs]}, "progress": {"removed": ["t"]}}
        assert computed_when({**PILOT, **given}) == "Computed again for the tasks that are left after the last removal."


def test_only_a_pilot_has_a_plan_to_keep_to() -> None:
    assert fixed({}) == ""
    assert departures({"deviations": ["one"]}) == []
    assert fixed(PILOT) == "The question and the plan were fixed before the first run."
    assert departures(PILOT) == []


def test_removals_and_deviations_are_counted() -> None:
    one = {**PILOT, "deviations": ["t went", "a"], "progress": {"removed": ["t"]}}
    assert departures(one) == [
        "1 task was removed after the plan was fixed.",
        "1 other deviation from the plan is recorded.",
    ]
    two = {**PILOT, "deviations": ["t went", "u went", "a", "b"], "progress": {"removed": ["t", "u"]}}
    assert departures(two) == [
        "2 tasks were removed after the plan was fixed.",
        "2 other deviations from the plan are recorded.",
    ]
    assert departures({**PILOT, "deviations": ["a"]}) == ["1 deviation from the plan is recorded."]


def test_an_amendment_is_told_once() -> None:
    given = {**PILOT, "deviations": ["Amendment 1"], "appendix": {"amendments": [{"after_runs": 0}]}}
    assert fixed(given).endswith(", and amended once, before the first run.")
    assert departures(given) == []


ASSUMED = ["assumed.high", "assumed.icc", "assumed.invalid", "assumed.rate"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (["a", "b", "c", "d", "a"], "a, b, c, d"),
        (ASSUMED, "assumed.high, assumed.icc, assumed.invalid and 1 more that cannot change the answer"),
        (
            [*ASSUMED, "budgets.run_usd", "stopping.violations"],
            "budgets.run_usd, stopping.violations, assumed.high and 3 more that cannot change the answer",
        ),
        (
            ["alpha", *ASSUMED, "budgets.run_usd", "pilot.title", "prices.id", "stopping.violations"],
            "alpha, budgets.run_usd, prices.id, stopping.violations and 5 more that cannot change the answer",
        ),
        (
            ["methods[x].agent", "methods[x].model", "tasks (order)", "tasks[a].caps.usd", "tasks[b].caps.usd"],
            "methods[x], tasks",
        ),
    ],
)
def test_nothing_that_can_move_the_answer_hides_behind_what_cannot(fields: list[str], told: str) -> None:
    changes = [{"changed": [{"field": name} for name in fields]}, {"changed": [{"field": fields[0]}]}]
    assert fixed({**PILOT, "appendix": {"amendments": changes}}).endswith(f"; changed: {told}.")


def test_a_late_amendment_says_how_numbers_take_it() -> None:
    told = "Estimates use the amended plan; the level counts amendments after runs as looks."
    for runs, said in ((0, False), (20, True)):
        assert (told in departures({**PILOT, "appendix": {"amendments": [{"after_runs": runs}]}})) == said


def test_a_study_is_incomplete_only_where_it_says_so() -> None:
    given = {"counted": 3, "planned": 9, "held_up": {"code": "stage-not-over", "stage": "two"}}
    assert incomplete({}) == incomplete({"progress": {**given, "complete": True}}) == ""
    assert incomplete({"progress": {**given, "complete": False}}) == "3 of 9 planned runs count. Stage two is not over."
    assert incomplete({"progress": {"complete": False}}) != ""
