"""A method that never worked comes out like one that solves nothing: a pilot does not go on with it, and tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.present.sentences.pilot_criteria import found as found_in
from proctor.present.sentences.pilot_criteria import todo
from proctor.present.sentences.pilot_progress import progress
from proctor.study.analysis.plain_data import plain_data
from proctor.study.pilot.report.pilot_findings import progress_of, unfinished
from proctor.study.pilot.running.pilot_state import PilotState, Stage, stages_of
from proctor.study.pilot.running.stage_criteria import exit_codes, unproven
from tests.english import english
from tests.study.pilot.live import FIXER, Proctor, planned, run, runs_in, write_pilot
from tests.study.pilot.pilot_cases import SPOILT
from tests.study.pilot.report.test_status import stands

DEAD = {"reason": "failed", "exit_code": 2, "changed": False}
IDLE = {"exit_code": 0, "changed": False}


def with_y(
    fields: dict[str, Any], first: dict[str, Any] | None = None, filled: int | None = 8, **parts: Any
) -> PilotState:
    """The pilot whose method y comes to ``fields`` in every run, but for what it comes to in its first."""
    seen: list[int] = []

    def says(slot: Any) -> dict[str, Any]:
        if slot.method != "y":
            return {}
        seen.append(slot.order)
        return first if first is not None and len(seen) == 1 else fields

    return stands(filled, says, **parts)


def last(here: PilotState) -> Stage:
    return list(stages_of(here))[-1]


def test_stage_two_is_refused_where_a_method_only_ended_with_errors_and_changed_nothing() -> None:
    stage = last(with_y(DEAD))
    assert (stage.name, stage.verdict, [one.id for one in stage.unmet]) == ("two", "refused", ["working"])
    (found,) = stage.unmet
    said = plain_data(found.found)
    assert found_in(said) == "1 of 2 methods; not y (no change in 2 of 2 runs: exit code 2 in 2)"
    assert len(found.evidence) == 2 and all("-y-" in name for name in found.evidence)
    assert f"proctor show {found.evidence[-1]} --output " in todo(said) and "another pilot" in todo(said)


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        (IDLE, None),
        (DEAD, IDLE),
        (DEAD, {**DEAD, "changed": True}),
        ({**DEAD, "reason": "timed-out", "exit_code": -9}, None),
        ({**DEAD, "code": "resource-cost"}, None),
    ],
    ids=["idle and content", "one good end", "one change", "out of time", "ended by a cap"],
)
def test_a_method_may_go_on_that(fields: dict[str, Any], first: dict[str, Any] | None) -> None:
    assert (last(with_y(fields, first)).name, last(with_y(fields, first)).verdict) == ("two", "open")


def test_a_run_that_the_machine_spoilt_shows_nothing_of_a_method() -> None:
    assert [one.id for one in last(with_y(DEAD, SPOILT, retries=0)).unmet] == ["working"]
    assert last(with_y(SPOILT, retries=0)).verdict == "open", "nor does it where it has no other"


def test_a_baseline_that_changes_nothing_is_as_it_should_be() -> None:
    here = stands(None, lambda slot: DEAD if slot.method == "noop" else {})
    assert last(here).good and list(unproven(here.runs, ("x", "y"))) == []


def test_a_pilot_that_went_on_before_anybody_asked_is_not_decided() -> None:
    here = with_y(DEAD, filled=None)
    assert english(unfinished(here)).startswith(
        "stage two is refused because a criterion is not met: every method changed"
    )
    assert "48 of 48 planned runs count. Stage two was refused" in progress(progress_of(here))


def test_a_method_that_worked_later_does_not_take_its_pilot_back() -> None:
    """y ended with errors in stage one alone, before anybody asked; all its other runs are like any other."""
    here = stands(None, lambda slot: DEAD if slot.method == "y" and slot.stage == "one" else {})
    assert last(here).good and unfinished(here) is None


@pytest.mark.parametrize(("fields", "codes"), [(DEAD, "2 in 12"), (IDLE, "0 in 12")])
def test_a_method_that_changed_nothing_in_any_run_is_told(fields: dict[str, Any], codes: str) -> None:
    here = with_y(fields, filled=None)
    runs = [one for one in here.runs if one.stage != "checks"]
    (words,) = english(list(unproven(runs, ("x", "y"))))
    assert words.startswith(f"y changed nothing in all of its 12 runs (exit code {codes}). It may never have worked; ")
    assert list(unproven(with_y(fields, {"changed": True}, None).runs, ("x", "y"))) == []


def test_a_method_that_always_ended_with_an_error_is_told() -> None:
    failing = {"reason": "failed", "exit_code": 3, "changed": True}
    made = [one for one in with_y(failing, filled=None).runs if one.stage != "checks"]
    (words,) = english(list(unproven(made, ("x", "y"))))
    assert words.startswith("y ended with an error in all of its 12 runs (exit code 3 in 12). It may be broken; ")
    assert list(unproven(with_y(failing, IDLE, None).runs, ("x", "y"))) == []


def test_exit_codes_are_told_by_how_often_they_were_seen() -> None:
    runs = [one for one in with_y(DEAD, {**DEAD, "exit_code": None}, None).runs if one.method == "y"]
    assert list(exit_codes(runs).items()) == [("2", 11), ("none", 1)]
    (words,) = english(list(unproven(runs[:1], ("y",))))
    assert words.startswith("y changed nothing in its only run (exit code none in 1)")


def test_a_mistyped_path_is_told_after_stage_one(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    methods = [FIXER, {"name": "typo", "agent": "command:python3 /agent/slove.py"}]
    contracts = [make_contract(name) for name in ("one", "two")]
    comparison = {"candidate": "fixer", "against": "typo"}
    parts = {"methods": methods, "comparison": comparison, "baselines": {"noop": True, "reference": False}}
    file = write_pilot(tmp_path, contracts, runs_per_task=1, **parts)
    planned(proctor, file)
    code, answer = run(proctor, file)
    assert code == 1
    assert [(one["stage"], one["verdict"]) for one in answer["stages"]] == [("one", "over"), ("two", "refused")]
    (unmet,) = (one for one in answer["stages"][-1]["entry"] if not one["met"])
    assert found_in(unmet["found"]) == "1 of 2 methods; not typo (no change in 1 of 1 run: exit code 2 in 1)"
    (made,) = (one["run"] for one in runs_in(tmp_path / "home") if one["method"] == "typo")
    assert "can't open file '/agent/slove.py'" in proctor("show", made, "--output").stdout
    assert f"proctor show {made} --output" in proctor("pilot", "run", file).stdout
    assert "not met   working: 1 of 2 methods; not typo" in proctor("pilot", "status", file).stdout
    found = json.loads(proctor("pilot", "report", file, "--json").stdout)
    words = f"typo changed nothing in its only run (exit code 2 in 1). It may never have worked; proctor show {made}"
    assert found["headline"]["verdict"] == "undecided"
    assert english(found["headline"]["caveats"][0]) == f"{words} --output shows what it printed."
    for page in ("report.md", "report.html"):
        assert "typo changed nothing in its only run" in (file.with_suffix(".report") / page).read_text()
