"""Reports for tests that need one and no run: a success without checks, and what a test changes in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proctor.record.report_model import (
    AgentName,
    CheckAttempt,
    CheckResult,
    Comparability,
    ContractName,
    Conversation,
    Durations,
    Endpoint,
    EventCounts,
    Gate,
    GradedScore,
    Indicator,
    PatchSize,
    Programs,
    Report,
    ScoreParts,
    ScoreRubric,
    Termination,
    Tokens,
    Usage,
)

DIGEST = "sha256:" + "0" * 64


def sample_report(**changes: Any) -> Report:
    """A report with other values for some of its fields."""
    return replace(SAMPLE, **changes)


def sample_gate(name: str = "G1", passed: bool = True, why: str = "", evidence: tuple[str, ...] = ()) -> Gate:
    return Gate(id=name, name="a gate", passed=passed, why=why, evidence=evidence)


def sample_check(**changes: Any) -> CheckResult:
    """A mandatory acceptance check that passed."""
    return replace(CHECK, **changes)


def sample_attempt(outcome: str = "pass", **changes: Any) -> CheckAttempt:
    return replace(ATTEMPT, outcome=outcome, **changes)


def sample_indicator(kind: str, count: int = 1) -> Indicator:
    return Indicator(kind=kind, id=kind, about="a risk", count=count, evidence=("workspace/final.patch",))


def sample_score(minimality: str, value: str = "0.9") -> GradedScore:
    """A graded score whose first part has a value."""
    weights = ScoreParts(minimality="0.5", trace="0.5", maintainability="0")
    rubric = ScoreRubric(rate="0.01", distance=1, distance_unit="lines", weights=weights, maintainability_checks=())
    parts = ScoreParts(minimality=minimality, trace="1", maintainability="0")
    return GradedScore(value=value, parts=parts, rubric=rubric)


def sample_conversation(tokens_in: int, tokens_out: int) -> Conversation:
    """A conversation of which only the tokens are known."""
    nothing: dict[str, int] = {}
    programs = Programs(words=0, descent=0, order=0, unmatched=0, tool_calls_without=0, matches=(), without_cause=())
    return Conversation(
        calls=1,
        retries=0,
        messages=nothing,
        models=nothing,
        dialects=nothing,
        tokens=Tokens(input=tokens_in, output=tokens_out, estimated_calls=0),
        tools=nothing,
        tool_calls=0,
        refusals=(),
        refused=nothing,
        errors=nothing,
        words=nothing,
        outage=None,
        programs=programs,
        evidence=(),
    )


ATTEMPT = CheckAttempt(
    tree="patched",
    attempt=1,
    outcome="pass",
    reason="tests",
    sentinels="none",
    tests={},
    failing=(),
    observed_seconds="0.100",
    evidence="events.jsonl#1",
)
CHECK = CheckResult(
    id="tests",
    gate="acceptance",
    layer="",
    mandatory=True,
    outcome="pass",
    reason="tests",
    detail="",
    attribution="",
    rule="all",
    flagged=False,
    forgeable=False,
    attempts=(),
    evidence=(),
)
SAMPLE = Report(
    schema=3,
    kind="proctor.report",
    run="r",
    contract=ContractName(id=DIGEST, name="c", version="000000000000"),
    agent=AgentName(name="a", kind="noop", digest=DIGEST),
    status="success",
    attribution="nobody",
    problems=(),
    termination=Termination(reason="finished", code=None),
    endpoint=Endpoint(success=True, scorable=True),
    gates=(),
    score=None,
    checks=(),
    patch=PatchSize(
        sha256=DIGEST,
        bytes=1,
        files=1,
        added_lines=1,
        deleted_lines=0,
        counted_lines=1,
        dropped=0,
        final_tree=DIGEST,
    ),
    restored=(),
    tags=(),
    deviations=(),
    comparability=Comparability(repository=DIGEST, contract=DIGEST, configuration=DIGEST, group=DIGEST),
    events=EventCounts(count=1, head="0" * 64, by_type={}),
    durations=Durations(
        wall_seconds="1.000",
        agent_seconds="1.000",
        tool_seconds="0.000",
        tool_cpu_seconds="0.000",
        check_seconds="0.000",
    ),
    usage=Usage(tool_calls=0, check_attempts=0, tokens=None, cost=None),
    evidence=(),
)
