"""Two studies side by side: the same tasks only, task by task."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.present.sentences import sentences
from proctor.present.sentences.comparability import earlier
from proctor.study.run_table import Table
from proctor.study.study_comparison import compare_studies


def study(outcomes: dict[str, dict[str, list[int]]], when: str = "", /, **versions: str) -> Table:
    """A table of runs: by agent and task the outcomes of its trials; ``versions`` are contracts that differ.

    The ids of runs begin with ``when``.
    """
    rows: list[dict[str, Any]] = [
        {
            "run": f"{when}{agent}-{task}-{trial}",
            "agent": agent,
            "method": agent,
            "task": task,
            "contract": versions.get(task, f"{task}@1"),
            "trial": trial,
            "status": "success" if outcome else "failure",
            "success": outcome,
            "scorable": 1,
        }
        for agent, tasks in outcomes.items()
        for task, trials in tasks.items()
        for trial, outcome in enumerate(trials, 1)
    ]
    return Table.from_rows(rows)


BEFORE = {"ant": {"a": [0, 0], "b": [0, 1], "c": [1, 1], "d": [0, 0]}}
AFTER = {"ant": {"a": [1, 1], "b": [1, 1], "c": [1, 1], "d": [0, 1]}}


def test_the_difference_is_taken_task_by_task() -> None:
    (row,) = compare_studies(study(BEFORE), study(AFTER), "spring")["rows"]
    assert (row["before"]["value"], row["after"]["value"]) == (0.375, 0.875)
    assert row["difference"]["value"] == 0.5  # of 1, 1/2, 0 and 1/2
    assert row["difference"]["clusters"] == 4
    assert row["p"] == pytest.approx(0.0917, abs=5e-5)  # t.test(c(1, .5, 0, .5)): t = 2.4495, df = 3


def test_the_p_values_of_many_agents_count_together() -> None:
    tasks = [f"t{number:02}" for number in range(24)]
    before = {agent: {task: [0, number % 2] for number, task in enumerate(tasks)} for agent in ("ant", "bee", "cat")}
    after = {
        "ant": {task: [1, int(number < 20)] for number, task in enumerate(tasks)},
        "bee": {task: [int(number < 5), number % 2] for number, task in enumerate(tasks)},
        "cat": {"t00": [1, 1]},
    }
    found = compare_studies(study(before), study(after), "spring")
    ant, bee, cat = found["rows"]
    assert ant["p"] < bee["p"] < 0.05
    assert ant["p_adjusted"] == pytest.approx(2 * ant["p"]) and bee["p_adjusted"] == pytest.approx(bee["p"])
    assert cat["p"] is None and cat["p_adjusted"] is None, "one task decides nothing, and is not counted"
    told = "Adjusted for all 2 agents (Holm), ant, bee changed by more than chance explains at 0.05."
    assert sentences(found["notes"])[-1].endswith(told)
    same = compare_studies(study(before), study(before), "spring")
    assert sentences(same["notes"])[-1].endswith(
        "Adjusted for all 3 agents (Holm), no agent changed by more than chance explains at 0.05."
    )


def test_with_few_tasks_signs_decide_too() -> None:
    (row,) = compare_studies(study(BEFORE), study(AFTER), "spring")["rows"]
    assert row["p_adjusted"] == 0.25, "of 2^3 patterns of signs two are as extreme"


def test_tasks_that_all_change_alike_are_no_change_where_the_interval_says_so() -> None:
    tasks = [f"t{number}" for number in range(7)]
    before = {agent: {task: [1] * 4 + [0] * 6 for task in tasks} for agent in ("ant", "bee")}
    after = {agent: {task: [1] * 5 + [0] * 5 for task in tasks} for agent in ("ant", "bee")}
    found = compare_studies(study(before), study(after), "spring")
    assert all(row["p_adjusted"] < 0.05 and row["difference"]["low"] < 0 for row in found["rows"])
    assert "no agent changed by more than chance explains" in sentences(found["notes"])[-1]


def test_a_task_whose_contract_changed_is_left_out_and_named() -> None:
    found = compare_studies(study(BEFORE), study(AFTER, a="a@2"), "spring")
    assert found["rows"][0]["difference"]["clusters"] == 3
    assert "Compared on the 3 tasks that are the same in both." in sentences(found["notes"])
    assert "Left out because their contracts changed: a." in sentences(found["notes"])


def test_tasks_and_agents_of_one_study_only_are_named() -> None:
    later = {"ant": {"a": [1, 1], "b": [1, 1], "e": [1, 1]}, "bee": {"a": [1, 0]}}
    found = compare_studies(study(BEFORE), study(later), "spring")
    assert [row["agent"] for row in found["rows"]] == ["ant"]
    assert "Left out because only one of the two has them: c, d, e." in sentences(found["notes"])
    assert "Only in one of the two: bee." in sentences(found["notes"])


def test_other_seeds_make_it_provisional() -> None:
    assert any(
        "provisional" in note
        for note in sentences(compare_studies(study(BEFORE), study(AFTER), "spring", (1, 2))["notes"])
    )
    assert not any(
        "seed" in note for note in sentences(compare_studies(study(BEFORE), study(AFTER), "spring", (1, 1))["notes"])
    )


def test_runs_that_are_in_both_are_told() -> None:
    half = {"ant": {"a": [0], "b": [0]}}
    later = {"ant": {"a": [0, 1], "b": [0, 1]}}
    whole = sentences(compare_studies(study(half), study(later), "spring")["notes"])
    told = "All 2 runs of the earlier report are also in the later one: the two are not independent."
    assert told in whole
    some = sentences(compare_studies(study(later), study(half), "spring")["notes"])
    assert told.replace("All 2 runs", "2 of the 4 runs") in some
    assert "Both reports are about the same 8 runs." in sentences(
        compare_studies(study(BEFORE), study(BEFORE), "spring")["notes"]
    )
    apart = sentences(compare_studies(study(BEFORE, "old-"), study(AFTER, "new-"), "spring")["notes"])
    assert apart == ["Compared on the 4 tasks that are the same in both.", "Intervals are at a level of 95%."]


def test_an_earlier_report_of_the_same_name_is_told_apart() -> None:
    found = compare_studies(study({"ant": {"a": [0]}}), study(AFTER), "spring", own="spring")
    assert earlier(found) == "spring (earlier report, 1 run)"
    assert earlier(compare_studies(study(BEFORE), study(AFTER), "spring", own="autumn")) == "spring"


def test_nothing_in_common_is_undefined_and_not_nought() -> None:
    (row,) = compare_studies(study({"ant": {"a": [1]}}), study({"ant": {"b": [1]}}), "spring")["rows"]
    assert row["difference"]["value"] is None
    assert row["difference"]["undefined"] == {"code": "no-shared-task"}


def test_intervals_are_at_the_level_of_the_report_and_say_so() -> None:
    found = compare_studies(study(BEFORE), study(AFTER), "spring", level=0.700266)
    (row,) = found["rows"]
    assert {row[part]["level"] for part in ("before", "after", "difference")} == {0.700266}
    assert "Intervals are at a level of 70%." in sentences(found["notes"])


def test_an_agent_of_the_same_name_and_another_configuration_is_told() -> None:
    before, after = study({**BEFORE, "bee": BEFORE["ant"]}), study({**AFTER, "bee": AFTER["ant"]})
    other = {"ant": "sha256:2", "bee": "sha256:1"}
    found = compare_studies(before, after, "spring", digests=({"ant": "sha256:1", "bee": "sha256:1"}, other))
    assert {row["agent"]: row["another"] for row in found["rows"]} == {"ant": True, "bee": False}
    told = "ant has another configuration than before under the same name"
    assert any(note.startswith(told) for note in sentences(found["notes"]))
    unsaid = compare_studies(before, after, "spring", digests=({}, other))
    assert {row["another"] for row in unsaid["rows"]} == {None}
    assert not any("configuration" in note for note in sentences(unsaid["notes"]))


def test_one_task_is_one_task() -> None:
    assert sentences(compare_studies(study({"ant": {"a": [1]}}), study({"ant": {"a": [0]}}), "spring")["notes"])[0] == (
        "Compared on the 1 task that is the same in both."
    )
