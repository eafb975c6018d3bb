"""Evidence put together in memory, event by event, for functions that are pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.contract.model import Check, Contract, GitRepository, NamedFile, Task
from proctor.judge.run_evidence import Evidence
from proctor.record.trace.event import Event

PATCH = (
    b"diff --git a/calc.py b/calc.py\nindex 1111111111111111111111111111111111111111.."
    b"2222222222222222222222222222222222222222 100644\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n"
    b" def add(a, b):\n-    return a - b\n+    return a + b\n"
)
SIDE: dict[str, Any] = {"sha256": "a" * 64, "bytes": 1, "mode": "100644"}
CHANGE: dict[str, Any] = {
    "path": "calc.py",
    "change": "modified",
    "before": SIDE,
    "after": {**SIDE, "sha256": "b" * 64},
    "lines": {"added": 1, "deleted": 1, "binary": False},
}
Told = tuple[str, dict[str, Any]]


def happened(
    *,
    outcome: str = "pass",
    reason: str = "tests",
    attribution: str = "",
    applied: str = "pass",
    failing: Sequence[str] = ("t",),
    before: Sequence[Told] = (),
    more: Sequence[Told] = (),
    patch: bytes = PATCH,
    wall_seconds: str = "2.000",
) -> list[Told]:
    """A run with one check: ``before`` happens while the agent acts (from event 4 on), ``more`` at the end."""
    told: list[Told] = [
        ("run.started", {"wall_ns": "1"}),
        ("run.identity", {"match": True}),
        ("briefing", {"text": "t"}),
        ("agent.started", {"name": "a"}),
        *before,
        ("agent.finished", {"reason": "finished", "exit_code": 0, "wall_seconds": wall_seconds}),
        ("patch.extracted", {"sha256": sha256(patch), "bytes": len(patch)}),
        ("safety.checked", {"violations": 0}),
        ("patch.applied", {"outcome": applied, "problem": "" if applied == "pass" else "no"}),
    ]
    if applied == "pass":
        shown = list(failing) if outcome == "fail" else []
        attempt = {"check": "tests", "attempt": 1, "tree": "patched", "outcome": outcome, "failing": shown}
        told += [
            ("check.finished", {**attempt, "diagnostics": "", "observed_seconds": "0.100"}),
            (
                "check.decided",
                {"check": "tests", "outcome": outcome, "reason": reason, "detail": "", "attribution": attribution},
            ),
        ]
    else:
        told.append(("check.blocked", {"check": "tests", "reason": "no"}))
    return [*told, *more]


def evidence_of(
    told: Iterable[Told],
    *,
    changes: Sequence[dict[str, Any]] = (CHANGE,),
    patch: bytes = PATCH,
    keep_passing: tuple[str, ...] = (),
    **fields: Any,
) -> Evidence:
    """Evidence with ``told`` as its trace; ``fields`` are parts of the contract."""
    check = Check("tests", "acceptance", ("x",), results="pytest", keep_passing=keep_passing)
    task = Task(NamedFile("issue.md", "0" * 64), "text")
    contract = Contract(
        **{
            "directory": Path(),
            "name": "calc",
            "title": "t",
            "kind": "bug-fix",
            "task": task,
            "repository": GitRepository("x", "0" * 40),
            "checks": (check,),
            **fields,
        }
    )
    events = tuple(
        Event(seq, str(1000 + seq), name, "harness", payload, "", "") for seq, (name, payload) in enumerate(told)
    )
    return Evidence({}, contract, events, {"changes": list(changes), "dropped": []}, None, patch)
