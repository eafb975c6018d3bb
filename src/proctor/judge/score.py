"""The graded score of a run that passed every gate: minimality, quality of the trace, maintainability. Pure.

    minimality        exp(-lambda * d), d the changed lines outside added tests
    trace             1 when everything is there that is needed to reproduce the result, else 0
    maintainability   the share of the contract's maintainability checks that passed

Numbers are decimals, computed with a fixed precision and rounded to six places, so that every machine writes the same
bytes. The weights come with the score as a rubric.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from proctor.base.canonical import sha256
from proctor.execute.workspace.patch import known_stat
from proctor.judge.evidence import Evidence
from proctor.judge.exact import CONTEXT, decimal_text, share, weighted
from proctor.judge.gates import Gate
from proctor.judge.outcome import PASS
from proctor.judge.policy import counted_lines

NEEDED = ("run.started", "run.identity", "briefing", "agent.started", "agent.finished", "patch.extracted")
"""Events without which a result cannot be reproduced."""


def score(evidence: Evidence, gates: Sequence[Gate], distance: int) -> dict[str, Any] | None:
    """The score with its rubric; nothing unless all gates were passed."""
    if not all(gate.passed for gate in gates):
        return None
    rubric = evidence.contract.score
    parts = {
        "minimality": minimality(Decimal(rubric.minimality_lambda), distance),
        "trace": trace_quality(evidence),
        "maintainability": maintainability(evidence),
    }
    weights = {
        "minimality": Decimal(rubric.minimality_weight),
        "trace": Decimal(rubric.trace_weight),
        "maintainability": Decimal(rubric.maintainability_weight),
    }
    return {
        "value": decimal_text(weighted(weights, parts)),
        "parts": {name: decimal_text(value) for name, value in parts.items()},
        "rubric": {
            "lambda": rubric.minimality_lambda,
            "distance": distance,
            "distance_unit": "changed lines outside added tests",
            "weights": {
                "minimality": rubric.minimality_weight,
                "trace": rubric.trace_weight,
                "maintainability": rubric.maintainability_weight,
            },
            "maintainability_checks": list(rubric.maintainability_checks),
        },
    }


def distance_of(evidence: Evidence) -> int:
    """How many lines the patch changes, without the tests that it adds."""
    return counted_lines((evidence.changes or {}).get("changes", ()), known_stat(evidence.patch or b""))


def minimality(rate: Decimal, distance: int) -> Decimal:
    """exp(-rate * distance), between 0 and 1."""
    return CONTEXT.exp(CONTEXT.minus(CONTEXT.multiply(rate, Decimal(distance))))


def trace_quality(evidence: Evidence) -> Decimal:
    """1 when commands, logs and patch are all there and agree, else 0."""
    if any(evidence.last(name) is None for name in NEEDED) or evidence.patch is None:
        return Decimal(0)
    extracted = evidence.last("patch.extracted")
    assert extracted is not None
    return Decimal(int(extracted.payload["sha256"] == sha256(evidence.patch)))


def maintainability(evidence: Evidence) -> Decimal:
    """The share of the maintainability checks that passed; 0 where the contract names none."""
    names = evidence.contract.score.maintainability_checks
    if not names:
        return Decimal(0)
    decided = [evidence.decision(check) for check in evidence.contract.checks if check.id in names]
    passed = sum(event is not None and event.payload.get("outcome") == PASS for event in decided)
    return share(passed, len(names))
