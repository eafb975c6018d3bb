"""Run directories that are put together by hand, event by event, for reports to be made from."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import canonical, parse, parse_canonical, sha256
from proctor.base.clock import system_entropy
from proctor.contract.digest import resolved
from proctor.contract.model import Check, Contract, GitRepository, NamedFile, Task
from proctor.judge.run_report import build_report
from proctor.record.completeness import check_manifest
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import MANIFEST as VERSION
from proctor.record.trace.writer import TraceWriter

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
}
MANIFEST: dict[str, Any] = {
    "schema": 1,
    "kind": VERSION.kind,
    "run": "20260307T120000-0123456789",
    "contract": {"id": "sha256:" + "c" * 64, "name": "calc", "version": "cccccccccccc"},
    "repository": {"kind": "git", "identity": "0" * 40, "submodules": [], "tree_digest": "sha256:" + "d" * 64},
    "inputs": [],
    "setup": {"commands": [], "layer": "x"},
    "sandbox": {"backend": "bubblewrap", "identity": {"os": "debian"}, "isolation": {"memory": "cgroup"}},
    "toolchain": {"python3": "3.11"},
    "harness": {"version": "0.1.0", "python": "3.11", "digest": "sha256:" + "e" * 64},
    "agent": {"name": "noop", "kind": "noop", "command": [], "digest": "sha256:" + "f" * 64},
    "checks": [{"id": "tests", "command": ["x"]}],
    "environment": {"variables": {"TZ": "UTC"}, "absent": True},
    "seeds": {"observed": 20260307},
    "os": {"system": "Linux"},
    "locale": "C",
    "machine": {"cpus": 2, "memory_bytes": 1},
    "limits": {"wall_seconds": 1},
    "started": {"wall_ns": "1", "text": "x", "boot_id": "x"},
    "configuration": {},
    "price_table": None,
}
STREAM = {"sha256": "", "bytes": 0, "prefix": ""}


class StepClock:
    """A clock that goes on by a millisecond each time it is asked."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1_772_841_600_000_000_000, 1_000_000)

    def wall_ns(self) -> int:
        return next(self._ticks)

    def steady_ns(self) -> int:
        return next(self._ticks)


