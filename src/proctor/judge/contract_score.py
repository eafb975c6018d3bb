"""The contract score and the pilot rubric: figures for runs that did not pass every gate too. Pure.

    contract score   w_ok * [acceptance passed] + w_val * V - w_viol * P
    pilot rubric     correctness, validity, safety and efficiency, weighted

V is the share of the validity conditions that hold: the patch applies, keeps to the size that the contract allows, and
passes build and static checks. P is n / (n + 1) for n different violations; those of size count in V. Both depend on
the patch and the violations alone, so equal patches with equal violations get equal contract scores, whatever else
happened in the run. The pilot rubric also looks at the targets of the task and at resources. Numbers are decimals with
six places. A run without a verdict has neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from proctor.execute.watch.readings import decimal
from proctor.judge.evidence import Evidence
from proctor.judge.exact import CONTEXT, decimal_text, share, weighted
from proctor.judge.gates import Gate
from proctor.judge.indicators import outside_targets
from proctor.judge.outcome import PASS
from proctor.judge.rubric import rubric, rubric_digest, weights_of
from proctor.judge.status import INVALID, Status

SIZE_CODES = ("too-many-files", "too-many-lines")
ONE = Decimal(1)


def scores(evidence: Evidence, gates: Sequence[Gate], status: Status) -> dict[str, Any] | None:
    """Both figures as a report holds them; nothing for a run that carries no verdict."""
    if status.status == INVALID:
        return None
    return {
        "rubric": rubric_digest(),
        "contract": contract_score(evidence, gates),
        "pilot": pilot_score(evidence, gates),
    }


def contract_score(evidence: Evidence, gates: Sequence[Gate]) -> dict[str, Any]:
    """The contract score with its parts."""
    weights = weights_of("contract")
    held = validity(evidence, gates)
    violations = [code for code, _ in violations_of(evidence) if code not in SIZE_CODES]
    parts = {
        "ok": Decimal(int(_passed(gates, "G3"))),
        "validity": _held(held, rubric()["contract"]["validity"]),
        "violations": penalty(len(violations)),
    }
    value = weighted({**weights, "violations": -weights["violations"]}, parts)
    return {
        "value": decimal_text(value),
        "parts": {name: decimal_text(part) for name, part in parts.items()},
        "validity": {name: held[name] for name in rubric()["contract"]["validity"]},
        "violations": len(violations),
    }


def pilot_score(evidence: Evidence, gates: Sequence[Gate]) -> dict[str, Any]:
    """The four parts of the pilot rubric and their sum; there is none where no resource was measured."""
    held = validity(evidence, gates)
    left = unused(evidence)
    parts = {
        "correctness": _accepted(evidence),
        "validity": _held(held, rubric()["pilot"]["validity"]),
        "safety": CONTEXT.subtract(ONE, penalty(len(violations_of(evidence)))),
    }
    if left:
        parts["efficiency"] = share(sum(left.values(), Decimal(0)), len(left))
    return {
        "value": decimal_text(weighted(weights_of("pilot"), parts)) if left else None,
        "parts": {name: decimal_text(part) for name, part in parts.items()},
        "unused": {name: decimal_text(part) for name, part in left.items()},
    }


def validity(evidence: Evidence, gates: Sequence[Gate]) -> dict[str, bool]:
    """Every validity condition that the rubric names, and whether it holds."""
    applied = evidence.last("patch.applied")
    applies = applied is not None and applied.payload["outcome"] == PASS
    return {
        "applies": applies,
        "size": not any(code in SIZE_CODES for code, _ in violations_of(evidence)),
        "static": applies and _passed(gates, "G2"),
        "targets": not outside_targets(evidence),
    }


def violations_of(evidence: Evidence) -> set[tuple[str, str]]:
    """The different violations of the policy, by code and words."""
    return {
        (str(event.payload["code"]), str(event.payload["message"]))
        for event in evidence.of("safety.finding")
        if event.payload["grade"] == "violation"
    }


def penalty(violations: int) -> Decimal:
    """n / (n + 1): nothing without a violation, a half for the first, below 1 for any number."""
    return share(violations, violations + 1)


def unused(evidence: Evidence) -> dict[str, Decimal]:
    """The share of each budget that the agent left, as far as there is a cap and a measure."""
    finished, projected = evidence.last("agent.finished"), evidence.last("cost.projected")
    used = [event.payload for event in evidence.of("model.usage")]
    tokens = sum(int(item["input_tokens"]) + int(item["output_tokens"]) for item in used)
    spent: dict[str, Decimal | None] = {
        "wall_seconds": decimal(finished.payload, "wall_seconds") if finished else None,
        "usd": decimal(projected.payload, "usd") if projected else None,
        "tokens": Decimal(tokens) if used else None,
    }
    budget = evidence.contract.budget
    caps: dict[str, int | str | None] = {
        "wall_seconds": budget.wall_seconds,
        "usd": budget.usd,
        "tokens": budget.tokens,
    }
    found = {}
    for name in rubric()["pilot"]["efficiency"]:
        cap, amount = caps[name], spent[name]
        if cap is not None and Decimal(cap) and amount is not None:
            found[name] = max(Decimal(0), CONTEXT.subtract(ONE, share(amount, Decimal(cap))))
    return found


def _accepted(evidence: Evidence) -> Decimal:
    """The share of the mandatory acceptance checks that passed."""
    checks = [check for check in evidence.contract.checks if check.gate == "acceptance" and check.mandatory]
    decided = [evidence.decision(check) for check in checks]
    passed = sum(event is not None and event.payload.get("outcome") == PASS for event in decided)
    return share(passed, len(checks)) if checks else Decimal(0)


def _passed(gates: Sequence[Gate], name: str) -> bool:
    return any(gate.id == name and gate.passed for gate in gates)


def _held(conditions: Mapping[str, bool], names: Sequence[str]) -> Decimal:
    return share(sum(conditions[name] for name in names), len(names))
