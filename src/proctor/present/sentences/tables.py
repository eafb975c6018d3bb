"""Headings and cells of tables for codes: gates, weights, other caps, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.present.readable_numbers import currency
from proctor.present.sentences.phrases import Said

STEPS = {
    "attempted": "attempted",
    "scorable": "scorable",
    "outcome-known": "outcome known",
    **{f"gate-{number}": f"gate {number}" for number in range(1, 5)},
    "success": "success",
}
"""The steps of a run from its attempt to success."""
ENDPOINTS = {
    "success": "success over scorable runs",
    "intention-to-treat": "success over all attempted runs",
}


def step(code: object) -> str:
    """The name of a step."""
    return STEPS.get(str(code), str(code))


def endpoint(code: object) -> str:
    """What is measured."""
    return ENDPOINTS.get(str(code), str(code))


def weights(given: Mapping[str, float] | None) -> str:
    """How much each stratum counts."""
    if not isinstance(given, Mapping):
        return "every stratum counts the same"
    return ", ".join(f"{stratum} {weight:.3g}" for stratum, weight in given.items())


def other_cap(row: Said, findings: Mapping[str, Any]) -> str:
    """The cap of a row of hypothetical results."""
    if row["of"] == "seconds":
        return f"hypothetical: cap of {row['cap']:g} s of the agent's time"
    paid = currency(findings)
    return f"hypothetical: cap of {row['cap'] * paid.per_usd:g} {'USD' if paid.per_usd == 1 else paid.title} per run"
