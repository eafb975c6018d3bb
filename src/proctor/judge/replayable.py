"""Whether a run can be replayed: the same answers given to the same patch on the same base. Pure.

A run that cannot be replayed says why. What no run fixes (the machine's clock, the order in which processes get their
turn) is stated as assumed and is a reason only where it showed: a check that came out differently on the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor.judge.evidence import Evidence, pointer

ASSUMED = ("the machine's clock does not decide", "the order in which processes run does not decide")


def replayable(evidence: Evidence) -> dict[str, Any]:
    """The statement as a report holds it: yes or no, every reason for a no with its evidence, and what is assumed."""
    found = tuple(_reasons(evidence))
    return {
        "replayable": not found,
        "reasons": [{"why": why, "evidence": where} for why, where in found],
        "assumed": list(ASSUMED),
    }


def _reasons(evidence: Evidence) -> Iterator[tuple[str, str]]:
    extracted = evidence.last("patch.extracted")
    if extracted is None:
        yield "no patch was taken from the workspace", "manifest.json"
    for event in evidence.of("network.closed"):
        for why in event.payload["why"]:
            yield f"network: {why}", pointer(event)
        if event.payload["mode"] == "record" and not event.payload.get("blob"):
            yield "network: the cassette was not kept", pointer(event)
    for event in evidence.of("model.closed"):
        whys = event.payload["why"] or (() if event.payload["replayable"] else ("its answers cannot be given again",))
        for why in (*whys, *event.payload["diverged"]):
            yield f"model: {why}", pointer(event)
    closed = evidence.last("network.closed")
    if evidence.contract.policy.network.mode != "none" and closed is None and evidence.last("guard.exec"):
        yield "network: how it came out was not recorded", "events.jsonl"
    for event in evidence.of("guard.lost"):
        yield f"{event.payload['count']} records of the guard were lost", pointer(event)
    for check in evidence.contract.checks:
        outcomes: dict[str, set[str]] = {}
        for event in evidence.attempts(check):
            outcomes.setdefault(event.payload["tree"], set()).add(event.payload["outcome"])
            if len(outcomes[event.payload["tree"]]) > 1:
                yield f"{check.id} came out differently on the same tree", pointer(event)
                break
