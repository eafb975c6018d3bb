"""Run directories as finished runs leave them, made in milliseconds: the same bytes for the same seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.base.canonical import digest
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import MANIFEST
from proctor.record.seal import write_seal
from proctor.record.trace.writer import TraceWriter

EMPTY = hashlib.sha256(b"").hexdigest()


class SteppingClock:
    """A clock on which every look takes a microsecond."""

    def __init__(self, start_ns: int = 1_772_884_800_000_000_000) -> None:
        self.now = start_ns

    def wall_ns(self) -> int:
        self.now += 1000
        return self.now

    def steady_ns(self) -> int:
        self.now += 1000
        return self.now - 1_772_884_000_000_000_000


class RunMaker:
    """Writes realistic run directories; a test changes what it needs before the seal."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def writer(self, path: Path, seed: int = 0) -> TraceWriter:
        """A trace with a clock and salts that repeat."""
        return TraceWriter.create(path, SteppingClock(), random.Random(seed).randbytes)

    def unsealed(self, seed: int = 0, status: str = "success") -> tuple[RunDirectory, TraceWriter]:
        """A whole run, ready to be sealed."""
        draw = random.Random(seed)
        run = RunDirectory(self.directory / f"20260307T120000-{draw.getrandbits(40):010x}").create()
        contract = CONTRACT
        run.write_json(run.manifest, manifest(run.path.name, digest(contract)), sync=False)
        run.write_json(run.contract, contract, sync=False)
        trace = self.writer(run.events, seed)
        trace.append("run.started", {"run": run.path.name, "contract": digest(contract), "agent": "noop",
                                     "wall_ns": "1772884800000000000", "boot_id": "b0"})  # fmt: skip
        trace.append("run.identity", {"expected": LAYERS, "observed": LAYERS, "match": True})
        trace.append("briefing", {"text": "Adding subtracts; ça ne va pas.\n", "obligations": ["unit", "e2e"]})
        trace.append("agent.started", {"name": "noop", "kind": "command", "command": []})
        for number in range(draw.randrange(5, 20)):
            trace.append("tool.invocation", tool(f"echo {number}", draw.randbytes(draw.randrange(400)).hex()))
        changes = [change(path, draw) for path in ("src/calc.py", "src/new name.py", "docs/caf\u00e9.md", "old.bin")]
        for entry in changes:
            trace.append("workspace.mutation", entry)
        trace.append("agent.finished", {"reason": "exit", "exit_code": 0, "wall_seconds": "1.250"})
        run.patch.write_bytes(PATCH)
        run.write_json(
            run.changes, {"schema": 1, "kind": "proctor.changes", "changes": changes, "dropped": []}, sync=False
        )
        trace.append("patch.applied", {"outcome": "pass", "problem": "", "start": "1", "end": "2", "command": [],
                                       "exit_status": 0, "log": ""})  # fmt: skip
        checks = [self._check(run, trace, name, draw) for name in ("unit", "e2e")]
        run.write_json(run.results, {"schema": 1, "kind": "proctor.results", "checks": checks}, sync=False)
        (run.logs / "empty.log").touch(mode=0o644)
        (run.logs / "empty.stderr").touch(mode=0o644)
        for _ in range(3):
            run.write_blob(draw.randbytes(draw.randrange(1, 5000)))
        trace.append("safety.checked", {"start": "1", "end": "2", "violations": 0})
        trace.append("run.finished", {"status": status})
        run.write_json(run.report, {"schema": 1, "kind": "proctor.report", "status": status}, sync=False)
        return run, trace

    def sealed(self, seed: int = 0, status: str = "success") -> RunDirectory:
        """A finished run."""
        run, trace = self.unsealed(seed, status)
        write_seal(run, trace)
        return run

    def _check(self, run: RunDirectory, trace: TraceWriter, name: str, draw: random.Random) -> dict[str, Any]:
        attempts = []
        for attempt in (1, 2):
            log = draw.randbytes(draw.randrange(1, 3000))
            (run.logs / f"{name}-{attempt}.stdout").write_bytes(log)
            trace.append("check.finished", attempt_event(name, attempt, log))
            attempts.append({"tree": "patched", "attempt": attempt, "outcome": "pass"})
        trace.append("check.decided", {"check": name, "outcome": "pass", "rule": "all", "attempts": 2,
                                       "attribution": ""})  # fmt: skip
        return {"id": name, "outcome": "pass", "attempts": attempts}


