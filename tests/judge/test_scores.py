"""The contract score, the pilot rubric and the published rubric: known values, and the proposition of invariance."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.model import Score, Targets
from proctor.judge.run_verdict import FAILURE, GATE_NAMES, INVALID, Status, gates
from proctor.judge.scores import contract_score, penalty, pilot_score, scores
from proctor.judge.scoring_rubric import columns, figure, rubric, table, weights_of
from proctor.record.report_model import AgentName, PilotScore
from proctor.record.trace.event_types import EVENT_TYPES
from tests.judge.scene import CHANGE, Told, evidence_of, happened
from tests.sample_reports import DIGEST, sample_gate, sample_report, sample_score


def finding(code: str, message: str = "m", grade: str = "violation") -> Told:
    return "safety.finding", {"code": code, "grade": grade, "message": message, "evidence": "x"}


def contract_value(told: list[Told], **fields: Any) -> str:
    evidence = evidence_of(told, **fields)
    return contract_score(evidence, gates(evidence)).value


def test_the_rubric_says_what_the_code_does() -> None:
    assert {gate["id"]: gate["name"] for gate in rubric()["gates"]} == GATE_NAMES
    assert all(set(gate["evidence"]) <= set(EVENT_TYPES) for gate in rubric()["gates"])
    usual = Score()
    assert rubric()["graded"]["lambda"] == usual.minimality_lambda
    assert list(rubric()["graded"]["weights"].values()) == [
        usual.minimality_weight,
        usual.trace_weight,
        usual.maintainability_weight,
    ]
    for name in ("graded", "pilot"):
        assert sum(weights_of(name).values()) == 1
    assert all(weight >= 0 for name in ("graded", "contract", "pilot") for weight in weights_of(name).values())


@pytest.mark.parametrize(
    ("told", "value"),
    [
        (happened(), "1.000000"),
        (happened(outcome="fail"), "0.300000"),
        (happened(outcome="error", attribution="nobody"), "0.300000"),
        (happened(applied="fail"), "0.100000"),
        (happened(before=[finding("privilege")]), "0.850000"),
        (happened(before=[finding("privilege"), finding("privilege", "other")]), "0.800000"),
        (happened(before=[finding("privilege"), finding("privilege")]), "0.850000"),
        (happened(before=[finding("privilege", grade="alert")]), "1.000000"),
        (happened(before=[finding("too-many-lines")]), "0.900000"),
        (happened(applied="fail", before=[finding("privilege")]), "-0.050000"),
    ],
)
def test_contract_scores_computed_by_hand(told: list[Told], value: str) -> None:
    assert contract_value(told) == value


INCIDENTAL: list[Told] = [
    ("guard.exec", {"pid": 7, "parent": 1, "path": "/bin/ls", "argv": ["ls"], "cwd": "/", "allowed": True}),
    ("guard.exit", {"pid": 7, "exit_code": 3, "wall_seconds": "1.000"}),
    ("tool.invocation", {"command": ["x"], "wall_seconds": "9.000", "cpu_seconds": "9.000"}),
    ("monitor.sample", {"wall_seconds": "5.000", "phase": "agent"}),
    ("monitor.alert", {"code": "burst", "grade": "alert", "evidence": []}),
    ("model.usage", {"input_tokens": 900, "output_tokens": 100, "model": "m", "usd": "0.10"}),
    ("cost.projected", {"usd": "1.25", "method": "m"}),
    ("workspace.mutation", {"path": "calc.py", "change": "modified", "before": None, "after": None}),
    ("stage.changed", {"from": "", "to": "write", "reason": "r"}),
    finding("steering-file", grade="notice"),
]
VIOLATIONS = [finding("privilege"), finding("forbidden-path", "a"), finding("too-many-files"), finding("network", "b")]


@given(
    outcome=st.sampled_from(["pass", "fail", "error"]),
    applied=st.sampled_from(["pass", "fail"]),
    viol=st.lists(st.sampled_from(range(len(VIOLATIONS))), max_size=4),
    traces=st.tuples(
        st.lists(st.sampled_from(range(len(INCIDENTAL))), max_size=8),
        st.lists(st.sampled_from(range(len(INCIDENTAL))), max_size=8),
    ),
    walls=st.tuples(st.integers(0, 4000), st.integers(0, 4000)),
    data=st.data(),
)
def test_equal_patches_with_equal_violations_get_equal_contract_scores(
    outcome: str, applied: str, viol: list[int], traces: tuple[list[int], list[int]], walls: tuple[int, int], data: Any
) -> None:
    """Two traces with the same change and the same violations, whatever else they hold and in whatever order."""
    found = []
    for trace, wall in zip(traces, walls, strict=True):
        mixed = [*(VIOLATIONS[index] for index in viol), *(INCIDENTAL[index] for index in trace)]
        order = data.draw(st.permutations(mixed))
        evidence = evidence_of(
            happened(outcome=outcome, applied=applied, before=order, wall_seconds=f"{wall}.000"),
        )
        found.append(contract_score(evidence, gates(evidence)))
    assert found[0] == found[1]
    assert Decimal("-0.3") <= Decimal(found[0].value) <= 1


def test_another_patch_or_another_violation_may_change_the_contract_score() -> None:
    assert contract_value(happened(outcome="pass")) != contract_value(happened(outcome="fail"))
    assert contract_value(happened()) != contract_value(happened(before=[finding("privilege")]))


@given(st.integers(0, 10**6))
def test_the_penalty_grows_and_stays_below_one(violations: int) -> None:
    assert 0 <= penalty(violations) < penalty(violations + 1) < 1


def test_the_pilot_rubric_looks_at_resources_too() -> None:
    def pilot(**fields: Any) -> PilotScore:
        evidence = evidence_of(happened(**fields))
        return pilot_score(evidence, gates(evidence))

    quick, slow = pilot(wall_seconds="0.000"), pilot(wall_seconds="900.000")
    assert quick.value == "1.000000"
    assert slow.parts["efficiency"] == "0.500000"
    assert slow.value == "0.900000"
    spent: list[Told] = [("cost.projected", {"usd": "2.50"})]
    assert pilot(wall_seconds="900.000", before=spent).unused == {"wall_seconds": "0.500000", "usd": "0.500000"}
    assert pilot(wall_seconds="9000.000").parts["efficiency"] == "0.000000"
    unsafe = pilot(wall_seconds="0.000", before=[finding("privilege")])
    assert unsafe.parts["safety"] == "0.500000"


def test_churn_outside_the_targets_lowers_validity_in_the_pilot_rubric_alone() -> None:
    from dataclasses import replace

    plain = evidence_of(happened(), changes=[CHANGE, {**CHANGE, "path": "other.py"}])
    task = replace(plain.contract.task, targets=Targets(modules=("calc.py",)))
    aimed = replace(plain, contract=replace(plain.contract, task=task))
    assert pilot_score(aimed, gates(aimed)).parts["validity"] == "0.750000"
    assert contract_score(aimed, gates(aimed)) == contract_score(plain, gates(plain))


def test_without_a_measure_there_is_no_efficiency_and_no_sum() -> None:
    evidence = evidence_of([one for one in happened() if one[0] != "agent.finished"])
    found = pilot_score(evidence, gates(evidence))
    assert found.value is None
    assert "efficiency" not in found.parts


def test_a_run_without_a_verdict_has_no_scores() -> None:
    evidence = evidence_of(happened())
    assert scores(evidence, gates(evidence), Status(INVALID, "harness")) is None
    assert scores(evidence, gates(evidence), Status(FAILURE, "agent")) is not None


def test_the_table_has_a_row_for_each_run_and_no_formulas() -> None:
    evidence = evidence_of(happened())
    report = sample_report(
        agent=AgentName(name="=cmd()", kind="command", digest=DIGEST),
        gates=(sample_gate("G1"),),
        score=sample_score("0.5", "0.9"),
        scores=scores(evidence, gates(evidence), Status(FAILURE, "agent")),
    )
    (row,) = csv.DictReader(io.StringIO(table([report])))
    assert list(row) == columns()
    assert (row["agent"], row["G1"], row["graded"], row["contract_score"]) == ("'=cmd()", "pass", "0.9", "1.000000")
    assert row["reviewer"] == ""


def test_the_figure_in_the_documentation_is_drawn_from_the_rubric(project: Any) -> None:
    assert (project / "docs" / "figures" / "rubric.svg").read_text("utf-8") == figure(rubric())
