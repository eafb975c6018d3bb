"""What runs cost, and the names of the parts of a cost."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.present.sentences.phrases import Said, Sentences, amount


def _agent_cost(said: Said) -> str:
    text = f"{said['agent']} cost {amount(said['per_run_usd'], said['unit'])} per run"
    if said["per_success_usd"] is not None:
        text += f", {amount(said['per_success_usd'], said['unit'])} per success"
    return f"{text}."


def _cheaper(said: Said) -> str:
    prices = f"{amount(said['usd'], said['unit'])} per run instead of {amount(said['than_usd'], said['unit'])}"
    return f"{said['agent']} is not separable from {said['than']} and is cheaper: {prices}."


SENTENCES: Sentences = {
    "agent-cost": _agent_cost,
    "agent-cost-unknown": lambda said: f"The cost of {said['agent']} is not known.",
    "cheaper-and-not-separable": _cheaper,
    "costs-in-two-units": lambda said: (
        "The costs cannot be compared: some are in US dollars, others in units of a fixed schedule."
    ),
}

PHASES: Mapping[str, str] = {
    "acceptance": "acceptance",
    "approval": "approval",
    "attempt": "attempt",
    "none": "not itemised",
    "review": "review after the run",
    "setup": "setup",
    "unknown": "phase unknown",
}


def phase(code: object) -> str:
    """The name of a phase."""
    return PHASES.get(str(code), str(code))
