"""The graded score: its three parts, its weights, and that no run without all gates has one."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from proctor.base.json_records import to_json
from proctor.contract.model import Check, Score
from proctor.judge.run_verdict import gates
from proctor.judge.scores import NEEDED, distance_of, maintainability, score, trace_quality
from tests.judge.scene import CHANGE, PATCH, Told, evidence_of, happened
from tests.sample_reports import sample_gate

TESTS = Check("tests", "acceptance", ("x",), results="pytest")
OTHERS = tuple(Check(name, "static", ("x",), mandatory=False) for name in ("neat", "typed", "short"))


def decided(check: str, outcome: str) -> Told:
    return "check.decided", {"check": check, "outcome": outcome, "reason": "r", "attribution": "agent"}


def test_a_run_that_failed_one_gate_has_no_score() -> None:
    evidence = evidence_of(happened(outcome="fail"))
    assert score(evidence, gates(evidence), 2) is None
    mixed = (sample_gate("G1"), sample_gate("G2", False))
    assert score(evidence_of(happened()), mixed, 2) is None
    assert score(evidence_of(happened()), mixed[:1], 2) is not None


def test_every_part_has_the_weight_that_the_contract_gives_it() -> None:
    rubric = Score("0.02", "0.2", "0.3", "0.5", ("neat", "typed"))
    told = happened(more=[decided("neat", "pass"), decided("typed", "fail"), decided("short", "pass")])
    evidence = evidence_of(told, checks=(TESTS, *OTHERS), score=rubric)
    # R: format(0.2 * exp(-0.02 * 10) + 0.3 * 1 + 0.5 * 0.5, digits = 15)
    assert to_json(score(evidence, gates(evidence), 10)) == {
        "value": "0.713746",
        "parts": {"minimality": "0.818731", "trace": "1.000000", "maintainability": "0.500000"},
        "rubric": {
            "lambda": "0.02",
            "distance": 10,
            "distance_unit": "changed lines outside added tests",
            "weights": {"minimality": "0.2", "trace": "0.3", "maintainability": "0.5"},
            "maintainability_checks": ["neat", "typed"],
        },
    }


def test_the_distance_is_what_the_patch_changes() -> None:
    lines = {"added": 3, "deleted": 4, "binary": False}
    assert distance_of(evidence_of(happened(), changes=[{**CHANGE, "lines": lines}])) == 7
    older = {name: value for name, value in CHANGE.items() if name != "lines"}
    assert distance_of(evidence_of(happened(), changes=[older], patch=PATCH)) == 2
    bare = evidence_of(happened(), changes=[older])
    assert distance_of(replace(bare, patch=None)) == 2, "as many lines as its bytes could make"
    assert distance_of(replace(bare, patch=None, changes=None)) == 0
    assert distance_of(replace(bare, changes={})) == 0


@pytest.mark.parametrize("missing", NEEDED)
def test_a_trace_without_what_is_needed_has_no_quality(missing: str) -> None:
    told = [one for one in happened() if one[0] != missing]
    assert trace_quality(evidence_of(told)) == 0


def test_a_trace_has_quality_when_patch_and_record_agree() -> None:
    evidence = evidence_of(happened())
    assert trace_quality(evidence) == 1
    assert trace_quality(replace(evidence, patch=b"another")) == 0
    assert trace_quality(replace(evidence, patch=None)) == 0


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([decided("neat", "pass"), decided("typed", "pass")], Decimal(1)),
        ([decided("neat", "pass"), decided("typed", "error")], Decimal("0.5")),
        ([decided("neat", "pass"), decided("short", "pass")], Decimal("0.5")),
        ([("check.blocked", {"check": "neat", "reason": "r"})], Decimal(0)),
    ],
)
def test_maintainability_is_the_share_of_the_named_checks_that_passed(told: list[Any], expected: Decimal) -> None:
    rubric = Score(maintainability_checks=("neat", "typed"))
    assert maintainability(evidence_of(happened(more=told), checks=(TESTS, *OTHERS), score=rubric)) == expected


def test_without_named_checks_there_is_no_maintainability() -> None:
    assert maintainability(evidence_of(happened())) == 0