class Story:
    """A run told event by event; methods leave out or change what a test is about."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.manifest = parse(_bytes(MANIFEST))
        self.checks: tuple[Check, ...] = (Check("tests", "acceptance", ("x",), layer="unit", results="pytest"),)
        self.outcomes: dict[str, tuple[str, str, str]] = {}
        self.applied = ("pass", "")
        self.findings: list[tuple[str, str]] = []
        self.before_judging: list[tuple[str, dict[str, Any]]] = []
        self.after_judging: list[tuple[str, dict[str, Any]]] = []
        self.leave_out: set[str] = set()
        self.match = True
        self.patch = PATCH
        self.changes = [CHANGE]
        self.fields: dict[str, Any] = {}
        self.hook: Callable[[dict[str, Any]], None] = lambda results: None

    def tell(self) -> dict[str, Any]:
        """Write the run directory and return its report."""
        self.run = RunDirectory(self.top / "run").create()
        contract = Contract(
            **{
                "directory": Path(),
                "name": "calc",
                "title": "t",
                "kind": "bug-fix",
                "task": Task(NamedFile("issue.md", "0" * 64), "text"),
                "repository": GitRepository("x", "0" * 40),
                "checks": self.checks,
                **self.fields,
            }
        )
        self.run.write_json(self.run.manifest, self.manifest)
        self.run.write_json(self.run.contract, resolved(contract))
        self.run.patch.write_bytes(self.patch)
        self.run.write_json(self.run.changes, {"changes": self.changes, "dropped": []})
        with TraceWriter.create(self.run.events, StepClock(), system_entropy) as trace:
            for name, payload in self._events():
                if name not in self.leave_out:
                    trace.append(name, payload)
        results = self._results()
        self.hook(results)
        if "results" not in self.leave_out:
            self.run.write_json(self.run.results, results)
        first, second = build_report(self.run), build_report(self.run)
        assert first == second
        report = parse_canonical(first)
        assert isinstance(report, dict)
        return report

    def _events(self) -> Any:
        yield "run.started", {"run": "r", "contract": "c", "agent": "a", "wall_ns": "1", "boot_id": "b"}
        yield "run.identity", {"expected": {}, "observed": {}, "match": self.match}
        yield "briefing", {"text": "t", "obligations": []}
        yield "agent.started", {"name": "a", "kind": "k", "command": []}
        yield (
            "tool.invocation",
            {
                "purpose": "agent",
                "command": ["x"],
                "directory": "/",
                "exit_code": 0,
                "started": True,
                "timed_out": False,
                "wall_seconds": "1.250",
                "cpu_seconds": "0.500",
                "stdout": STREAM,
                "stderr": STREAM,
            },
        )
        yield "agent.finished", {"reason": "finished", "exit_code": 0, "wall_seconds": "2.000"}
        for change in self.changes:
            yield "workspace.mutation", change
        yield (
            "patch.extracted",
            {"sha256": sha256(self.patch), "bytes": len(self.patch), "files": len(self.changes), "dropped": []},
        )
        yield from self.before_judging
        for code, grade in self.findings:
            yield "safety.finding", {"code": code, "grade": grade, "message": f"{code} found", "evidence": "x"}
        violations = sum(grade == "violation" for _, grade in self.findings)
        yield "safety.checked", {"start": "1", "end": "2", "violations": violations}
        outcome, problem = self.applied
        yield (
            "patch.applied",
            {
                "outcome": outcome,
                "problem": problem,
                "start": "1",
                "end": "2",
                "command": ["git"],
                "exit_status": 0,
                "log": "",
            },
        )
        for check in self.checks:
            if outcome != "pass":
                yield "check.blocked", {"check": check.id, "reason": problem}
            else:
                yield from self._check(check)
        yield from self.after_judging

    def _check(self, check: Check) -> Any:
        outcome, reason, attribution = self.outcomes.get(check.id, ("pass", "tests", ""))
        if outcome == "undecided":
            return
        if not check.no_op:
            yield (
                "check.finished",
                {
                    "check": check.id,
                    "gate": check.gate,
                    "attempt": 1,
                    "tree": "patched",
                    "command": ["x"],
                    "exit_code": 0,
                    "start": "1",
                    "end": "2",
                    "outcome": outcome,
                    "reason": reason,
                    "stdout": STREAM,
                    "stderr": STREAM,
                    "failing": ["t"] if outcome == "fail" else [],
                    "diagnostics": "",
                    "ceiling_seconds": "600",
                    "observed_seconds": "0.125",
                    "log": {"stdout": f"acceptance/logs/{check.id}.patched.1.stdout"},
                },
            )
        yield (
            "check.decided",
            {
                "check": check.id,
                "outcome": outcome,
                "reason": reason,
                "detail": "details",
                "rule": "all",
                "attempts": 1,
                "attribution": attribution,
            },
        )

    def _results(self) -> dict[str, Any]:
        done = [
            {
                "id": check.id,
                "attempts": [
                    {"tree": "patched", "attempt": 1, "outcome": self.outcomes.get(check.id, ("pass", "", ""))[0]}
                ]
                if self.applied[0] == "pass"
                and not check.no_op
                and self.outcomes.get(check.id, ("pass", "", ""))[0] != "undecided"
                else [],
            }
            for check in self.checks
        ]
        return {"schema": 1, "kind": "proctor.results", "checks": done, "restored": []}


def _bytes(value: Any) -> bytes:
    return canonical(value)


@pytest.fixture
def stories(tmp_path: Path) -> Callable[[], Story]:
    """New stories, each with a directory of its own."""
    assert check_manifest(MANIFEST) == []
    numbers = itertools.count()
    return lambda: Story(tmp_path / str(next(numbers)))


@pytest.fixture
def story(stories: Callable[[], Story]) -> Story:
    """A run in which everything went well."""
    return stories()
