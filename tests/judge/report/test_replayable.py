"""A run that cannot be replayed says so, and why."""

from __future__ import annotations

from typing import Any

import pytest

CLOSED = {"mode": "allow", "passed": 1, "refused": 0, "lookups": 1, "replayable": False, "why": [], "cassette": ""}


def test_a_closed_run_can_be_replayed_and_says_what_it_assumes(story: Any) -> None:
    statement = story.tell()["replayable"]
    assert (statement["replayable"], statement["reasons"]) == (True, [])
    assert any("clock" in words for words in statement["assumed"])


def test_an_open_network_is_a_reason_that_points_at_its_evidence(story: Any) -> None:
    story.before_judging = [("network.closed", {**CLOSED, "why": ["the network was open and not recorded"]})]
    report = story.tell()
    (reason,) = report["replayable"]["reasons"]
    assert report["replayable"]["replayable"] is False
    assert reason["why"] == "network: the network was open and not recorded"
    assert reason["evidence"].startswith("events.jsonl#")
    assert report["status"] == "success", "it is no failure"


@pytest.mark.parametrize(("blob", "reasons"), [("", ["network: the cassette was not kept"]), ("a" * 64, [])])
def test_a_recording_that_was_not_kept_is_a_reason(story: Any, blob: str, reasons: list[str]) -> None:
    story.before_judging = [("network.closed", {**CLOSED, "mode": "record", "blob": blob})]
    assert [reason["why"] for reason in story.tell()["replayable"]["reasons"]] == reasons


def test_lost_records_are_a_reason(story: Any) -> None:
    story.before_judging = [("guard.lost", {"count": 3})]
    assert [reason["why"] for reason in story.tell()["replayable"]["reasons"]] == ["3 records of the guard were lost"]


@pytest.mark.parametrize(
    ("said", "reasons"),
    [
        ({"replayable": True}, []),
        ({"why": ["a call was cut off"]}, ["model: a call was cut off"]),
        ({}, ["model: its answers cannot be given again"]),
        ({"replayable": True, "diverged": ["/messages/0"]}, ["model: /messages/0"]),
    ],
)
def test_a_model_whose_answers_cannot_be_given_again_is_a_reason(
    story: Any, said: dict[str, Any], reasons: list[str]
) -> None:
    counts = {"calls": 1, "refused": 0, "errors": 0, "unplayed": 0, "outage": None, "cassette": "", "blob": ""}
    closed = {**counts, "replayable": False, "why": [], "diverged": [], **said}
    story.before_judging = [("model.closed", closed)]
    assert [reason["why"] for reason in story.tell()["replayable"]["reasons"]] == reasons
