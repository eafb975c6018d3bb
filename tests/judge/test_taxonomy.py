"""The taxonomy and the mapping to it: every code has a tag, no tag is without evidence, errors are kept apart."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.model import LAYERS
from proctor.execute.monitor import breakers
from proctor.execute.monitor.severity_grades import DEFAULT_RULES
from proctor.execute.monitor.text_rules.text_scan import FORMATS
from proctor.judge.failure_tags import Tag, tagged, tags
from proctor.judge.run_evidence import Evidence
from proctor.judge.run_verdict import GATE_NAMES, gates, status
from proctor.judge.taxonomy import matching_tags, taxonomy
from proctor.record.trace.event import Event
from proctor.record.trace.event_types import EVENT_TYPES
from tests.judge.scene import CHANGE, Told, evidence_of, happened

DEMANDED = [
    "conflict",
    "build-failure",
    "static-failure",
    "test-failure",
    "os-risk",
    "dependency-hallucination",
    "context-overflow",
    "invariant-violation",
    "configuration-drift",
    "non-termination",
    "dependency-amplification",
    "boundary-violation",
    "supply-chain-hazard",
    "evaluation-invalidity",
    "evaluation-error",
]
ENDING = [
    "wall-ceiling",
    "out-of-memory",
    "cpu-cap",
    "memory-cap",
    "disk-cap",
    "inodes-cap",
    "process-cap",
    "cost-cap",
    "token-cap",
    "tool-call-cap",
    "failed-cycle-cap",
    "dependency-resolution-cap",
    "record-cap",
    "no-progress",
    "dominance",
    "identical-calls",
    "patch-oscillation",
    "repeated-trips",
    "dependency-reinstalls",
]


def found(evidence: Evidence) -> tuple[Tag, ...]:
    return tags(evidence, status(evidence, gates(evidence)))


def ids(evidence: Evidence) -> list[str]:
    return [tag.id for tag in found(evidence)]


def test_every_entry_is_whole() -> None:
    assert set(DEMANDED) <= set(taxonomy())
    assert {f"test-failure:{layer}" for layer in LAYERS} <= set(taxonomy())
    for entry in taxonomy().values():
        assert entry.about and entry.remedy.endswith("."), entry.id
        assert set(entry.gates) <= {"", *GATE_NAMES} and entry.gates
        assert set(entry.evidence) <= {*EVENT_TYPES, "manifest"} and entry.evidence


@pytest.mark.parametrize("code", sorted(DEFAULT_RULES))
def test_every_graded_code_has_a_tag_of_its_own(code: str) -> None:
    one = code.replace("*", "x")
    assert {entry.id for entry in matching_tags(one, "G4", ("safety.finding",))} - {"boundary-violation"}


@pytest.mark.parametrize("code", ENDING)
def test_every_code_that_ends_a_run_has_a_tag(code: str) -> None:
    assert matching_tags(code, "", ("run.terminated",))


def test_every_code_of_a_breaker_has_a_tag() -> None:
    folder = Path(breakers.__file__).parent
    text = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    codes = set(re.findall(r'Trip\(\s*self\.name,\s*"([a-z-]+)"', text)) | set(
        re.findall(r'code, words = "[a-z-]+", "([a-z-]+)"', text)
    )
    assert len(codes) >= 15
    for code in codes:
        assert (
            matching_tags(code, "", ("run.terminated",)) or len(matching_tags(code, "G4", ("safety.finding",))) > 1
        ), code


@pytest.mark.parametrize(("name", "gate"), [("no-such-tag", "G1"), ("conflict", "G4"), ("conflict", "")])
def test_a_tag_outside_the_taxonomy_cannot_be_made(name: str, gate: str) -> None:
    with pytest.raises(ValueError, match="taxonomy"):
        Tag(name, gate, ("events.jsonl#1",))


@pytest.mark.parametrize("name", sorted(taxonomy()))
def test_a_tag_without_its_evidence_cannot_be_made(name: str) -> None:
    gate = taxonomy()[name].gates[0]
    with pytest.raises(ValueError, match="evidence"):
        Tag(name, gate, ())
    with pytest.raises(ValueError, match="needs one of"):
        tagged(name, gate, Event(0, "1", "briefing", "harness", {}, "", ""))


EXTRAS: dict[str, tuple[str, dict[str, Any]]] = {
    "violation": ("safety.finding", {"code": "privilege", "grade": "violation", "message": "m", "evidence": "x"}),
    "notice": ("safety.finding", {"code": "privilege", "grade": "notice", "message": "m", "evidence": "x"}),
    "ended": ("run.terminated", {"code": "no-progress", "rationale": "r", "evidence": "x"}),
    "unknown end": ("run.terminated", {"code": "something-new", "rationale": "r", "evidence": "x"}),
    "fault": ("run.fault", {"message": "m", "phase": "p"}),
    "overflow": ("model.error", {"call": 1, "class": "rejected", "status": 400, "detail": "context_length_exceeded"}),
    "short": ("model.response", {"call": 1, "finish": "length", "refusal": None}),
}


@given(
    outcome=st.sampled_from(["pass", "fail", "error"]),
    reason=st.sampled_from(["tests", "forged", "timeout", "could-not-start", "exit-code"]),
    whose=st.sampled_from(["agent", "harness", "nobody"]),
    extras=st.lists(st.sampled_from(sorted(EXTRAS)), max_size=4),
    applied=st.sampled_from(["pass", "fail", "error"]),
)
def test_tags_rest_on_events_that_exist_and_are_the_same_each_time(
    outcome: str, reason: str, whose: str, extras: list[str], applied: str
) -> None:
    evidence = evidence_of(
        happened(outcome=outcome, reason=reason, attribution=whose, applied=applied, more=[EXTRAS[e] for e in extras])
    )
    given_tags = found(evidence)
    assert given_tags == found(evidence)
    known = {f"events.jsonl#{event.seq}": event.type for event in evidence.events}
    for tag in given_tags:
        wanted = taxonomy()[tag.id].evidence
        assert any(known.get(one, one.removesuffix(".json")) in wanted for one in tag.evidence), tag
    names = [tag.id for tag in given_tags]
    decided = applied == "pass"
    if decided and outcome == "error":
        assert "evaluation-error" in names
        if whose != "agent":
            assert not {"non-termination", "configuration-drift", "test-failure"} & {t.id for t in given_tags if t.gate}
    assert ("os-risk" in names) == ("violation" in extras)
    assert ("context-overflow" in names) == ("overflow" in extras)


def test_an_error_of_a_patch_that_changes_configuration_alone_is_drift_only_if_it_is_the_agents() -> None:
    config = {**CHANGE, "path": "setup.cfg"}
    for whose, changes in itertools.product(("agent", "nobody"), ([config], [config, CHANGE])):
        evidence = evidence_of(happened(outcome="error", reason="exit-code", attribution=whose), changes=changes)
        assert ("configuration-drift" in ids(evidence)) == (whose == "agent" and changes == [config])


def test_a_listed_test_that_passed_before_and_fails_now_violates_an_invariant() -> None:
    for kept, failing in itertools.product((("a",), ()), (["a"], ["b"])):
        evidence = evidence_of(happened(outcome="fail", failing=failing), keep_passing=kept)
        assert ("invariant-violation" in ids(evidence)) == (kept == ("a",) and failing == ["a"])


@pytest.mark.parametrize("form", FORMATS)
def test_a_risk_that_was_asked_for_keeps_its_words_and_their_format(form: str) -> None:
    before: list[Told] = [
        ("words.hit", {"rule": "exfiltration-send", "format": form, "where": "task", "text": "x", "grade": "alert"}),
        ("monitor.alert", {"code": "words-exfiltration-send", "evidence": [4]}),
        (
            "safety.finding",
            {"code": "words-exfiltration-send", "grade": "violation", "message": "m", "evidence": "events.jsonl#5"},
        ),
    ]
    by_id = {tag.id: tag for tag in found(evidence_of(happened(before=before)))}
    assert by_id["os-risk"].format == by_id["exfiltration"].format == form
    assert by_id["os-risk"].segments == ("events.jsonl#4",)
    assert by_id["os-risk"].record().segments == ("events.jsonl#4",)
    assert by_id["boundary-violation"].record().segments is None


def test_a_package_that_no_registry_knows_was_made_up() -> None:
    def told(status: int, code: int, path: str = "/simple/left-padding/") -> list[str]:
        before = [
            (
                "guard.exec",
                {
                    "pid": 9,
                    "parent": 2,
                    "path": "/usr/bin/pip",
                    "argv": ["pip", "install", "left_padding"],
                    "cwd": "/",
                    "allowed": True,
                },
            ),
            ("network.exchange", {"host": "h", "path": path, "status": status}),
            ("guard.exit", {"pid": 9, "exit_code": code, "wall_seconds": "1.000"}),
        ]
        return ids(evidence_of(happened(before=before)))

    assert "dependency-hallucination" in told(404, 1)
    assert "dependency-hallucination" not in told(200, 1)
    assert "dependency-hallucination" not in told(404, 0)
    assert "dependency-hallucination" not in told(404, 1, "/simple/left/")
