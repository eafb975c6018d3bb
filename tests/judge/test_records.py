"""What tags, gates and scores look like to the letter: a report promises its reasons, pointers and keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.base.json_records import to_json
from proctor.judge.failure_tags import Tag, tags
from proctor.judge.human_review import krippendorff_alpha
from proctor.judge.run_evidence import Evidence
from proctor.judge.run_verdict import FAILURE, HARNESS, INVALID, NOBODY, Status, gates, status
from proctor.judge.scores import score
from proctor.judge.taxonomy import matching_tags
from tests.judge.report.conftest import MANIFEST
from tests.judge.scene import CHANGE, Told, evidence_of, happened

BROKEN = Status(INVALID, HARNESS)
FAULT: Told = ("run.fault", {"message": "m", "phase": "p"})
STOP: Told = ("run.terminated", {"code": "operator", "rationale": "r", "evidence": ""})


def pointers(evidence: Evidence, name: str, standing: Status = BROKEN) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag.gate, tag.evidence) for tag in tags(evidence, standing) if tag.id == name]


def drifted(*more: Told) -> Evidence:
    told = [(name, {"match": False} if name == "run.identity" else payload) for name, payload in happened(more=more)]
    return evidence_of(told)


@pytest.mark.parametrize(
    ("outcome", "reason", "detail", "why"),
    [
        ("fail", "tests", "2 of 3", "tests failed: tests (2 of 3)"),
        ("fail", "exit-code", "", "tests failed: exit-code"),
        ("error", "timeout", "60 seconds", "tests could not be decided: timeout (60 seconds)"),
    ],
)
def test_a_gate_says_why_in_the_words_of_the_record(outcome: str, reason: str, detail: str, why: str) -> None:
    told = [
        (name, {**payload, "detail": detail} if name == "check.decided" else payload)
        for name, payload in happened(outcome=outcome, reason=reason, attribution="agent")
    ]
    assert gates(evidence_of(told))[2].why == why


def test_a_decision_without_reason_and_detail_is_still_a_sentence() -> None:
    bare = {"check": "tests", "outcome": "fail", "attribution": "agent"}
    told = [(name, bare if name == "check.decided" else payload) for name, payload in happened()]
    assert gates(evidence_of(told))[2].why == "tests failed: "


def test_the_whole_record_of_a_graded_score() -> None:
    evidence = evidence_of(happened())
    assert to_json(score(evidence, gates(evidence), 2)) == {
        "value": "0.990099",
        "parts": {"minimality": "0.980199", "trace": "1.000000", "maintainability": "0.000000"},
        "rubric": {
            "lambda": "0.01",
            "distance": 2,
            "distance_unit": "changed lines outside added tests",
            "weights": {"minimality": "0.5", "trace": "0.5", "maintainability": "0"},
            "maintainability_checks": [],
        },
    }


def test_what_shows_an_invalidity_best() -> None:
    assert pointers(evidence_of(happened()), "evaluation-invalidity") == [("", ("manifest.json",))]
    assert pointers(evidence_of(happened(more=[FAULT, FAULT])), "evaluation-invalidity") == [
        ("", ("events.jsonl#10", "events.jsonl#11"))
    ]
    assert pointers(evidence_of(happened(more=[STOP, FAULT])), "evaluation-invalidity") == [("", ("events.jsonl#11",))]
    assert pointers(evidence_of(happened(more=[STOP])), "evaluation-invalidity") == [("", ("events.jsonl#10",))]
    assert pointers(drifted(), "evaluation-invalidity") == [("", ("events.jsonl#1",))]
    assert pointers(drifted(), "configuration-drift") == [("", ("events.jsonl#1",))]
    assert pointers(drifted(FAULT), "configuration-drift") == [("", ("events.jsonl#1",))]
    assert pointers(evidence_of(happened()), "configuration-drift") == []


def test_the_agents_own_errors_point_at_the_decision_and_the_changes() -> None:
    told = happened(outcome="error", reason="timeout", attribution="agent")
    evidence = evidence_of(told, changes=[{**CHANGE, "path": "setup.cfg"}])
    standing = status(evidence, gates(evidence))
    assert pointers(evidence, "non-termination", standing) == [("G3", ("events.jsonl#9",))]
    assert pointers(evidence, "configuration-drift", standing) == [
        ("G3", ("events.jsonl#9", "workspace/changes.json")),
    ]
    unchanged = evidence_of(told, changes=[])
    assert pointers(unchanged, "configuration-drift", standing) == []


@pytest.mark.parametrize(
    ("tag", "record"),
    [
        (Tag("conflict", "G1", ("x",)), {"id": "conflict", "gate": "G1", "evidence": ["x"]}),
        (
            Tag("os-risk", "G4", ("x",), "shell", ("y",)),
            {"id": "os-risk", "gate": "G4", "evidence": ["x"], "format": "shell", "segments": ["y"]},
        ),
    ],
)
def test_the_record_of_a_tag(tag: Tag, record: dict[str, Any]) -> None:
    assert to_json(tag.record()) == record


def test_a_stopped_run_is_nobodys_doing_unless_something_broke() -> None:
    def whose(*more: Told) -> str:
        told = [one for one in happened(more=more) if one[0] != "patch.applied"]
        evidence = evidence_of(told)
        return status(evidence, gates(evidence)).attribution

    other: Told = ("run.terminated", {"code": "wall-ceiling", "rationale": "r", "evidence": ""})
    assert whose(STOP) == NOBODY
    assert whose(STOP, FAULT) == HARNESS
    assert whose(other) == HARNESS
    assert whose() == HARNESS


def test_two_verdicts_are_enough_for_an_alpha() -> None:
    assert krippendorff_alpha([{"a": "x", "b": "y"}]) == 0


def test_a_failed_gate_points_at_the_decision_and_the_attempts() -> None:
    assert gates(evidence_of(happened(outcome="fail")))[2].evidence == ("events.jsonl#9", "events.jsonl#8")


def test_an_error_counts_only_where_the_patch_applied() -> None:
    error = {"check": "tests", "outcome": "error", "reason": "x", "attribution": "agent"}
    judged = replace(
        evidence_of(happened(applied="fail", more=[("check.decided", error)])), manifest=MANIFEST, changes=None
    )
    assert status(judged, gates(judged)).status == FAILURE


def test_changes_that_were_never_listed_are_no_configuration() -> None:
    evidence = replace(evidence_of(happened(outcome="error", reason="x", attribution="agent")), changes={})
    assert [tag.id for tag in tags(evidence, Status(FAILURE, "agent"))] == ["evaluation-error"]


def test_a_code_leads_to_a_tag_only_through_events_that_show_it() -> None:
    assert matching_tags("wall-ceiling", "", ("patch.applied",)) == ()
    assert matching_tags("wall-ceiling", "", ("run.terminated",))
