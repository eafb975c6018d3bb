"""A real test suite under a guard against the same suite without one: processor time of everything, in turn.

The suite is this project's own, those of its files that need neither a sandbox nor an installation. What counts
is the time of the sandbox's control group, or of its commands where there is none, that of the guard itself, and that
of this process, which turns what the guard tells into events of a trace with breakers, as a run does. The best round of
each decides, because a busy machine can only add time.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import tempfile
import time
from pathlib import Path

from bench.measure import Row, milliseconds, ratio
from proctor.base.clock import SystemClock, system_entropy
from proctor.base.frozen import replace
from proctor.conduct.watched import WatchedTrace
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.guard import GuardPlan, Observation
from proctor.execute.sandbox.guard_process import LiveGuard
from proctor.execute.sandbox.interface import Command, Limits, Mount, SandboxPlan, Tree, owner
from proctor.execute.watch.panel import Panel

BAR = 1.05
PROJECT = Path(__file__).resolve().parent.parent
PARTS = ("tests/conftest.py", "tests/record", "tests/contract", "src/proctor", "pyproject.toml", "examples", "docs")
FILES = (
    *("tests/record/test_seal.py", "tests/record/test_shelf.py", "tests/record/test_manifest.py"),
    *("tests/contract/test_lock.py", "tests/contract/test_scaffold.py"),
)
SUITE = ("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES)
VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "PYTHONPATH": "/site:/workspace/src:/workspace"}
GUARDS = {
    "suite under a guard": GuardPlan(),
    "suite, every open watched": GuardPlan(opens=True, canaries=("/home/agent/.ssh/id_ed25519",)),
}


def measure(directory: Path, *, quick: bool) -> list[Row]:
    directory.chmod(0o755)
    tree = _tree(directory / "tree")
    best: dict[str, float] = {}
    for _ in range(2 if quick else 7):
        for name, guard in {"": None, **GUARDS}.items():
            best[name] = min(best.get(name, 1e9), _cpu_seconds(directory / "sessions", tree, guard))
    floor = best[""]
    return [
        Row(
            name,
            milliseconds(best[name]),
            milliseconds(floor),
            ratio(best[name], floor),
            f"<= {BAR:.2f} x",
            best[name] <= floor * BAR,
        )
        for name in GUARDS
    ]


def _tree(tree: Path) -> Path:
    for part in PARTS:
        target = tree / "workspace" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (PROJECT / part).is_dir():
            shutil.copytree(PROJECT / part, target, symlinks=True)
        else:
            shutil.copy2(PROJECT / part, target)
    (tree / "setup").mkdir()
    for path in (tree, *tree.rglob("*")):
        os.chown(path, *owner(), follow_symlinks=False)
    return tree


def _cpu_seconds(sessions: Path, tree: Path, guard: GuardPlan | None) -> float:
    """What one run of the suite takes, with the guard's own time and the harness's."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "events.jsonl")
        with WatchedTrace.create(path, SystemClock(), system_entropy) as trace:
            trace.watch(Panel(), lambda decision: None)
            trace.append("agent.started", {"name": "suite", "kind": "bench", "command": list(SUITE)})
            return _under_watch(sessions, tree, guard, trace)


def _under_watch(sessions: Path, tree: Path, guard: GuardPlan | None, trace: WatchedTrace) -> float:
    def tell(observation: Observation) -> None:
        trace.append(f"guard.{observation.kind}", observation.payload())

    site = Mount(Path(sysconfig.get_path("purelib")), "/site")
    told = None if guard is None else replace(guard, tell=tell)
    plan = SandboxPlan(Tree(tree), Limits(), mounts=(site,), guard=told)
    with BubblewrapBackend(sessions).open(plan) as sandbox:
        begun = time.process_time_ns()
        finished = sandbox.run(Command(SUITE, VARIABLES))
        assert finished.exit_code == 0, finished.stdout.prefix[-2000:].decode()
        if sandbox.guard is not None:
            sandbox.guard.settle()
        used = (sandbox.usage().cpu_ns or 0) + time.process_time_ns() - begun
        if isinstance(sandbox.guard, LiveGuard):
            used += int(Path(f"/proc/{sandbox.guard.pid}/schedstat").read_text().split()[0])
    return used / 1e9