LAYERS = {"c" * 64: "sha256:1"}
CONTRACT: dict[str, Any] = {
    "record": "contract",
    "schema": 1,
    "name": "adding",
    "repository": {"source": {"kind": "archive", "spec": "", "files": [{"name": "a.tar", "sha256": "a" * 64}]}},
    "inputs": [
        {
            "name": "pytest",
            "audience": "setup",
            "source": {"kind": "pypi", "spec": "pytest==1", "files": [{"name": "pytest.whl", "sha256": "b" * 64}]},
        }
    ],
    "setup": [{"run": ["/bin/sh", "-eu", "-c", "true"]}],
    "checks": [{"id": "unit", "run": ["true"]}, {"id": "e2e", "run": ["true"]}],
    "budget": {"wall_seconds": 1800},
    "environment": {"seed": 20260307, "variables": {}},
}

PATCH = b"""\
diff --git a/src/calc.py b/src/calc.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/src/calc.py
+++ b/src/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
diff --git a/src/new name.py b/src/new name.py
new file mode 100644
index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
diff --git "a/docs/caf\\303\\251.md" "b/docs/caf\\303\\251.md"
old mode 100644
new mode 100755
diff --git a/old.bin b/old.bin
deleted file mode 100644
index 2222222222222222222222222222222222222222..0000000000000000000000000000000000000000
GIT binary patch
literal 0
HcmV?d00001

literal 3
KcmZQzU|;|M0RR91

"""


def manifest(run: str, contract: str) -> dict[str, Any]:
    """A manifest in which nothing is missing."""
    return {
        "schema": 1,
        "kind": MANIFEST.kind,
        "run": run,
        "contract": {"id": contract, "name": "adding", "version": contract[7:19]},
        "repository": {"kind": "archive", "identity": "a" * 64, "submodules": [], "tree_digest": "sha256:1"},
        "inputs": [{"name": "pytest", "file": "pytest.whl", "sha256": "b" * 64, "for": "setup"}],
        "setup": {"commands": [["/bin/sh", "-eu", "-c", "true"]], "layer": "c" * 64},
        "sandbox": {
            "backend": "bubblewrap",
            "identity": {"os": "debian", "python": "3.11.2"},
            "isolation": {"network": "none"},
        },
        "toolchain": {"python": "3.11.2"},
        "harness": {"version": "0.1.0", "python": "3.11.2", "digest": "sha256:2"},
        "agent": {"name": "noop", "kind": "command", "command": [], "digest": "sha256:3"},
        "checks": [{"id": "unit", "command": ["true"]}, {"id": "e2e", "command": ["true"]}],
        "environment": {"variables": {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "20260307"}, "absent": True},
        "seeds": {"PYTHONHASHSEED": "20260307", "observed": 20260307},
        "os": {"kernel": "6.1"},
        "locale": "C.UTF-8",
        "machine": {"cpus": 2, "memory_bytes": 1 << 30},
        "limits": {"wall_seconds": 1800},
        "started": {"wall_ns": "1772884800000000000", "text": "2026-03-07T12:00:00Z", "boot_id": "b0"},
        "configuration": {},
        "price_table": None,
    }


def stream(text: str) -> dict[str, Any]:
    """A stream as events hold it."""
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text.encode()), "prefix": text}


def tool(command: str, output: str) -> dict[str, Any]:
    """The payload of a command."""
    return {
        "purpose": "agent",
        "command": ["/bin/sh", "-c", command],
        "directory": "/workspace",
        "exit_code": 0,
        "started": True,
        "timed_out": False,
        "wall_seconds": "0.010",
        "cpu_seconds": "0.004",
        "stdout": stream(output),
        "stderr": stream(""),
    }


def change(path: str, draw: random.Random) -> dict[str, Any]:
    """One changed file, as its event and the list of changes hold it."""
    after = {"sha256": draw.randbytes(32).hex(), "bytes": draw.randrange(1000), "mode": "100644"}
    return {"path": path, "change": "modified", "before": None, "after": after}


def attempt_event(check: str, attempt: int, log: bytes, tree: str = "patched") -> dict[str, Any]:
    """The payload of one attempt of a check."""
    return {
        "check": check,
        "gate": "acceptance",
        "attempt": attempt,
        "tree": tree,
        "command": ["/usr/bin/python3", "-m", "pytest"],
        "exit_code": 0,
        "start": "1772884800000000000",
        "end": "1772884801000000000",
        "outcome": "pass",
        "reason": "",
        "stdout": {"sha256": hashlib.sha256(log).hexdigest(), "bytes": len(log), "prefix": ""},
        "stderr": {"sha256": EMPTY, "bytes": 0, "prefix": ""},
        "failing": [],
        "diagnostics": [],
        "ceiling_seconds": 600,
        "observed_seconds": "1.000",
    }


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    """Makes run directories below the test's own directory."""
    return RunMaker(tmp_path / "runs")


@pytest.fixture
def a_manifest() -> Callable[[], dict[str, Any]]:
    """A complete manifest, new at each call."""
    return lambda: manifest("20260307T120000-0123456789", "sha256:0")


@pytest.fixture
def attempt_payload() -> Callable[..., dict[str, Any]]:
    return attempt_event
